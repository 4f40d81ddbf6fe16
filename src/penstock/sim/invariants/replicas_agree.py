"""When all is quiet every replica of a partition holds the same bytes, unless it is compacted.

Where bits have flipped, nobody need have read them since then: the active segment is not scrubbed. Nothing is missing
there all the same, and nobody else may have taken over what has changed.
"""

from __future__ import annotations

from penstock.sim.events import Event, Held, Rotted
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model


class ReplicasAgree(Invariant):
    """Batches are copied whole, with the leader's offsets and epochs, so that logs are equal byte by byte."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._rotten: set[tuple[int, str]] = set()

    def see(self, event: Event) -> None:
        match event:
            case Rotted(machine, path):
                self._rotten.add((machine, path.split("/")[-2]))
            case Held(partition, logs, forgets) if not self.model.rules(partition.topic).compacted:
                name = f"{partition.topic}-{partition.number}"
                whole = [log for machine, log in logs.items() if (machine, name) not in self._rotten]
                longest = max(whole, key=len, default=b"")
                agrees = longest.endswith if forgets else longest.__eq__
                self.demand(all(agrees(log) for log in whole), f"the replicas differ: {event}")
                as_long = forgets or len({len(log) for log in logs.values()}) <= 1
                self.demand(as_long, f"the replicas differ in length: {event}")
