"""Looks at what nodes hold for their clients, where some of these are hostile: never more than the settings allow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.groups.member_memory import LITTLE_BYTES
from penstock.core.node.node import Node
from penstock.sim.clients.hostile import HOST
from penstock.sim.cluster_watch import ClusterWatch
from penstock.sim.events import Overburdened
from penstock.sim.scheduler import MS
from penstock.sim.world import World

LOOK_US: Final = 100 * MS


class Burden(NamedTuple):
    """So much of something, and how much of it there may be."""

    what: str
    amount: int
    amount_max: int


class Burdens:
    """Looks at all nodes some times a second."""

    def __init__(self, world: World[Any], watches: Sequence[ClusterWatch]) -> None:
        self._world = world
        self._watches = watches

    def look(self) -> None:
        """And again after a while."""
        for watch in self._watches:
            for burden in () if watch.node is None else _burdens(watch.node):
                if burden.amount > burden.amount_max:
                    self._world.witness.see(Overburdened(watch.number, *burden))
        self._world.scheduler.after(LOOK_US, self.look)


def _burdens(node: Node) -> Iterable[Burden]:
    limits = node.limits
    from_there = sum(connection.host == HOST for connection in node.connections)
    unfinished_bytes = sum(connection.unfinished_bytes for connection in node.connections)
    yield Burden("bytes of unfinished requests", unfinished_bytes, limits.unfinished_bytes_max)
    yield Burden(f"connections from {HOST}", from_there, limits.per_ip_max(HOST))
    members_bytes_max = node.settings["penstock.group.members.bytes.max"]
    yield Burden("bytes of groups' large members", _large_members_bytes(node), members_bytes_max)
    if node.state == "running":
        producers_max = node.settings["penstock.producers.per.partition.max"]
        for partition in node.replicas:
            what = f"producers of {partition.topic}-{partition.index}"
            yield Burden(what, len(partition.log.producers), producers_max)


def _large_members_bytes(node: Node) -> int:
    groups = (group for host in node.coordinators.groups for group in host.machine.groups.values())
    members = (member for group in groups if isinstance(group, ClassicGroup) for member in group.members.values())
    return sum(size for member in members if (size := member.size_bytes) > LITTLE_BYTES)
