"""Filters that save reading: bounds on topic, partition, offset and time become bounds on the ranges.

Every filter is still evaluated by Spark; a range only leaves out what cannot pass. From below, a time is a seek:
nothing before the first offset at or after it can be so late. From above it is none, because producers set times and a
late record may follow an early one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from penstock.client.offsets import NO_OFFSET
from penstock.spark.source.places import OFFSET_MAX, Offsets
from penstock.spark.source.planning import OffsetRange

T = TypeVar("T")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Bounds:
    """What a record must be to pass, as far as ranges can tell. None: no bound."""

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    first: int = 0
    end: int = OFFSET_MAX
    since_ms: int | None = None


def bounds_of(filters: Iterable[Filter]) -> Bounds:
    """All filters hold at once; those that say nothing about a range are passed over."""
    bounds = Bounds()
    for one in filters:
        attribute = getattr(one, "attribute", ())
        if attribute == ("topic",):
            bounds = replace(bounds, topics=_both(bounds.topics, _values(one, str)))
        elif attribute == ("partition",):
            bounds = replace(bounds, partitions=_both(bounds.partitions, _values(one, int)))
        elif attribute == ("offset",):
            bounds = _with_offset(bounds, one)
        elif attribute == ("timestamp",):
            bounds = _with_time(bounds, one)
    return bounds


def narrowed(ranges: Sequence[OffsetRange], bounds: Bounds, first_since: Offsets) -> list[OffsetRange]:
    """The ranges within the bounds; `first_since` answers `since_ms` for each partition, if it is set."""
    return [
        OffsetRange(part.where, max(part.start, bounds.first, _since(part, first_since)), min(part.end, bounds.end))
        for part in ranges
        if (bounds.topics is None or part.where.topic in bounds.topics)
        and (bounds.partitions is None or part.where.partition in bounds.partitions)
    ]


def _since(part: OffsetRange, first_since: Offsets) -> int:
    found = first_since.get(part.where, part.start)
    return part.end if found == NO_OFFSET else found


def _values(one: Filter, kind: type[T]) -> frozenset[T] | None:
    match one:
        case EqualTo(_, value) | EqualNullSafe(_, value) if isinstance(value, kind):
            return frozenset({value})
        case In(_, values) if all(isinstance(value, kind) for value in values):
            return frozenset(values)
    return None


def _both(some: frozenset[T] | None, others: frozenset[T] | None) -> frozenset[T] | None:
    if some is None or others is None:
        return others if some is None else some
    return some & others


def _with_offset(bounds: Bounds, one: Filter) -> Bounds:
    if wanted := _values(one, int):
        return replace(bounds, first=max(bounds.first, min(wanted)), end=min(bounds.end, max(wanted) + 1))
    match one:
        case GreaterThanOrEqual(_, int(value)):
            return replace(bounds, first=max(bounds.first, value))
        case GreaterThan(_, int(value)):
            return replace(bounds, first=max(bounds.first, value + 1))
        case LessThan(_, int(value)):
            return replace(bounds, end=min(bounds.end, value))
        case LessThanOrEqual(_, int(value)):
            return replace(bounds, end=min(bounds.end, value + 1))
    return bounds


def _with_time(bounds: Bounds, one: Filter) -> Bounds:
    """Spark compares microseconds, records carry milliseconds."""
    match one:
        case GreaterThanOrEqual(_, datetime() as moment) | EqualTo(_, datetime() as moment) if moment.tzinfo:
            since_ms = math.ceil(_microseconds(moment) / 1000)
        case GreaterThan(_, datetime() as moment) if moment.tzinfo:
            since_ms = _microseconds(moment) // 1000 + 1
        case _:
            return bounds
    # Before 1970 there is nothing to leave out, and brokers read negative times as something else.
    return bounds if since_ms <= (bounds.since_ms or 0) else replace(bounds, since_ms=since_ms)


def _microseconds(moment: datetime) -> int:
    # Not through float seconds, which are not exact to the microsecond.
    return (moment - _EPOCH) // timedelta(microseconds=1)
