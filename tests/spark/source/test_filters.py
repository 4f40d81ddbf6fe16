"""Filters as bounds of ranges: never narrower than what could pass."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from penstock.client.metadata import TopicPartition
from penstock.client.offsets import NO_OFFSET
from penstock.spark.source.filters import Bounds, bounds_of, narrowed
from penstock.spark.source.planning import OffsetRange

OFFSET, TIME, TOPIC, PARTITION = ("offset",), ("timestamp",), ("topic",), ("partition",)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOON_MS = int(NOON.timestamp()) * 1000
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


@pytest.mark.parametrize(
    ("given", "bounds"),
    [
        ([], Bounds()),
        ([GreaterThanOrEqual(OFFSET, 5), LessThan(OFFSET, 9)], Bounds(first=5, end=9)),
        ([GreaterThan(OFFSET, 5), LessThanOrEqual(OFFSET, 9)], Bounds(first=6, end=10)),
        ([EqualTo(OFFSET, 7)], Bounds(first=7, end=8)),
        ([In(OFFSET, (7, 3, 5))], Bounds(first=3, end=8)),
        ([EqualTo(OFFSET, 7), GreaterThan(OFFSET, 2)], Bounds(first=7, end=8)),
        ([EqualTo(TOPIC, "a")], Bounds(topics=frozenset({"a"}))),
        ([In(TOPIC, ("a", "b")), EqualNullSafe(TOPIC, "b")], Bounds(topics=frozenset({"b"}))),
        ([In(PARTITION, (0, 3))], Bounds(partitions=frozenset({0, 3}))),
        ([GreaterThanOrEqual(TIME, NOON)], Bounds(since_ms=NOON_MS)),
        ([GreaterThan(TIME, NOON)], Bounds(since_ms=NOON_MS + 1)),
        ([EqualTo(TIME, NOON)], Bounds(since_ms=NOON_MS)),
        ([GreaterThanOrEqual(TIME, NOON + timedelta(microseconds=1))], Bounds(since_ms=NOON_MS + 1)),
        ([GreaterThan(TIME, NOON + timedelta(microseconds=999))], Bounds(since_ms=NOON_MS + 1)),
        ([GreaterThanOrEqual(TIME, NOON.astimezone(timezone(timedelta(hours=5))))], Bounds(since_ms=NOON_MS)),
        ([GreaterThanOrEqual(TIME, NOON), GreaterThan(TIME, NOON - timedelta(hours=1))], Bounds(since_ms=NOON_MS)),
        # These say nothing about a range, or nothing that is safe to use.
        ([LessThan(TIME, NOON)], Bounds()),
        ([GreaterThanOrEqual(TIME, datetime(1969, 12, 31, 23, 59, 59, 998_500, tzinfo=UTC))], Bounds()),
        ([GreaterThanOrEqual(TIME, NOON.replace(tzinfo=None))], Bounds()),
        ([Not(EqualTo(OFFSET, 7)), IsNotNull(OFFSET), StringStartsWith(TOPIC, "a")], Bounds()),
        ([EqualTo(("value",), b"x"), EqualTo(OFFSET, None)], Bounds()),
        ([GreaterThan(PARTITION, 1)], Bounds()),
    ],
)
def test_bounds(given: list[Filter], bounds: Bounds) -> None:
    assert bounds_of(given) == bounds


def test_ranges_keep_to_the_bounds() -> None:
    ranges = [OffsetRange(A0, 0, 10), OffsetRange(A1, 4, 6), OffsetRange(B0, 0, 10)]
    bounds = Bounds(topics=frozenset({"a"}), first=5, end=9)
    assert narrowed(ranges, bounds, {}) == [OffsetRange(A0, 5, 9), OffsetRange(A1, 5, 6)]
    assert narrowed(ranges, Bounds(partitions=frozenset({1})), {}) == [OffsetRange(A1, 4, 6)]


def test_a_time_is_a_seek_and_nothing_so_late_is_an_empty_range() -> None:
    ranges = [OffsetRange(A0, 0, 10), OffsetRange(A1, 4, 6), OffsetRange(B0, 3, 10)]
    found = {A0: 7, A1: NO_OFFSET, B0: 1}
    assert narrowed(ranges, Bounds(since_ms=1), found) == [
        OffsetRange(A0, 7, 10),
        OffsetRange(A1, 6, 6),
        OffsetRange(B0, 3, 10),
    ]
