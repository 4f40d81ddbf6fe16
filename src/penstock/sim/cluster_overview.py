"""What can only be seen by looking at several machines at once: the newest metadata, and whether those have what is
committed whom it trusts to lead."""

from __future__ import annotations

from typing import Protocol

from penstock.core.metadata.image import NO_LEADER, Image, PartitionImage, ReplicaSet, TopicImage
from penstock.core.metadata.reluctance import drained_brokers, reluctant_brokers
from penstock.sim.events import InSync, Leads, Partition, Witness
from penstock.sim.model import OFFSETS_TOPIC
from penstock.sim.trace import Trace


class Watched(Protocol):
    """One machine, as far as others look at it."""

    @property
    def number(self) -> int: ...
    @property
    def serves(self) -> bool: ...
    def end_of(self, partition: Partition) -> int | None: ...
    def committed(self, partition: Partition, known: PartitionImage) -> int | None: ...


class Overview:
    """Over all machines of a world."""

    def __init__(self, witness: Witness, trace: Trace) -> None:
        self.newest = Image()
        self._witness = witness
        self._trace = trace
        self._machines: dict[int, Watched] = {}
        self._first_ids: dict[str, bytes] = {}
        self.removed_ids: set[bytes] = set()
        """Of topics that the metadata had once, and has no longer."""

    def name(self, topic: str, topic_id: bytes, number: int) -> Partition:
        """A partition by its topic's name; by its id too, if that is not the first topic of its name."""
        first = self._first_ids.setdefault(topic, topic_id)
        return Partition(topic, number, "" if topic_id == first else topic_id.hex())

    def has_fenced(self, number: int, image: Image) -> bool:
        """Whether the process that this image has for active is fenced in a newer one."""
        if image.offset >= self.newest.offset:
            return False
        then, now = image.brokers.get(number), self.newest.brokers.get(number)
        if then is None or now is None or then.epoch != now.epoch:
            return False
        return then.is_active and now.fenced

    def add(self, machine: Watched) -> None:
        self._machines[machine.number] = machine

    def came(self, number: int) -> None:
        """A machine serves again: where it counts as in sync it must have brought everything back."""
        for topic in self.newest.topics.values():
            for index in range(len(topic)):
                known = topic.partition(index)
                if number in _trusted(known):
                    self._look_at(self.name(topic.name, topic.id, index), known)

    def advanced(self, leader: Leads) -> None:
        """A leader takes more for committed."""
        known = self.find(leader.partition)
        if known is not None and (known.leader, known.leader_epoch) == (leader.machine, leader.epoch):
            self._look_at(leader.partition, known)

    def published(self, image: Image) -> None:
        """A machine acts on this image; most have been heard of before, from another one."""
        if image.offset <= self.newest.offset:
            return
        before, self.newest = self.newest, image
        self.removed_ids.update(each.id for each in before.topics.values() if image.topic_by_id(each.id) is None)
        for name, topic in image.topics.items():
            old = before.topic(name)
            if old is not None and old is not topic and old.id == topic.id:
                self._compare(old, topic)

    def find(self, partition: Partition) -> PartitionImage | None:
        """A partition in the newest metadata, if it still has one of that id."""
        topic = self.newest.topic(partition.topic)
        if topic is None or self.name(topic.name, topic.id, partition.number) != partition:
            return None
        return topic.find(partition.number)

    def is_drained(self) -> bool:
        """Whether nobody leads that would rather not, where another could."""
        newest = self.newest
        reluctant = reluctant_brokers(newest)
        partitions = [topic.partition(index) for topic in newest.topics.values() for index in range(len(topic))]
        return all(each.leader not in reluctant or set(each.isr) <= reluctant for each in partitions)

    def _compare(self, before: TopicImage, after: TopicImage) -> None:
        for index in range(min(len(before), len(after))):
            old, new = before.partition(index), after.partition(index)
            if old != new:
                partition = self.name(after.name, after.id, index)
                self._count(partition, old, new)
                if not set(_trusted(new)) <= set(_trusted(old)):
                    self._look_at(partition, new)

    def _count(self, partition: Partition, old: PartitionImage, new: PartitionImage) -> None:
        counts = self._trace.counts
        counts["in-sync-shrinks"] += len(new.isr) < len(old.isr)
        is_given_away = new.leader not in (old.leader, NO_LEADER)
        counts["full-disks-relieved"] += is_given_away and old.leader in self.newest.full_brokers()
        counts["drains"] += is_given_away and old.leader in drained_brokers(self.newest)
        # One that only takes replicas away is done at once; nobody ever sees it under way.
        is_moved = old.is_reassigning or set(old.replicas) != set(new.replicas)
        counts["reassignments"] += is_moved and not new.is_reassigning
        counts["leader-changes"] += new.leader_epoch > old.leader_epoch
        counts["coordinator-changes"] += new.leader_epoch > old.leader_epoch and partition.topic == OFFSETS_TOPIC

    def _look_at(self, partition: Partition, known: PartitionImage) -> None:
        leader = self._machines.get(known.leader)
        committed = None if leader is None else leader.committed(partition, known)
        if committed is not None:
            ends = {
                number: self._machines[number].end_of(partition) or 0
                for number in _trusted(known)
                if self._machines[number].serves
            }
            self._witness.see(InSync(partition, committed, ends))


def _trusted(known: PartitionImage) -> ReplicaSet:
    """Who may have to lead: those in sync, and those who were when there were enough of them."""
    return known.isr + known.standing.elr
