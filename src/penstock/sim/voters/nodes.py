"""How a voter is made: a whole node, impatient enough that much happens in little time."""

from __future__ import annotations

from typing import Any, cast

from penstock.core.apis.table import make_node
from penstock.core.base.ports import Steps
from penstock.core.base.settings import BrokerSettings
from penstock.core.log.checkpoints import replace
from penstock.core.log.durable import sync_folder
from penstock.core.metadata.storage import META_FILE, META_VERSION, Meta, encode_meta, uuid_text
from penstock.sim.chance import Chance
from penstock.sim.disk import Disk
from penstock.sim.events import LogState, Partition
from penstock.sim.machine import BROKER_PORT, CONTROLLER_PORT
from penstock.sim.ports import SimNode
from penstock.sim.site import Place
from penstock.sim.world import DATA, host_of

CLUSTER_ID = uuid_text(bytes(range(16)))
SETTINGS = {
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": DATA,
    "offsets.topic.num.partitions": "1",
    "controller.quorum.election.timeout.ms": "300",
    "controller.quorum.election.backoff.max.ms": "200",
    "controller.quorum.fetch.timeout.ms": "500",
    "controller.quorum.request.timeout.ms": "400",
    "controller.quorum.fetch.max.bytes": "4000",
    "controller.quorum.fetch.snapshot.max.bytes": "2000",
    "metadata.log.max.record.bytes.between.snapshots": "2000",
}


class VoterNodes:
    """Makes the voters of one quorum; their data folders are formatted when they are first used."""

    def __init__(self, machines: int) -> None:
        self._voters = ",".join(f"{number}@{host_of(number)}:{CONTROLLER_PORT}" for number in range(1, machines + 1))
        self._formatted: set[int] = set()

    def make(self, place: Place, chance: Chance) -> SimNode:
        """A new process over a disk."""
        if place.number not in self._formatted:
            self._formatted.add(place.number)
            _format(place.disk, place.number)
        host = host_of(place.number)
        settings = {
            **SETTINGS,
            "node.id": str(place.number),
            "listeners": f"PLAINTEXT://{host}:{BROKER_PORT},CONTROLLER://{host}:{CONTROLLER_PORT}",
            "controller.quorum.voters": self._voters,
        }
        node = make_node(BrokerSettings(settings), place.disk, chance, network=place.dialing)
        node.boot_id = place.boot_id
        node.runtime_note = place.memory
        return cast("SimNode", node)

    def logs(self, node: SimNode) -> dict[Partition, LogState]:
        """The metadata is looked at by other means."""
        return {}


def _format(disk: Disk, number: int) -> None:
    """What an operator does before a node is started for the first time."""
    meta = Meta(META_VERSION, CLUSTER_ID, number, uuid_text(bytes([number]) * 16))
    steps: Steps[None] = _write(encode_meta(meta))
    result: Any = None
    try:
        while True:
            result = disk.volume.effect(steps.send(result))()
    except StopIteration:
        return


def _write(data: bytes) -> Steps[None]:
    yield from replace(f"{DATA}/{META_FILE}", data)
    yield from sync_folder(DATA)
