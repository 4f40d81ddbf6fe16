"""The sequences of idempotent producers, batch by batch: what is missing, there again, or in another place. Pure.

A broker takes the batches of such a producer in the order of their sequences and each once. A log in which they stand
otherwise is not the log that was acknowledged. Where a producer begins in the log nobody knows: what is before may have
expired, so its first batch is taken as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from penstock.client.audit.findings import Gap, Kind
from penstock.client.metadata import TopicPartition
from penstock.core.records.batch import NO_PRODUCER_ID, NO_SEQUENCE, BatchHeader

PRODUCERS_MAX: Final = 100_000
HOLES_MAX: Final = 100
"""Of one producer: whoever has more has been named more than once."""
_MODULUS: Final = 1 << 31


@dataclass(slots=True)
class _Known:
    """A producer in one epoch: it has been seen from `low` up to `next`, apart from the holes."""

    epoch: int
    low: int
    next: int
    holes: list[tuple[int, int, int]] = field(default_factory=list)
    """Sequences from and up to, and the offset behind them."""


class Sequences:
    """Of one partition."""

    def __init__(self, where: TopicPartition) -> None:
        self._where = where
        self._known: dict[int, _Known] = {}

    def take(self, header: BatchHeader) -> Gap | None:
        """The next batch of the log; gives what is wrong with it at once. Holes are told at the end."""
        if header.is_control or header.producer_id == NO_PRODUCER_ID or header.base_sequence == NO_SEQUENCE:
            return None
        known = self._known.get(header.producer_id)
        if known is None or header.producer_epoch > known.epoch:
            self._begin(header, known)
            return None
        if header.producer_epoch < known.epoch:
            return self._gap(Kind.SWAPPED, header, f"epoch {header.producer_epoch} stands behind epoch {known.epoch}")
        return self._place(header, known)

    def holes(self) -> Iterator[Gap]:
        """Sequences that did not come."""
        for producer, known in self._known.items():
            for first, end, at in known.holes:
                yield self._hole(producer, first, end, at)

    def _begin(self, header: BatchHeader, before: _Known | None) -> None:
        first = header.base_sequence
        known = _Known(header.producer_epoch, first, first + header.last_offset_delta + 1)
        if before is not None:
            # Holes of an epoch stay holes, wherever the next one begins.
            known.holes = before.holes
        elif len(self._known) >= PRODUCERS_MAX:
            del self._known[next(iter(self._known))]
        self._known[header.producer_id] = known

    def _place(self, header: BatchHeader, known: _Known) -> Gap | None:
        first = _unwrapped(header.base_sequence, known.next)
        end = first + header.last_offset_delta + 1
        if first >= known.next:
            if first > known.next and len(known.holes) < HOLES_MAX:
                known.holes.append((known.next, first, header.base_offset))
            known.next = end
            return None
        if first < known.low:
            known.low = first
            return self._gap(Kind.SWAPPED, header, f"sequence {first} of producer {header.producer_id} comes too late")
        for place, (start, stop, at) in enumerate(known.holes):
            if start <= first and end <= stop:
                known.holes[place : place + 1] = [
                    each for each in ((start, first, at), (end, stop, at)) if each[0] < each[1]
                ]
                why = f"sequence {first} of producer {header.producer_id} comes too late"
                return self._gap(Kind.SWAPPED, header, why)
        return self._gap(Kind.DOUBLED, header, f"sequence {first} of producer {header.producer_id} is there again")

    def _gap(self, kind: Kind, header: BatchHeader, why: str) -> Gap:
        return Gap(kind, self._where, header.base_offset, header.next_offset, why)

    def _hole(self, producer: int, first: int, end: int, at: int) -> Gap:
        why = f"sequences {first} to {end - 1} of producer {producer} should stand before offset {at}"
        return Gap(Kind.MISSING, self._where, max(0, at - (end - first)), at, why)


def _unwrapped(sequence: int, near: int) -> int:
    """Sequences begin again behind 2^31 - 1: the one that is nearest."""
    return near + (sequence - near + _MODULUS // 2) % _MODULUS - _MODULUS // 2
