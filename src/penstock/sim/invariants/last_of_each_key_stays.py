"""Compaction takes only what a later record of the same key has replaced, and changes nothing else.

The model is a dict: what was acknowledged last for a key is there, at its offset. A tombstone may go after a while,
but not before everything that it deletes.
"""

from __future__ import annotations

from penstock.sim.events import Event, FetchAnswered, Partition, Read
from penstock.sim.invariants.base import Invariant
from penstock.sim.values import is_tombstone, key_of

Records = tuple[tuple[int, bytes], ...]


class LastOfEachKeyStays(Invariant):
    """Judges what is missing from compacted partitions."""

    def see(self, event: Event) -> None:
        match event:
            case FetchAnswered():
                self._fetched(event)
            case Read(partition, start_offset, end_offset, records) if self.model.rules(partition.topic).compacted:
                self._complete(partition, start_offset, end_offset, records)
                self._deleted(partition, records)

    def _fetched(self, event: FetchAnswered) -> None:
        asked = self.model.asked[event.client, event.number]
        for part in event.parts:
            if self.model.rules(part.partition.topic).compacted and part.goes_on_at is not None:
                position = asked.fetch.positions[part.partition]
                end_offset = min(part.goes_on_at, asked.known[part.partition].acknowledged_end)
                self._complete(part.partition, position, end_offset, part.records)

    def _complete(self, partition: Partition, start_offset: int, end_offset: int, records: Records) -> None:
        model = self.model.partitions[partition]
        there = {offset for offset, _ in records}
        for offset in range(start_offset, end_offset):
            missing = offset in model.acknowledged and offset not in there
            self.demand(
                not missing or model.is_superseded(offset),
                f"{partition} lost {model.acknowledged.get(offset)!r} at {offset}, the last of its key",
            )

    def _deleted(self, partition: Partition, records: Records) -> None:
        model = self.model.partitions[partition]
        there = {offset for offset, _ in records}
        for key, latest in model.latest.items():
            if latest not in there and is_tombstone(model.acknowledged[latest]):
                older = [offset for offset, value in records if key_of(value) == key and offset < latest]
                self.demand(not older, f"{partition} has {older} of {key!r} again, which was deleted at {latest}")
