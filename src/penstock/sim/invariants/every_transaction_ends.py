"""Every transaction ends: whatever became of its program and its coordinator, none is open for long after a storm."""

from __future__ import annotations

from penstock.sim.events import Event
from penstock.sim.invariants.base import Invariant
from penstock.sim.transactions.events import Hanging


class EveryTransactionEnds(Invariant):
    """Whoever watches the leaders tells of those that hang."""

    def see(self, event: Event) -> None:
        if isinstance(event, Hanging):
            self.object(
                f"{event.partition} is decided up to {event.stable_end}, and hangs below {event.high_watermark}"
            )
