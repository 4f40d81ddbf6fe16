"""Order: a producer's records stand in a partition in the order in which they were sent."""

from __future__ import annotations

from penstock.sim.events import Event, Read
from penstock.sim.invariants.base import Invariant


class Order(Invariant):
    """First copies rise; a later copy of an earlier record is a duplicate, which is another invariant's affair.

    Of two copies compaction takes the first, so that what it leaves of duplicates shows no order. Retention and
    deletion take the first with all that stood before it, so that what is left of its producer begins with a later one.
    """

    def see(self, event: Event) -> None:
        if not isinstance(event, Read) or self.model.rules(event.partition.topic).compacted:
            return
        sent = self.model.partitions[event.partition].sent
        begins: dict[str, int] = {}
        last: dict[str, int] = {}
        seen: set[bytes] = set()
        for offset, value in event.records:
            if value not in seen:
                seen.add(value)
                origin = sent[value]
                begin = begins.setdefault(origin.producer, origin.number)
                if origin.number < begin and event.start_offset > 0 and origin.copies_max > 1:
                    continue  # The first copy is gone.
                before = last.get(origin.producer, -1)
                if origin.number <= before:
                    number = f"{origin.number} of {origin.producer}"
                    self.object(f"{event.partition} has number {number} at {offset}, after {before}")
                last[origin.producer] = origin.number
