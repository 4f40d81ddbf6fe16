"""The court: model and invariants in front of one stream of events, with the trace as its record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.sim.events import (
    Acknowledged,
    Assigned,
    ClockSet,
    CommitAcknowledged,
    DeleteAnswered,
    Event,
    GhostAnswered,
    Read,
)
from penstock.sim.invariants import ALL, Invariant
from penstock.sim.model import Model
from penstock.sim.rules import TopicRules
from penstock.sim.scheduler import EPOCH_MS, MS, Scheduler
from penstock.sim.trace import Trace


class Court:
    """Judges events in the order in which they become known."""

    def __init__(
        self,
        scheduler: Scheduler,
        trace: Trace,
        rules: Mapping[str, TopicRules],
        invariants: Iterable[type[Invariant]] = ALL,
    ) -> None:
        self.model = Model(rules)
        self._scheduler = scheduler
        self._trace = trace
        self._invariants = [invariant(self.model) for invariant in invariants]

    def see(self, event: Event) -> None:
        """Let the invariants judge an event by what was known before it, then remember it."""
        self.note(event)
        self.model.tick(EPOCH_MS + self._scheduler.now_us // MS)
        for invariant in self._invariants:
            invariant.see(event)
        self.model.see(event)
        match event:
            case Acknowledged(batch, _):
                self._trace.counts["records-acknowledged"] += len(batch.values)
            case Assigned():
                self._trace.counts["rebalances"] += event.is_leader
                self._trace.counts["partitions-handed-over"] += len(set(event.kept) - set(event.partitions))
            case CommitAcknowledged():
                self._trace.counts["commits-acknowledged"] += 1
            case GhostAnswered():
                self._trace.counts["static-restarts"] += 1
            case DeleteAnswered():
                self._trace.counts["record-deletions"] += 1
            case ClockSet():
                self._trace.counts["clock-jumps"] += 1
            case Read():
                self._count_gone(event)

    def note(self, event: Event) -> None:
        """Only write down that something happened."""
        self._trace.note(self._scheduler.now_us, type(event).__name__, str(event))

    def _count_gone(self, read: Read) -> None:
        rules = self.model.rules(read.partition.topic)
        there = {offset for offset, _ in read.records}
        gone = sum(offset not in there for offset in self.model.partitions[read.partition].acknowledged)
        if rules.compacted:
            self._trace.counts["records-compacted"] += gone
        elif rules.retention_ms >= 0:
            self._trace.counts["records-expired"] += gone
        elif rules.retention_bytes >= 0:
            self._trace.counts["records-outgrown"] += gone
        if read.partition.life:
            self._trace.counts["rebirths-read"] += 1
