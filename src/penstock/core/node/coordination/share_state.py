"""Share coordinators: what they are made of, and how their log is cut."""

from __future__ import annotations

from typing import Final

from penstock.core.base.ports import Steps
from penstock.core.base.settings import BrokerSettings
from penstock.core.groups.routing import partition_for_group
from penstock.core.node.coordination.journal import PartitionJournal
from penstock.core.node.coordination.ports import CoordinatorHost
from penstock.core.partition.partition import Partition
from penstock.core.records.codecs import Codec
from penstock.core.rsm.result import Due, Performer, Timers
from penstock.core.share_state.key import read_key
from penstock.core.share_state.settings import ShareStateSettings
from penstock.core.share_state.shard import PruneDue, ShareStateShard
from penstock.core.share_state.turn import ShareStateContext

SHARE_STATE_TOPIC: Final = "__share_group_state"


class ShareStates:
    """The machines over `__share_group_state`."""

    topic = SHARE_STATE_TOPIC

    def __init__(self, node: CoordinatorHost) -> None:
        self._node = node

    @property
    def count(self) -> int:
        topic = self._node.image.topic(SHARE_STATE_TOPIC)
        return self._node.settings["share.coordinator.state.topic.num.partitions"] if topic is None else len(topic)

    def journal(self, partition: Partition) -> PartitionJournal:
        node = self._node
        codec = Codec(node.settings["share.coordinator.state.topic.compression.codec"])
        return PartitionJournal(node, partition, codec, lambda: node.settings["share.coordinator.write.timeout.ms"])

    def make(self, partition: Partition, timers: Timers) -> ShareStateShard:
        node = self._node
        context = ShareStateContext(
            share_state_settings(node.settings), timers, self._partition_count, Pruner(node, partition)
        )
        return ShareStateShard(context)

    def index_of(self, key: str, count: int) -> int:
        """The hash is the one that groups have, of the key as it is written when nobody is free to choose."""
        known = read_key(key)
        return partition_for_group(key if known is None else known.text, count)

    def _partition_count(self, topic_id: bytes) -> int | None:
        name = self._node.topic_lookup.name_of(topic_id)
        return None if name is None else self._node.topic_lookup.partition_count(name)


def share_state_settings(settings: BrokerSettings) -> ShareStateSettings:
    return ShareStateSettings(
        updates_per_snapshot=settings["share.coordinator.snapshot.update.records.per.snapshot"],
        prune_interval_ms=settings["share.coordinator.state.topic.prune.interval.ms"],
        cold_interval_ms=settings["share.coordinator.cold.partition.snapshot.interval.ms"],
    )


class Pruner(Performer):
    """Cuts off what the machine over one partition does not need any more."""

    __slots__ = ("_node", "_partition")

    def __init__(self, node: CoordinatorHost, partition: Partition) -> None:
        self._node = node
        self._partition = partition

    def perform(self, due: Due) -> None:
        assert isinstance(due, PruneDue)
        self._node.tasks.run(self._prune(due.offset))

    def _prune(self, offset: int) -> Steps[None]:
        partition = self._partition
        if not partition.removed and partition.log.start_offset < offset <= partition.high_watermark:
            yield from partition.log.delete_records(offset)
            # Followers hear of it with what they are told next.
            partition.announce()
