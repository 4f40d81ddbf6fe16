"""Several real nodes in one world: how they are set up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.core.metadata.storage import META_FILE, META_VERSION, Meta, encode_meta, new_uuid, uuid_text
from penstock.sim.chance import Chance
from penstock.sim.machine import BROKER_PORT, CONTROLLER_PORT
from penstock.sim.node import PenstockNodes
from penstock.sim.ports import SimNode
from penstock.sim.site import Place
from penstock.sim.world import DATA, host_of

CLUSTER_ID: Final = uuid_text(new_uuid(bytes(range(16))))


def rack_of(number: int) -> str:
    """Each machine stands in a rack of its own, where consumers read near to them."""
    return f"rack-{number}"


class ClusterNodes(PenstockNodes):
    """Makes nodes that are brokers and voters at once, or, of a number of machines, the first ones controllers only and
    the others brokers only. An operator has formatted their disks for one cluster."""

    def __init__(self, machines: int, settings: Mapping[str, str] | None = None, controllers: int = 0) -> None:
        super().__init__()
        voters = range(1, (controllers or machines) + 1)
        self._controllers = controllers
        self._voters = ",".join(f"{each}@{host_of(each)}:{CONTROLLER_PORT}" for each in voters)
        self._given = dict(settings or {})

    def make(self, place: Place, chance: Chance) -> SimNode:
        path = f"{DATA}/{META_FILE}"
        if place.disk.volume.platter.find(path) is None:
            directory_id = uuid_text(new_uuid(chance.fork("format").bytes(16)))
            place.disk.place(path, encode_meta(Meta(META_VERSION, CLUSTER_ID, place.number, directory_id)))
        return super().make(place, chance)

    def settings(self, number: int) -> dict[str, str]:
        host = host_of(number)
        listeners = {
            "broker": f"PLAINTEXT://{host}:{BROKER_PORT}",
            "controller": f"CONTROLLER://{host}:{CONTROLLER_PORT}",
        }
        roles = [*listeners]
        if self._controllers:
            roles = ["controller" if number <= self._controllers else "broker"]
        return {
            **super().settings(number),
            "node.id": str(number),
            "process.roles": ",".join(roles),
            "listeners": ",".join(listeners[role] for role in roles),
            "controller.quorum.voters": self._voters,
            **self._given,
            **({"broker.rack": rack_of(number)} if "replica.selector.class" in self._given else {}),
        }
