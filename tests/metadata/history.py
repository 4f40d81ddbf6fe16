"""One partition's life under the controller's decisions, with logs as lists: brokers die, come back, lose records.

The replication here is as simple as can be: who leads appends, who follows copies, and a record is committed once all
in-sync replicas have it and they are enough. What the controller decides is the real code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

from penstock.core.metadata.alter_partition import plan_alteration
from penstock.core.metadata.broker_fencing import fencing
from penstock.core.metadata.image import NO_LEADER, RECOVERING, PartitionImage
from penstock.core.wire.api.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from tests.metadata.cluster import Cluster, topic_id

BROKERS = (1, 2, 3)
MIN_INSYNC = 2


class Lost(AssertionError):
    """A leader that nobody warned of lacks what was promised."""


class History:
    """`play` does one random thing; `check` says what must be true after each."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.cluster = Cluster(BROKERS)
        self.cluster.create("t", BROKERS, min_insync_replicas=str(MIN_INSYNC))
        self.logs: dict[int, list[int]] = {broker: [] for broker in BROKERS}
        self.up = set(BROKERS)
        self.clean: dict[int, int] = {}
        self.committed: list[int] = []
        self.proposed: AlterPartitionRequest | None = None
        self.counts: Counter[str] = Counter()
        self._incarnation = 0
        self._record = 0
        self._distrusted = NO_LEADER
        self._kinds = self._mood()

    def _mood(self) -> list[Callable[[], None]]:
        """Each history has its own mixture: some replicate slowly, in some brokers are down for long."""
        some = self.random.randint
        kinds = [*[self.produce] * 3, *[self.copy] * some(1, 6), *[self.propose] * some(1, 3), self.deliver]
        return [*kinds, self.crash, self.stop, *[self.expire] * some(1, 3), *[self.restart] * some(1, 4)]

    def play(self) -> None:
        before, self._distrusted = self.partition, NO_LEADER
        self.random.choice(self._kinds)()
        self.commit()
        self.check(before)

    @property
    def partition(self) -> PartitionImage:
        return self.cluster.partition()

    @property
    def leader(self) -> int:
        """Who leads and can act on it."""
        leader = self.partition.leader
        return leader if leader in self.up else NO_LEADER

    def produce(self) -> None:
        if self.leader != NO_LEADER:
            self._record += 1
            self.logs[self.leader].append(self._record)

    def copy(self) -> None:
        follower = self.random.choice(BROKERS)
        if self.leader in (NO_LEADER, follower) or follower not in self.up:
            return
        log, source = self.logs[follower], self.logs[self.leader]
        same = common(log, source)
        log[same:] = source[same : same + self.random.randint(1, 3)]

    def commit(self) -> None:
        """What all have who are in sync, or may be because the leader has asked for it."""
        isr = self.partition.isr
        counted = {*isr, *self._asked_for()}
        if self.leader == NO_LEADER or len(isr) < MIN_INSYNC or not counted <= self.up:
            return
        source = self.logs[self.leader]
        reached = min(common(self.logs[replica], source) for replica in counted)
        if reached > len(self.committed):
            self.counts["committed"] += reached - len(self.committed)
            self.committed = source[:reached]

    def _asked_for(self) -> list[int]:
        if self.proposed is None or self.proposed.broker_id != self.leader:
            return []
        return [member.broker_id for member in self.proposed.topics[0].partitions[0].new_isr_with_epochs]

    def propose(self) -> None:
        """The leader asks for another in-sync set; the request may be on its way for long."""
        leader, partition = self.leader, self.partition
        if leader == NO_LEADER or self.proposed is not None:
            return
        source = self.logs[leader]
        caught_up = [
            replica
            for replica in partition.replicas
            if replica in self.up and common(self.logs[replica], source) >= len(self.committed)
        ]
        wanted = {leader, *self.random.sample(caught_up, self.random.randint(0, len(caught_up)))}
        members = [BrokerState(broker_id=each, broker_epoch=self.cluster.broker(each).epoch) for each in sorted(wanted)]
        data = RequestPartitionData(
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            new_isr_with_epochs=members,
            leader_recovery_state=partition.standing.recovery,
        )
        topics = [RequestTopicData(topic_id=topic_id("t"), partitions=[data])]
        epoch = self.cluster.broker(leader).epoch
        self.proposed = AlterPartitionRequest(broker_id=leader, broker_epoch=epoch, topics=topics)

    def deliver(self) -> None:
        request, self.proposed = self.proposed, None
        if request is None or self.cluster.broker(request.broker_id).epoch != request.broker_epoch:
            return
        records, answer = plan_alteration(self.cluster.image, self.cluster.settings, request, 3)
        self.cluster.apply(records)
        self.counts["alterations" if answer.topics[0].partitions[0].error_code == 0 else "refusals"] += 1

    def crash(self) -> None:
        """Power fails: the end of the log may be gone when the broker is back."""
        broker = self.random.choice(BROKERS)
        if broker in self.up:
            self.up.discard(broker)
            self.clean.pop(broker, None)
            kept = self.random.randint(0, len(self.logs[broker]))
            del self.logs[broker][kept:]
            self.counts["crashes"] += 1

    def stop(self) -> None:
        broker = self.random.choice(BROKERS)
        if broker in self.up:
            self.up.discard(broker)
            self.clean[broker] = self.cluster.broker(broker).epoch
            self.counts["stops"] += 1

    def expire(self) -> None:
        """The controller notices one that is down."""
        for broker in BROKERS:
            if broker not in self.up and not self.cluster.broker(broker).fenced:
                cluster = self.cluster
                cluster.heartbeats.forget(broker)
                cluster.sweep(fencing(cluster.image, cluster.settings, cluster.broker(broker)))
                return

    def restart(self) -> None:
        down = sorted(set(BROKERS) - self.up)
        if not down:
            return
        broker = self.random.choice(down)
        self._distrusted = NO_LEADER if broker in self.clean else broker
        self._incarnation += 1
        self.cluster.heartbeats.forget(broker)
        self.cluster.register(
            broker,
            incarnation_id=self._incarnation.to_bytes(16, "big"),
            previous_broker_epoch=self.clean.pop(broker, -1),
        )
        self.up.add(broker)
        self.cluster.beat(broker)

    def check(self, before: PartitionImage) -> None:
        partition = self.partition
        if partition.standing.recovery == RECOVERING:
            self.counts["unclean"] += 1
            if {*before.isr, *before.standing.elr} - {self._distrusted}:
                raise Lost(f"an unclean election beside {before}")
            return
        if partition.leader != before.leader and partition.leader != NO_LEADER:
            self.counts["elections"] += 1
        if self.leader != NO_LEADER and self.logs[self.leader][: len(self.committed)] != self.committed:
            raise Lost(f"{self.leader} leads without all of {self.committed}")

    @property
    def is_over(self) -> bool:
        """After an unclean election nothing is promised any more."""
        return self.partition.standing.recovery == RECOVERING


def common(one: list[int], other: list[int]) -> int:
    """How far two logs agree."""
    length = min(len(one), len(other))
    return next((index for index in range(length) if one[index] != other[index]), length)


def run(seeds: range, steps: int) -> Counter[str]:
    """Play many histories; tells what happened in them."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        history = History(seed)
        for _ in range(steps):
            history.play()
            if history.is_over:
                break
        counts += history.counts
    return counts
