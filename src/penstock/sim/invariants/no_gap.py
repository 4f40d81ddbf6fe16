"""No gap: offsets follow each other, from where the reader stands to the end."""

from __future__ import annotations

from penstock.sim.events import Event, FetchAnswered, Partition, Read
from penstock.sim.invariants.base import Invariant


class NoGap(Invariant):
    """Batches may begin before the offset that was asked for; from it on nothing is missing, but by compaction."""

    def see(self, event: Event) -> None:
        match event:
            case FetchAnswered(client, number, parts):
                positions = self.model.asked[client, number].fetch.positions
                for part in parts:
                    if self.model.rules(part.partition.topic).compacted:
                        self._rising(part.partition, part.records)
                    elif part.records:
                        self._dense(part.partition, positions[part.partition], part.records)
            case Read(partition, _, _, records) if self.model.rules(partition.topic).compacted:
                self._rising(partition, records)
            case Read(partition, start_offset, end_offset, records):
                self._dense(partition, start_offset, records)
                last = records[-1][0] + 1 if records else start_offset
                self.demand(last == end_offset, f"{partition} can be read up to {last}, its end is {end_offset}")

    def _dense(self, partition: Partition, position: int, records: tuple[tuple[int, bytes], ...]) -> None:
        for expected, (offset, _) in enumerate(records, records[0][0] if records else 0):
            if offset != expected:
                self.object(f"{partition} goes on with {offset} where {expected} was due")
        if records:
            first, last = records[0][0], records[-1][0]
            self.demand(first <= position <= last, f"{partition} was asked for {position}, gave {first} to {last}")

    def _rising(self, partition: Partition, records: tuple[tuple[int, bytes], ...]) -> None:
        offsets = [offset for offset, _ in records]
        self.demand(offsets == sorted(set(offsets)), f"{partition} gave offsets out of their order: {offsets}")
