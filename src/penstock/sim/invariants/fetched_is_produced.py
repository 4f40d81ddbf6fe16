"""What is fetched was produced: byte for byte, by somebody, into this partition."""

from __future__ import annotations

from penstock.sim.events import Event, FetchAnswered, Partition, Read
from penstock.sim.invariants.base import Invariant


class FetchedIsProduced(Invariant):
    """Every value is unique, so a damaged or strayed one cannot pass for another."""

    def see(self, event: Event) -> None:
        match event:
            case FetchAnswered(_, _, parts):
                for part in parts:
                    self.demand(not part.damaged, f"{part.partition} gave a batch that does not match its checksum")
                    self._known(part.partition, part.records)
            case Read(partition, _, _, records):
                self._known(partition, records)

    def _known(self, partition: Partition, records: tuple[tuple[int, bytes], ...]) -> None:
        sent = self.model.partitions[partition].sent
        for offset, value in records:
            if value not in sent:
                self.object(f"{partition} has {value!r} at {offset}, which nobody sent there")
