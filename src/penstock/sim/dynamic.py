"""A quorum whose voters are kept in its log: how its machines are formatted, and how somebody is seated or unseated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.core.base.endpoints import Endpoint
from penstock.core.metadata.storage import META_FILE, META_VERSION, Meta, encode_meta, uuid_text
from penstock.core.raft.checkpoint import founding_snapshot
from penstock.core.raft.ids import TOPIC, ReplicaKey
from penstock.core.raft.settings import KRAFT_VERSIONS
from penstock.core.raft.voters import Voter, VoterSet
from penstock.core.wire.api.add_raft_voter import AddRaftVoterRequest, Listener
from penstock.core.wire.api.remove_raft_voter import RemoveRaftVoterRequest
from penstock.sim.chance import Chance
from penstock.sim.cluster import CLUSTER_ID, ClusterNodes
from penstock.sim.machine import CONTROLLER_PORT
from penstock.sim.ports import SimNode
from penstock.sim.scheduler import EPOCH_MS
from penstock.sim.site import Place
from penstock.sim.world import DATA, host_of

FOLDER: Final = f"{DATA}/{TOPIC}-0"
FOUNDING: Final = f"{FOLDER}/00000000000000000000-0000000000.checkpoint"
CATCH_UP_MS_MAX: Final = 5_000


def directory_of(number: int) -> bytes:
    return bytes([number]) * 16


def seating(number: int) -> AddRaftVoterRequest:
    return AddRaftVoterRequest(
        cluster_id=None,
        timeout_ms=CATCH_UP_MS_MAX,
        voter_id=number,
        voter_directory_id=directory_of(number),
        listeners=[Listener(name="CONTROLLER", host=host_of(number), port=CONTROLLER_PORT)],
    )


def unseating(number: int) -> RemoveRaftVoterRequest:
    return RemoveRaftVoterRequest(cluster_id=None, voter_id=number, voter_directory_id=directory_of(number))


class DynamicNodes(ClusterNodes):
    """The first machines are formatted as voters, and known by their addresses to whoever comes later. Everybody is
    broker and controller."""

    def __init__(self, machines: int, founders: int, settings: Mapping[str, str] | None = None) -> None:
        super().__init__(machines, settings)
        self._founders = range(1, founders + 1)
        self._servers = ",".join(f"{host_of(each)}:{CONTROLLER_PORT}" for each in self._founders)

    def settings(self, number: int) -> dict[str, str]:
        given = super().settings(number)
        del given["controller.quorum.voters"]
        return {"controller.quorum.bootstrap.servers": self._servers, **given}

    def make(self, place: Place, chance: Chance) -> SimNode:
        platter = place.disk.volume.platter
        if platter.find(f"{DATA}/{META_FILE}") is None:
            if place.number in self._founders:
                platter.make_directory(FOLDER)
                place.disk.place(FOUNDING, founding_snapshot(self._voters_at_first(), EPOCH_MS))
            meta = Meta(META_VERSION, CLUSTER_ID, place.number, uuid_text(directory_of(place.number)))
            place.disk.place(f"{DATA}/{META_FILE}", encode_meta(meta))
        return super().make(place, chance)

    def _voters_at_first(self) -> VoterSet:
        return VoterSet(
            Voter(
                ReplicaKey(number, directory_of(number)),
                (Endpoint("CONTROLLER", host_of(number), CONTROLLER_PORT),),
                KRAFT_VERSIONS,
            )
            for number in self._founders
        )
