"""Looks for logs that a node has taken offline although their disk did all that it was asked for."""

from __future__ import annotations

from typing import Any, Final

from penstock.sim.events import TakenOffline
from penstock.sim.scheduler import SECOND
from penstock.sim.world import World

LOOK_US: Final = SECOND


class OfflineLogs:
    """Looks at all logs once a second: what is offline stays so until its node is started again."""

    def __init__(self, world: World[Any]) -> None:
        self._world = world

    def look(self) -> None:
        """And again after a while."""
        for site in self._world.sites.values():
            if not site.disk.volume.has_failed:
                for partition, state in site.logs().items():
                    if state.failure is not None:
                        self._world.witness.see(TakenOffline(partition, site.number, state.failure))
        self._world.scheduler.after(LOOK_US, self.look)
