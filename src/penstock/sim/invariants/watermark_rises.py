"""No client sees an end offset go back, unless a power cut took unsynced records."""

from __future__ import annotations

from penstock.sim.events import Event, FetchAnswered
from penstock.sim.invariants.base import Invariant


class WatermarkRises(Invariant):
    """An answer knows at least what anybody knew when its request was sent."""

    def see(self, event: Event) -> None:
        if not isinstance(event, FetchAnswered):
            return
        known = self.model.asked[event.client, event.number].known
        for part in event.parts:
            before = known[part.partition]
            least = max(before.high_watermark, before.acknowledged_end)
            self.demand(
                part.error != 0 or part.high_watermark >= least,
                f"{event.client} sees {part.partition} end at {part.high_watermark}, it was {least}",
            )
