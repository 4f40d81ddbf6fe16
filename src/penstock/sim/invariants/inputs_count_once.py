"""Each input is committed exactly once: what is made from it counts, and counts only once, over all partitions."""

from __future__ import annotations

from collections import Counter

from penstock.sim.events import Event, Partition
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model
from penstock.sim.transactions.events import ChainRead, Seen
from penstock.sim.transactions.values import root_of


class InputsCountOnce(Invariant):
    """Remembers where each was seen first, and compares the two ends of a chain's link when all is quiet."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._places: dict[tuple[str, str], tuple[Partition, int]] = {}

    def see(self, event: Event) -> None:
        match event:
            case Seen(reader, partition):
                for offset, value in event.visible:
                    root = root_of(value)
                    place = self._places.setdefault((partition.topic, root), (partition, offset))
                    if place != (partition, offset):
                        self.object(f"{reader} saw {root} at {offset} of {partition}, and it is at {place} as well")
            case ChainRead(topic, group, inputs, outputs):
                missing = Counter(inputs) - Counter(outputs)
                self.demand(not missing, f"{group} has lost {sorted(missing)[:5]} on the way to {topic}")
                strange = Counter(outputs) - Counter(inputs)
                self.demand(not strange, f"{group} has made {sorted(strange)[:5]} of nothing in {topic}")
