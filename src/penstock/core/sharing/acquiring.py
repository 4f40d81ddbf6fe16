"""How much a member gets at once, and how what it gets is told: whole batches of the log, few records that have failed
before, none that was aborted.

A record that spoils whoever processes it takes those with it that are delivered beside it. From half of its deliveries
on, records are given out in halves, and the last time one by one: the good ones are accepted, the bad one is alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from penstock.core.sharing.runs import Run

SUSPECT_DELIVERIES_MIN: Final = 2

Batches = Sequence[tuple[int, int]]
"""(first offset, last offset) of batches of the log, in order."""


class Acquired(NamedTuple):
    """Offsets, both included, and how often they were delivered, this time included."""

    first: int
    last: int
    delivery_count: int


def is_suspect(run: Run, deliveries_max: int) -> bool:
    return run.delivery_count >= max(SUSPECT_DELIVERIES_MIN, (deliveries_max + 1) // 2)


def portion_of(run: Run, deliveries_max: int) -> int:
    """How many of such records are delivered together."""
    if run.delivery_count >= deliveries_max - 1:
        return 1
    return max(1, len(run) // 2)


def whole_batch(batches: Batches, offset: int) -> int:
    """The last offset of the batch that holds an offset, or the offset itself where none does."""
    index = bisect_right(batches, offset, key=lambda batch: batch[0]) - 1
    return max(batches[index][1], offset) if index >= 0 else offset


def merged(acquired: Iterable[Acquired]) -> list[Acquired]:
    """The same, with neighbours that were delivered as often told as one."""
    told: list[Acquired] = []
    for each in acquired:
        if told and told[-1].last + 1 == each.first and told[-1].delivery_count == each.delivery_count:
            told[-1] = told[-1]._replace(last=each.last)
        else:
            told.append(each)
    return told


def split_at_batches(acquired: Iterable[Acquired], batches: Batches, size: int) -> list[Acquired]:
    """The same, cut before a batch of the log where a piece has reached `size`: it is acknowledged piece by piece."""
    told: list[Acquired] = []
    for each in acquired:
        first = each.first
        for begin, _ in batches if len_of(each) > size > 0 else ():
            if each.first < begin <= each.last and begin - first >= size:
                told.append(each._replace(first=first, last=begin - 1))
                first = begin
        told.append(each._replace(first=first))
    return told


def without(acquired: Iterable[Acquired], aborted: Batches) -> list[Acquired]:
    """What is left of it outside these batches."""
    left: list[Acquired] = []
    for each in acquired:
        first = each.first
        for low, high in aborted:
            if high < first or low > each.last:
                continue
            if low > first:
                left.append(each._replace(first=first, last=low - 1))
            first = high + 1
        if first <= each.last:
            left.append(each._replace(first=first))
    return left


def len_of(acquired: Acquired) -> int:
    return acquired.last - acquired.first + 1
