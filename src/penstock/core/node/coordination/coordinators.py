"""All coordinators of this node, kind by kind."""

from __future__ import annotations

from typing import Any

from penstock.core.base.ports import Steps
from penstock.core.groups.shard import GroupShard
from penstock.core.metadata.fold import Delta
from penstock.core.node.coordination.groups import Groups
from penstock.core.node.coordination.host import Host
from penstock.core.node.coordination.hosts import Hosts
from penstock.core.node.coordination.marker_sender import MarkerSender
from penstock.core.node.coordination.ports import CoordinatorHost
from penstock.core.node.coordination.share_state import ShareStates
from penstock.core.node.coordination.transactions import Transactions
from penstock.core.node.serving.slots import Slot
from penstock.core.partition.partition import Partition
from penstock.core.rsm.machine import TopicChanges


class Coordinators:
    """They come and go with the partitions of internal topics that this node leads."""

    def __init__(self, node: CoordinatorHost) -> None:
        self._node = node
        groups = Groups(node, lambda index: self.groups.at(index))
        self.group_counts = groups.counts
        self.groups = Hosts(node, groups)
        self.marker_sender = MarkerSender(node, lambda index: self.transactions.at(index))
        self.transactions = Hosts(node, Transactions(node, self.marker_sender))
        self.share_state = Hosts(node, ShareStates(node))
        every: tuple[Hosts[Any], ...] = (self.groups, self.transactions, self.share_state)
        self._by_topic: dict[str, Hosts[Any]] = {hosts.kind.topic: hosts for hosts in every}

    def added(self, partition: Partition) -> None:
        if (hosts := self._by_topic.get(partition.topic)) is not None:
            hosts.added(partition)

    def removed(self, partition: Partition) -> None:
        if (hosts := self._by_topic.get(partition.topic)) is not None:
            hosts.removed(partition)

    def apply(self, delta: Delta) -> None:
        """Machines hear of topics that went, came or grew, and markers are not left with whoever has gone."""
        self.marker_sender.image_changed()
        if delta.removed or delta.grown:
            removed = {name: topic.id for name, topic in sorted(delta.removed.items())}
            self._node.tasks.run(self._topics_changed(TopicChanges(removed, frozenset(delta.grown))))

    def _topics_changed(self, changes: TopicChanges) -> Steps[None]:
        for hosts in self._by_topic.values():
            for host in hosts:
                yield from host.topics_changed(changes)

    def expire_offsets(self) -> Steps[None]:
        for host in self.groups:
            yield from host.sweep(GroupShard.expire_offsets)

    def cancel(self, slot: Slot) -> None:
        """The connection of a parked request closed."""
        if isinstance(slot.parked, Host):
            slot.parked.machine.dropped(slot)

    def close(self) -> None:
        for hosts in self._by_topic.values():
            hosts.close()
