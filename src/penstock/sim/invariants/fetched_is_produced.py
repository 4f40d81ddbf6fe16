"""What is fetched was produced: byte for byte, by somebody, into this partition.

A machine on whose disk bits have flipped may give a batch that does not match its checksum, until it finds that out. It
gives none that matches and is another one.
"""

from __future__ import annotations

from penstock.sim.events import Event, FetchAnswered, Partition, Read, Rotted
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model
from penstock.sim.transactions.events import SeenDamaged


class FetchedIsProduced(Invariant):
    """Every value is unique, so a damaged or strayed one cannot pass for another."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._rotten: set[int] = set()

    def see(self, event: Event) -> None:
        match event:
            case Rotted(machine):
                self._rotten.add(machine)
            case FetchAnswered(client, number, parts):
                for part in parts:
                    if part.damaged:
                        self._damaged(part.partition, self.model.asked[client, number].fetch.machine)
                    self._known(part.partition, part.records)
            case SeenDamaged(_, partition, machine):
                self._damaged(partition, machine)
            case Read(partition, _, _, records):
                self._known(partition, records)

    def _damaged(self, partition: Partition, machine: int) -> None:
        self.demand(machine in self._rotten, f"{partition} gave a batch that does not match its checksum")

    def _known(self, partition: Partition, records: tuple[tuple[int, bytes], ...]) -> None:
        sent = self.model.partitions[partition].sent
        for offset, value in records:
            if value not in sent:
                self.object(f"{partition} has {value!r} at {offset}, which nobody sent there")
