"""A fetch asks for half a second of patience and gets little more, whatever the node's clock is set to meanwhile."""

from __future__ import annotations

from penstock.sim.events import Event, Waited
from penstock.sim.invariants.base import Invariant

WAIT_MS_MAX = 30_000
"""A slow disk and a connection that carries single bytes take their time too."""


class FetchesEndInTime(Invariant):
    """Waiting is measured by the client's clock."""

    def see(self, event: Event) -> None:
        if isinstance(event, Waited):
            self.demand(
                event.excused or event.waited_ms <= WAIT_MS_MAX,
                f"{event.client} waited {event.waited_ms} ms for a fetch",
            )
