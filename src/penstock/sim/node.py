"""The real node in the simulated world: how it is made, and how far its logs reach."""

from __future__ import annotations

from typing import cast

from penstock.core.apis.table import make_node
from penstock.core.base.settings import BrokerSettings
from penstock.core.node.node import Node
from penstock.sim.chance import Chance
from penstock.sim.disk import Disk
from penstock.sim.events import LogState, Partition
from penstock.sim.ports import SimNode
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
}


class PenstockNodes:
    """Makes single nodes with settings that let much happen in little time."""

    def make(self, disk: Disk, chance: Chance) -> SimNode:
        """A new process over a disk."""
        return cast("SimNode", make_node(BrokerSettings(SETTINGS), disk, chance))

    def logs(self, node: SimNode) -> dict[Partition, LogState]:
        """What each partition's log holds and promises."""
        assert isinstance(node, Node)
        found = {
            Partition(partition.topic, partition.index): LogState(
                partition.log.start_offset, partition.log.synced_offset, partition.log.end_offset
            )
            for partition in node.replicas
        }
        return dict(sorted(found.items()))
