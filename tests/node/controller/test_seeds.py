"""Many seeds of one story: machines die, hang, are cut off and come back, messages are late and lost, the lead of the
log moves and its last owner learns of that late. What must hold all the time, and what must be well in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from unittest.mock import patch

import pytest

from penstock.core.metadata import sweep as sweeping
from penstock.core.metadata.image import NO_LEADER
from penstock.core.metadata.sessions import Sessions
from penstock.core.node.controller.membership import Membership
from penstock.core.node.controller.pace import Pace
from penstock.core.node.links.purposes import ALTER
from penstock.core.node.membership.broker_lifecycle import BrokerLifecycle, State
from penstock.core.wire.api.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from penstock.core.wire.api.unregister_broker import UnregisterBrokerRequest
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import BrokerRegistrationChangeRecord, PartitionChangeRecord
from tests.node.controller.world import SESSION_MS, Machine, World

BROKERS = (1, 2, 3, 4, 5)
CONTROLLERS = (1, 2, 3)
SEEDS = range(16)
FAULTS = 25
CALM_MS = 30_000


class Story(World):
    """A cluster of five and what befalls it."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.counts: Counter[str] = Counter()
        self.unregistered_ms: dict[int, int] = {}
        self._led: dict[tuple[bytes, int, int], int] = {}
        self.start(*BROKERS)
        self.elect(1)
        self.run_until(lambda: len(self.committed.brokers) == len(BROKERS) and not self.fenced(), 10_000)
        for number, replicas in enumerate(([1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 1])):
            self.create(f"t{number}", replicas, replicas[::-1], min_insync_replicas="2")
        self.on_commit = self.judge
        self.after(100, self.catch_up)

    # What must hold

    def judge(self, records: Sequence[StoredRecord]) -> None:
        for record in records:
            if isinstance(record, BrokerRegistrationChangeRecord) and record.fenced == 1:
                self.counts["fenced"] += 1
                self.judge_fencing(record.broker_id)
            elif isinstance(record, PartitionChangeRecord) and record.leader >= 0:
                self.counts["elected"] += 1
        for topic in self.committed.topics.values():
            for index in range(len(topic)):
                partition = topic.partition(index)
                if partition.leader != NO_LEADER:
                    key = (topic.id, index, partition.leader_epoch)
                    assert self._led.setdefault(key, partition.leader) == partition.leader, "two leaders in one epoch"

    def judge_fencing(self, broker_id: int) -> None:
        """A broker that did not ask for it may not believe any more that it leads."""
        machine = self.machines.get(broker_id)
        was_asked = self.unregistered_ms.get(broker_id, -SESSION_MS) > self.now_ms - SESSION_MS
        if machine is not None and not was_asked and machine.broker_lifecycle.state not in (State.LEAVING, State.GONE):
            over_ms = machine.broker_lifecycle.lease_end_ms - self.now_ms
            assert over_ms <= 0, f"broker {broker_id} is fenced {over_ms} ms before its lease ends"

    # What befalls it

    def catch_up(self) -> None:
        """Leaders find that their followers have caught up."""
        for machine in list(self.machines.values()):
            if machine.broker_lifecycle.state is State.SERVING:
                for name in machine.image.topics:
                    self._expand(machine.id, name)
        self.after(200, self.catch_up)

    def _expand(self, broker_id: int, name: str) -> None:
        machine = self.machines[broker_id]
        topic = machine.image.topic(name)
        assert topic is not None
        for index in range(len(topic)):
            partition = topic.partition(index)
            active = [each for each in partition.replicas if machine.image.is_active(each)]
            if partition.leader != broker_id or set(active) == set(partition.isr):
                continue
            data = RequestPartitionData(
                partition_index=index,
                leader_epoch=partition.leader_epoch,
                partition_epoch=partition.partition_epoch,
                new_isr_with_epochs=[
                    BrokerState(broker_id=each, broker_epoch=machine.image.brokers[each].epoch) for each in active
                ],
            )
            request = AlterPartitionRequest(
                broker_id=broker_id,
                broker_epoch=machine.broker_lifecycle.epoch,
                topics=[RequestTopicData(topic_id=topic.id, partitions=[data])],
            )
            machine.channel.ask(request, 1_000, lambda answer: None, ALTER)

    def befall(self) -> None:
        kinds: list[Callable[[], None]] = [self.crash, self.hang, self.cut_off, self.move_lead, self.stop, self.lose]
        kinds.append(self.unregister)
        kind = self.random.choice(kinds)
        self.counts[kind.__name__] += 1
        kind()
        self.run(self.random.randint(50, 3_000))
        self.counts["heal"] += 1
        self.cut = set()
        self.is_lost = lambda: False
        self.delay_ms = lambda: 1

    def some(self) -> int:
        return self.random.choice(sorted(self.machines))

    def crash(self) -> None:
        self._end(self.some(), is_clean=False)

    def _end(self, broker_id: int, is_clean: bool) -> None:
        if broker_id not in self.machines or len(self.machines) < 4:
            return
        epoch = self.machines[broker_id].broker_lifecycle.epoch
        self.kill(broker_id)
        self.after(self.random.randint(10, 4_000), partial(self._restart, broker_id, epoch if is_clean else -1))
        if broker_id == self.leader:
            self.after(self.random.randint(10, 2_000), self.move_lead)

    def _restart(self, broker_id: int, previous_epoch: int) -> None:
        if broker_id not in self.machines:
            self.start(broker_id, previous_epoch=previous_epoch)

    def hang(self) -> None:
        self.pause(self.some(), self.random.randint(100, 5_000))

    def cut_off(self) -> None:
        self.isolate(*self.random.sample(sorted(self.machines), self.random.randint(1, 2)))
        if self.random.random() < 0.5:
            self.move_lead()

    def move_lead(self) -> None:
        able = [each for each in CONTROLLERS if each in self.machines]
        if able:
            beside = self.random.sample(sorted(self.machines), self.random.randint(0, 2))
            self.elect(self.random.choice(able), self.random.choice((0, 10, 500, 3_000)), beside)

    def stop(self) -> None:
        broker_id = self.some()
        broker_lifecycle = self.machines[broker_id].broker_lifecycle
        if broker_lifecycle.state is not State.LEAVING:
            broker_lifecycle.stop(lambda handed_over: self.after(0, lambda: self._end(broker_id, is_clean=True)))

    def lose(self) -> None:
        self.is_lost = lambda: self.random.random() < 0.2
        self.delay_ms = lambda: self.random.choice((1, 1, 5, 50, 400))

    def unregister(self) -> None:
        """Somebody takes a broker for gone that may be alive."""
        broker_id = self.some()
        if self.leader in self.machines:
            self.unregistered_ms[broker_id] = self.now_ms
            request = UnregisterBrokerRequest(broker_id=broker_id)
            self.machines[self.leader].controller.handle(request, 0, lambda answer: None)

    # The end

    def be_well(self) -> None:
        for machine in list(self.machines.values()):
            machine.paused_until_ms = min(machine.paused_until_ms, self.now_ms)
        self.run(10_000)
        for broker_id in BROKERS:
            machine = self.machines.get(broker_id)
            if machine is None or machine.broker_lifecycle.state in (State.GONE, State.LEAVING):
                self.machines.pop(broker_id, None)
                self.start(broker_id)
        if self.leader not in self.machines or not self.machines[self.leader].ledger.leads:
            self.elect(1)
        self.run_until(self.is_well, CALM_MS)

    def is_well(self) -> bool:
        serve = all(self.machines[each].broker_lifecycle.state is State.SERVING for each in BROKERS)
        return serve and not self.fenced() and all(self._is_led(topic) for topic in self.committed.topics)

    def _is_led(self, name: str) -> bool:
        topic = self.committed.topic(name)
        assert topic is not None
        partitions = [topic.partition(index) for index in range(len(topic))]
        return all(each.leader in each.isr and set(each.isr) == set(each.replicas) for each in partitions)


