"""Many things happen to a cluster, also while sweeps are half done; what every image of it must satisfy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from penstock.core.base.errors import ApiError
from penstock.core.metadata import sweep as sweeping
from penstock.core.metadata.brokers import FULL_DIRECTORY
from penstock.core.metadata.draining import following_drains
from penstock.core.metadata.elections import balancing
from penstock.core.metadata.fold import fold
from penstock.core.metadata.heartbeats import Heartbeats, State
from penstock.core.metadata.image import NO_LEADER, Image, PartitionImage
from penstock.core.metadata.registration import plan_unregistration
from penstock.core.metadata.reluctance import drained_brokers, reluctant_brokers
from penstock.core.metadata.snapshot import image_records
from penstock.core.metadata.sweep import Sweep
from penstock.core.metadata.topics import plan_removal
from penstock.core.wire.schema import StoredRecord
from tests.metadata.cluster import SESSION_MS, Cluster
from tests.metadata.test_alter_partition import alter
from tests.metadata.test_draining import drain
from tests.metadata.test_image import content
from tests.metadata.test_reassignments import reassign

BROKERS = (1, 2, 3, 4, 5)
SEEDS, EVENTS = range(60), 60


class Life(Cluster):
    """Sweeps are left half done at random, and go on among other events."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.under_way: list[Sweep] = []
        self.counts: Counter[str] = Counter()
        self._made = 0
        super().__init__(BROKERS)
        for replicas in ([1, 2, 3], [2, 3, 4], [3, 4, 5]):
            self.create("t" if self._made == 0 else f"t{self._made}", replicas, min_insync_replicas="2")
            self._made += 1

    def sweep(self, sweep: Sweep | None) -> list[StoredRecord]:
        records: list[StoredRecord] = []
        while sweep is not None and not sweep.is_done:
            records += self.apply(sweep.step(self.image))
            if self.random.random() < 0.3 and not sweep.is_done:
                self.under_way.append(sweep)
                break
        return records

    def live(self) -> None:
        kinds: list[Callable[[], None]] = [self.go, self.come, self.come, self.stop, self.go_on, self.go_on]
        kinds += [self.catch_up, self.catch_up, self.move, self.balance, self.fail_over, self.change_topics]
        kinds += [self.fill, self.empty, self.drain, self.undrain]
        kind = self.random.choice(kinds)
        before = self.image
        try:
            kind()
            self.counts[kind.__name__] += 1
        except ApiError:
            self.counts["refused"] += 1
        self.check(before)

    def some_broker(self) -> int:
        return self.random.choice(BROKERS)

    def go(self) -> None:
        broker = self.image.brokers.get(self.some_broker())
        if broker is not None and not broker.fenced:
            self.sweep(self.heartbeats._fence(self.image, self.settings, broker))

    def come(self) -> None:
        broker_id = self.some_broker()
        known = self.image.brokers.get(broker_id)
        if known is None or self.random.random() < 0.5:
            clean = known is not None and self.random.random() < 0.5
            self._made += 1
            self.register(
                broker_id,
                incarnation_id=self._made.to_bytes(16, "big"),
                previous_broker_epoch=known.epoch if clean and known is not None else -1,
            )
        if broker_id in self.image.brokers:
            self.beat(broker_id)

    def stop(self) -> None:
        broker_id = self.some_broker()
        if broker_id not in self.image.brokers:
            return
        if self.random.random() < 0.1:
            self.sweep(plan_unregistration(self.image, self.settings, self.heartbeats, broker_id))
        elif self.beat(broker_id, want_shut_down=True).state is State.SHUTTING_DOWN:
            self.heartbeats.handed_over(broker_id, self.broker(broker_id).epoch, self.image.offset)

    def fill(self) -> None:
        self.tell_cordoned(FULL_DIRECTORY)

    def empty(self) -> None:
        self.tell_cordoned()

    def drain(self) -> None:
        self.say_drained(self.some_broker(), "true")

    def undrain(self) -> None:
        drained = sorted(drained_brokers(self.image))
        if drained:
            self.say_drained(self.random.choice(drained), None)

    def say_drained(self, broker_id: int, value: str | None) -> None:
        for sweep in following_drains(self.image, self.settings, [drain(broker_id, value)]):
            self.sweep(sweep)

    def tell_cordoned(self, *directories: bytes) -> None:
        broker_id = self.some_broker()
        if broker_id in self.image.brokers:
            self.beat(broker_id, cordoned_log_dirs=list(directories))

    def go_on(self) -> None:
        if self.under_way:
            self.sweep(self.under_way.pop(self.random.randrange(len(self.under_way))))

    def catch_up(self) -> None:
        found = self.image.topic("t")
        if found is None or found.leaders[0] == NO_LEADER:
            return
        partition = found.partition(0)
        caught_up = [each for each in partition.replicas if self.image.is_active(each)]
        alter(self, sorted({partition.leader, *caught_up}), broker=partition.leader)

    def move(self) -> None:
        reassign(self, self.random.sample(BROKERS, self.random.randint(1, 3)) if self.random.random() < 0.8 else None)

    def balance(self) -> None:
        self.sweep(balancing(self.image, self.settings))

    def fail_over(self) -> None:
        """What was half done is forgotten, and found again by the next controller."""
        self.under_way.clear()
        self.heartbeats = Heartbeats(self.image, SESSION_MS, self.now_ms)
        for sweep in self.heartbeats.take_over(self.image, self.settings):
            self.sweep(sweep)

    def change_topics(self) -> None:
        self._made += 1
        self.create(f"t{self._made}", self.random.sample(BROKERS, 3), min_insync_replicas="2")
        topics = sorted(name for name in self.image.topics if name != "t")
        if len(topics) > 4:
            topic = self.image.topic(self.random.choice(topics))
            assert topic is not None
            self.apply(plan_removal(topic))

    def check(self, before: Image) -> None:
        for name, topic in self.image.topics.items():
            known = before.topic(name)
            for index in range(len(topic)):
                partition = topic.partition(index)
                assert not set(partition.isr) & set(partition.standing.elr)
                assert set(partition.isr) | set(partition.standing.elr) <= set(partition.replicas)
                assert len(partition.directories) == len(partition.replicas)
                if not self.under_way:
                    self.check_settled(partition)
                if known is not None and known.id == topic.id:
                    check_progress(known.partition(index), partition)
        leaders = Counter(leader for topic in self.image.topics.values() for leader in topic.leaders)
        assert dict(self.image.tally.leading) == dict(leaders)

    def check_settled(self, partition: PartitionImage) -> None:
        active = {each for each in partition.replicas if self.image.is_active(each)}
        assert set(partition.isr) <= active, "somebody who is not alive counts as in sync"
        assert partition.leader == NO_LEADER or partition.leader in partition.isr
        reluctant = reluctant_brokers(self.image)
        assert partition.leader not in reluctant or set(partition.isr) <= reluctant, "another could lead"
        if partition.leader == NO_LEADER:
            assert not active & {*partition.isr, *partition.standing.elr}, "somebody could lead, and nobody does"


def check_progress(before: PartitionImage, after: PartitionImage) -> None:
    assert after.leader_epoch >= before.leader_epoch
    assert after.partition_epoch >= before.partition_epoch
    if after.leader != before.leader:
        assert after.leader_epoch > before.leader_epoch, "two leaders in one epoch"
    if after != before:
        assert after.partition_epoch > before.partition_epoch, "a leader could not notice this change"


def test_what_every_image_satisfies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "CHANGES_PER_TURN_MAX", 1)
    counts: Counter[str] = Counter()
    for seed in SEEDS:
        life = Life(seed)
        for _ in range(EVENTS):
            life.live()
        counts += life.counts
        again, _ = fold(Image(), image_records(life.image), life.image.offset)
        assert content(again) == content(life.image)
    print(f"\n{len(SEEDS)} lives: {dict(sorted(counts.items()))}")
    often = ("go", "come", "stop", "go_on", "move", "fail_over", "change_topics", "fill", "empty", "drain", "undrain")
    assert all(counts[kind] >= 50 for kind in often)
