"""What has become of the records of a partition, as ranges of offsets without overlap.

A range that comes later may cut through those that were there. Of what is said about an offset the higher delivery
count goes, and at the same count the higher state: what is settled does not become open again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple

UNCHANGED: Final = -1
"""A start offset that says nothing new."""


class StateBatch(NamedTuple):
    """Offsets, both inclusive, that share a fate."""

    first: int
    last: int
    state: int
    deliveries: int

    @property
    def rank(self) -> tuple[int, int]:
        return self.deliveries, self.state


def combined(known: Sequence[StateBatch], new: Sequence[StateBatch], start: int) -> tuple[StateBatch, ...]:
    """Ranges one after the other, from a start offset on; neighbours that say the same are one."""
    cut = [_since(each, start) for each in (*known, *new) if each.last >= start]
    return tuple(_joined(_flat(cut)))


def _since(batch: StateBatch, start: int) -> StateBatch:
    return batch if batch.first >= start else batch._replace(first=start)


def _flat(batches: Iterable[StateBatch]) -> Iterable[StateBatch]:
    """Always the next two: where they overlap one of them is cut, and what is left of it stands in line again."""
    line = list(batches)
    heapify(line)
    while len(line) > 1:
        one = heappop(line)
        other = line[0]
        if one.last < other.first:
            yield one
            continue
        heappop(line)
        for each in _parted(one, other):
            heappush(line, each)
    yield from line


def _parted(one: StateBatch, other: StateBatch) -> Iterable[StateBatch]:
    """The same said of two ranges without an overlap; `one` begins first."""
    if one.rank >= other.rank:
        yield one
        if other.last > one.last:
            yield other._replace(first=one.last + 1)
        return
    yield other
    if one.first < other.first:
        yield one._replace(last=other.first - 1)
    if one.last > other.last:
        yield one._replace(first=other.last + 1)


def _joined(batches: Iterable[StateBatch]) -> Iterable[StateBatch]:
    held: StateBatch | None = None
    for each in batches:
        if held is not None and held.last + 1 == each.first and held.rank == each.rank:
            held = held._replace(last=each.last)
            continue
        if held is not None:
            yield held
        held = each
    if held is not None:
        yield held
