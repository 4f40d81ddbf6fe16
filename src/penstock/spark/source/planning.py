"""From offsets to ranges: how much a batch takes from each partition, and how it is cut into tasks.

Everything here is a function of its arguments, with the arithmetic of Spark's Kafka source, so that a query that
changes its format gets the same batches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from penstock.client.metadata import TopicPartition
from penstock.spark.source.places import OFFSET_MAX, Offsets, listed


class OffsetRange(NamedTuple):
    """Offsets of one partition from `start` to before `end`."""

    where: TopicPartition
    start: int
    end: int

    @property
    def size(self) -> int:
        """Offsets, not records: compaction and transactions leave offsets without one."""
        return self.end - self.start


class Plan(NamedTuple):
    """The ranges of a batch, and in words what cannot be read any more."""

    ranges: list[OffsetRange]
    losses: list[str]


# How much


def share(limit: int, begin: Offsets, latest: Offsets) -> dict[TopicPartition, int]:
    """Where a batch of about `limit` offsets ends: each partition gives in proportion to what it has.

    `begin` knows every partition of `latest` that can be read. A small partition gives at least one offset, lest it
    starve beside large ones, so the sum can pass the limit by as many offsets as there are partitions.
    """
    sizes = {where: end - begin[where] for where, end in latest.items() if where in begin and end > begin[where]}
    total = float(sum(sizes.values()))
    return {
        where: min(end, begin[where] + _part(limit * (sizes[where] / total)), OFFSET_MAX) if where in sizes else end
        for where, end in latest.items()
    }


def _part(portion: float) -> int:
    return math.ceil(portion) if portion < 1 else math.floor(portion)


def offsets_of_bytes(limit_bytes: int, begin: Offsets, latest: Offsets, density: Mapping[TopicPartition, float]) -> int:
    """How many offsets make up so many bytes, given the mean bytes of an offset in each partition. At least one."""
    sizes = {where: max(end - begin.get(where, end), 0) for where, end in latest.items()}
    total_bytes = sum(size * density.get(where, 0.0) for where, size in sizes.items())
    if total_bytes <= limit_bytes:
        return OFFSET_MAX
    return max(1, math.floor(sum(sizes.values()) * (limit_bytes / total_bytes)))


def is_enough(least: int, begin: Offsets, latest: Offsets) -> bool:
    """Whether there are so many new offsets. A partition that was not read yet counts from 0."""
    return sum(end - begin.get(where, 0) for where, end in latest.items()) >= least


# What a batch of a stream reads


def plan_stream(begin: Offsets, end: Offsets, first_of_new: Offsets) -> Plan:
    """The ranges between two offsets of a query. Partitions that are new begin at their first offset."""
    new = end.keys() - begin.keys()
    gone = begin.keys() - end.keys()
    unknown = new - first_of_new.keys()
    losses = [f"the first offsets of {listed(unknown)} cannot be found, they may have been deleted"] if unknown else []
    losses += [
        f"the new partition {where} starts from offset {first_of_new[where]} instead of 0"
        for where in sorted(new & first_of_new.keys())
        if first_of_new[where] != 0
    ]
    if gone:
        losses.append(f"the partitions {listed(gone)} are gone")
    starts = {**begin, **first_of_new}
    ranges = [OffsetRange(where, starts[where], end[where]) for where in sorted(end.keys() - unknown)]
    losses += [
        f"the end of {part.where} went from offset {part.start} back to {part.end}: either the query's first offset "
        "was beyond the end, or the topic was deleted and created again"
        for part in ranges
        if part.size < 0
    ]
    return Plan(ranges, losses)


def plan_batch(start: Offsets, end: Offsets, earliest: Offsets, latest: Offsets) -> Plan:
    """The ranges of a batch query, cut to what the partitions have."""
    ranges, losses = [], []
    for where in sorted(start):
        part = OffsetRange(where, start[where], end[where])
        there = OffsetRange(where, max(part.start, earliest[where]), min(part.end, latest[where]))
        if there != part and part.size > 0:
            losses.append(
                f"{where} was asked for offsets {part.start} to {part.end} and has only {earliest[where]} to "
                f"{latest[where]}"
            )
        ranges.append(there)
    return Plan(ranges, losses)


# How it is cut


def cut(
    ranges: Sequence[OffsetRange], partitions_min: int | None = None, offsets_max: int | None = None
) -> list[OffsetRange]:
    """A task for each range that holds something; large ones in parts of at most `offsets_max`, and then, if that
    gives fewer than `partitions_min` tasks, in proportion to their size until there are about so many."""
    parts = [part for part in ranges if part.size > 0]
    if offsets_max is not None:
        parts = [piece for part in parts for piece in _pieces(part, math.ceil(part.size / offsets_max))]
    if partitions_min is None or len(parts) >= partitions_min:
        return parts
    return _cut_in_proportion(parts, partitions_min)


def _cut_in_proportion(parts: list[OffsetRange], partitions_min: int) -> list[OffsetRange]:
    """Ranges too small to be cut are left out of the proportions, lest the large ones get too few pieces."""
    total = sum(part.size for part in parts)
    whole = [part for part in parts if _count(part.size, total, partitions_min) == 1]
    whole_places = {part.where for part in whole}
    rest_total = total - sum(part.size for part in whole)
    rest_min = max(partitions_min - len(whole), 1)
    return [
        piece
        for part in parts
        for piece in _pieces(part, 1 if part.where in whole_places else _count(part.size, rest_total, rest_min))
    ]


def _count(size: int, total: int, partitions_min: int) -> int:
    return max(math.floor(size / total * partitions_min + 0.5), 1)


def _pieces(part: OffsetRange, count: int) -> list[OffsetRange]:
    """So many pieces of the same size; the last ones take what does not divide."""
    pieces, start, left = [], part.start, part.size
    for index in range(count):
        size = left // (count - index)
        left -= size
        pieces.append(OffsetRange(part.where, start, start + size))
        start += size
    return [piece for piece in pieces if piece.size > 0]