def live(seed: int) -> Story:
    """One story, in which sweeps take a turn for each partition, so that much comes between."""
    with patch.object(sweeping, "CHANGES_PER_TURN_MAX", 1):
        story = Story(seed)
        for _ in range(FAULTS):
            story.befall()
        story.be_well()
    return story


@pytest.mark.slow
def test_what_holds_in_every_story() -> None:
    counts: Counter[str] = Counter()
    for seed in SEEDS:
        try:
            counts += live(seed).counts
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
    print(f"\n{len(SEEDS)} stories: {dict(sorted(counts.items()))}")
    for kind in ("crash", "hang", "cut_off", "move_lead", "stop", "lose", "unregister", "fenced", "elected"):
        assert counts[kind] >= 25, f"{kind} came too rarely to prove anything"


def _always_sure(membership: Membership) -> bool:
    return True


def _expire_early(sessions: Sessions) -> tuple[int, int] | None:
    found = next(iter(sessions._sessions.items()), None)
    if found is None or found[1].deadline_ms > sessions._own_ms + SESSION_MS // 2:
        return None
    del sessions._sessions[found[0]]
    return found[0], found[1].epoch


PLANTED: dict[str, tuple[object, str, object]] = {
    "a controller that has lost the lead prolongs leases": (Membership, "_surely_leads", _always_sure),
    "a lease lasts as long as a session": (Pace, "lease_ms", property(lambda pace: pace.session_ms)),
    "the controller's own broker trusts what it hears": (Machine, "_own_lease_end_ms", lambda machine: None),
    "a broker that is not known goes on": (BrokerLifecycle, "_heartbeat_failed", lambda broker_lifecycle, answer: None),
    "sessions end too early": (Sessions, "expired", _expire_early),
}


@pytest.mark.slow
@pytest.mark.parametrize("bug", PLANTED)
def test_planted_bugs_are_found(bug: str) -> None:
    owner, name, replacement = PLANTED[bug]
    with patch.object(owner, name, replacement):
        for seed in range(100):
            try:
                live(seed)
            except AssertionError:
                print(f"\n{bug}: found by seed {seed}")
                return
    raise AssertionError(f"nobody noticed that {bug}")
