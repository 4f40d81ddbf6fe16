"""The court: model and invariants in front of one stream of events, with the trace as its record."""

from __future__ import annotations

from penstock.sim.events import Acknowledged, Assigned, Event
from penstock.sim.invariants import ALL
from penstock.sim.model import Model
from penstock.sim.scheduler import Scheduler
from penstock.sim.trace import Trace


class Court:
    """Judges events in the order in which they become known."""

    def __init__(self, scheduler: Scheduler, trace: Trace, synced_topics: frozenset[str]) -> None:
        self.model = Model(synced_topics)
        self._scheduler = scheduler
        self._trace = trace
        self._invariants = [invariant(self.model) for invariant in ALL]

    def see(self, event: Event) -> None:
        """Let the invariants judge an event by what was known before it, then remember it."""
        self._trace.note(self._scheduler.now_us, type(event).__name__, str(event))
        for invariant in self._invariants:
            invariant.see(event)
        self.model.see(event)
        match event:
            case Acknowledged(batch, _):
                self._trace.counts["records-acknowledged"] += len(batch.values)
            case Assigned(is_leader=True):
                self._trace.counts["rebalances"] += 1
