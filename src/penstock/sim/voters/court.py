"""The invariants of a quorum in front of one stream of events, with the trace as its record."""

from __future__ import annotations

from penstock.sim.scheduler import Scheduler
from penstock.sim.trace import Trace
from penstock.sim.voters.events import Commits, Confirmed, Event, Leads
from penstock.sim.voters.invariants import ALL


class Court:
    """Judges events in the order in which they become known."""

    def __init__(self, scheduler: Scheduler, trace: Trace) -> None:
        self._scheduler = scheduler
        self._trace = trace
        self._invariants = [invariant() for invariant in ALL]

    def see(self, event: Event) -> None:
        now_us = self._scheduler.now_us
        if isinstance(event, Leads | Commits | Confirmed):
            self._trace.note(now_us, type(event).__name__.lower(), str(event))
        for invariant in self._invariants:
            invariant.see(event)
