"""Within a leader's epoch the high watermark only rises: what was committed under it stays so."""

from __future__ import annotations

from penstock.sim.events import Event, Leads, Watermark
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model


class WatermarkRisesInEpoch(Invariant):
    """Judges leaders, process by process. A new leader may know of less at first; that is not told to clients as the
    end."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._offsets: dict[Leads, int] = {}

    def see(self, event: Event) -> None:
        if isinstance(event, Watermark):
            before = self._offsets.get(event.leader, 0)
            if event.offset < before:
                self.object(f"{event.leader} takes {event.offset} for committed, it was {before}")
            self._offsets[event.leader] = event.offset
