"""Looks for leaders that could go on and do not: all who are in sync are well, hear each other and the controller, and
still nothing is committed. What happens to others is no excuse for that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import Final, NamedTuple

from penstock.core.partition.replicated import ReplicatedLeader
from penstock.sim.cluster_court import ClusterCourt
from penstock.sim.cluster_overview import Overview
from penstock.sim.cluster_watch import ClusterWatch
from penstock.sim.events import Partition, Stalled
from penstock.sim.scheduler import SECOND
from penstock.sim.site import Site
from penstock.sim.world import World

LOOK_US: Final = SECOND // 4
PATIENCE_US: Final = 4 * SECOND
"""Twice what it takes to do without a replica that is not heard of."""


class _Stand(NamedTuple):
    """Where a leader is, and with whom it has to agree. While nothing of it changes, nothing is committed."""

    partition: Partition
    leader: int
    leader_epoch: int
    high_watermark: int
    in_sync: tuple[int, ...]
    controller: int


class Standstill:
    """Looks at all leaders a few times a second."""

    def __init__(self, world: World[ClusterCourt], overview: Overview, watches: Sequence[ClusterWatch]) -> None:
        self._world = world
        self._overview = overview
        self._watches = watches
        self._since_us: dict[_Stand, int] = {}

    def look(self) -> None:
        """And again after a while."""
        now_us = self._world.scheduler.now_us
        self._since_us = {stand: self._since_us.get(stand, now_us) for stand in self._stands()}
        for stand, since_us in self._since_us.items():
            if now_us - since_us > PATIENCE_US:
                waited_s = (now_us - since_us) / SECOND
                self._world.witness.see(Stalled(stand.partition, stand.leader, stand.in_sync, waited_s))
        self._world.scheduler.after(LOOK_US, self.look)

    def _stands(self) -> Iterable[_Stand]:
        nodes = {watch.number: node for watch in self._watches if (node := watch.node) is not None}
        controllers = [number for number, node in nodes.items() if node.cluster.controller.is_active]
        if len(controllers) != 1:
            return
        for number, node in nodes.items():
            for leader in node.replication.led:
                stand = self._stand_of(number, leader, controllers[0])
                if stand is not None and self._are_well({*stand.in_sync, stand.leader, stand.controller}):
                    yield stand

    def _stand_of(self, number: int, leader: ReplicatedLeader, controller: int) -> _Stand | None:
        """Nothing, if there is nothing to commit, or if another one may lead, or too few are left."""
        if leader.removed or leader.log.end_offset <= leader.high_watermark:
            return None
        partition = self._overview.name(leader.topic, leader.topic_id, leader.index)
        known = self._overview.find(partition)
        if known is None or (known.leader, known.leader_epoch) != (number, leader.leader_epoch):
            return None
        if len(known.isr) < leader.in_sync_min:
            return None
        return _Stand(partition, number, known.leader_epoch, leader.high_watermark, known.isr, controller)

    def _are_well(self, numbers: set[int]) -> bool:
        paths = self._world.network.paths
        return all(_is_well(self._world.sites[number]) for number in numbers) and all(
            paths.is_open(way) and not paths.slow_us(way) for way in permutations(sorted(numbers), 2)
        )


def _is_well(site: Site) -> bool:
    volume = site.disk.volume
    has_disk = not site.disk.slow and volume.free_bytes is None and not volume.syncs_to_fail
    return has_disk and site.machine.running and not site.machine.paused
