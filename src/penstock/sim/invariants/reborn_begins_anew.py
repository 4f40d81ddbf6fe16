"""A topic that is created again has nothing of its life before, and that life takes nothing any more."""

from __future__ import annotations

from collections import defaultdict

from penstock.sim.events import Acknowledged, Batch, Event, Sent, TopicDecided
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model


class RebornBeginsAnew(Invariant):
    """Counts what was sent into each life, and remembers which are over."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._lives: defaultdict[str, set[str]] = defaultdict(set)
        self._over: set[str] = set()
        self._too_late: set[tuple[str, int]] = set()
        self._sent: defaultdict[str, int] = defaultdict(int)

    def see(self, event: Event) -> None:
        match event:
            case Sent(batch) if batch.partition.life:
                self._note(batch)
            case TopicDecided(topic, exists=False, is_heard=False):
                self._over |= self._lives[topic]
            case Acknowledged(batch, base_offset) if batch.partition.life and base_offset is not None:
                last = base_offset + len(batch.values)
                self.demand(last <= self._sent[batch.partition.life], f"{batch.partition} is at {last}: not a new log")
                self.demand((batch.producer, batch.first) not in self._too_late, f"{batch.partition} is over, and took")

    def _note(self, batch: Batch) -> None:
        partition = batch.partition
        self._lives[partition.topic].add(partition.life)
        self._sent[partition.life] += len(batch.values)
        if partition.life in self._over:
            self._too_late.add((batch.producer, batch.first))
