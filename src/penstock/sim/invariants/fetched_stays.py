"""What a client was given once neither vanishes nor changes, whoever wrote it, and whatever it was told about it."""

from __future__ import annotations

from collections import defaultdict

from penstock.sim.events import Event, FetchAnswered, Partition, Read
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model


class FetchedStays(Invariant):
    """Remembers what stood where when somebody first read it. Compaction takes some of it, and changes nothing."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._given: defaultdict[Partition, dict[int, bytes]] = defaultdict(dict)

    def see(self, event: Event) -> None:
        match event:
            case FetchAnswered(_, _, parts):
                for part in parts:
                    self._compare(part.partition, part.records)
            case Read(partition, start_offset, _, records):
                self._compare(partition, records)
                if self.model.rules(partition.topic).compacted:
                    return
                there = {offset for offset, _ in records}
                gone = [offset for offset in self._given[partition] if offset >= start_offset and offset not in there]
                self.demand(not gone, f"{partition} has given {gone[:1]} to somebody, and has it no more")

    def _compare(self, partition: Partition, records: tuple[tuple[int, bytes], ...]) -> None:
        given = self._given[partition]
        for offset, value in records:
            before = given.setdefault(offset, value)
            if before != value:
                self.object(f"{partition} has {value!r} at {offset}, somebody was given {before!r}")
