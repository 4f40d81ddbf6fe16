"""The real node in the simulated world: how it is made, and how far its logs reach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from penstock.core.apis.table import make_node
from penstock.core.base.settings import BrokerSettings
from penstock.core.log.log import Log
from penstock.core.node.node import Node
from penstock.core.partition.partition import Partition as NodePartition
from penstock.schemas.payloads.making import make_check
from penstock.sim.chance import Chance
from penstock.sim.events import LogState, Partition
from penstock.sim.ports import SimNode
from penstock.sim.site import Place
from penstock.sim.world import DATA

SETTINGS = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@127.0.0.1:9093",
    "log.dirs": DATA,
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "100",
    "log.flush.offset.checkpoint.interval.ms": "3000",
    "log.initial.task.delay.ms": "1000",
    "auto.create.topics.enable": "false",
    "log.roll.ms": "2000",
    "log.retention.check.interval.ms": "1000",
    "log.cleaner.backoff.ms": "500",
    "log.flush.start.offset.checkpoint.interval.ms": "4000",
}
SYNC_EACH = {"log.flush.interval.messages": "1"}


class PenstockNodes:
    """Makes single nodes with settings that let much happen in little time.

    With `syncs_commits`, `__consumer_offsets` (and any topic that does not say otherwise) syncs each append.
    """

    def __init__(
        self,
        syncs_commits: bool = False,
        reborn_topics: frozenset[str] = frozenset(),
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._settings = {**SETTINGS, **(SYNC_EACH if syncs_commits else {}), **(settings or {})}
        self._reborn_topics = reborn_topics

    def make(self, place: Place, chance: Chance) -> SimNode:
        """A new process over a disk."""
        settings = BrokerSettings(self.settings(place.number))
        node = make_node(settings, place.disk, chance, place.tell, place.dialing, make_check)
        node.boot_id = place.boot_id
        node.runtime_note = place.memory
        return cast("SimNode", node)

    def settings(self, number: int) -> dict[str, str]:
        """What the file of a machine's node says."""
        return self._settings

    def logs(self, node: SimNode) -> dict[Partition, LogState]:
        """What each partition's log holds and promises."""
        assert isinstance(node, Node)
        return dict(sorted((self._name(partition), _state(partition.log)) for partition in node.replicas))

    def _name(self, partition: NodePartition) -> Partition:
        life = partition.topic_id.hex() if partition.topic in self._reborn_topics else ""
        return Partition(partition.topic, partition.index, life)


def _state(log: Log) -> LogState:
    snapshot_offset = max(log.snapshot_offsets, default=0)
    failure = None if log.failure is None else log.failure.message
    return LogState(log.start_offset, log.synced_offset, log.end_offset, snapshot_offset, failure)
