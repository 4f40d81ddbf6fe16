"""Batches that lie, told to Kafka and to both kinds of validation. With `records` all is refused that Kafka refuses,
and what is decided differently stands in a table; `header` refuses what the header alone can refute."""

from __future__ import annotations

from typing import Final, NamedTuple

import pytest

from tests.conformance.beside_kafka.lies import LIES
from tests.conformance.beside_kafka.side import Side, Sides
from tests.conformance.beside_kafka.test_produce import produce

pytestmark = [pytest.mark.java, pytest.mark.slow]

TAKEN, FAILED, INVALID_RECORD, INVALID_TIMESTAMP = 0, -1, 87, 32
CODECS: Final = ("gzip", "snappy", "lz4", "zstd")


class Difference(NamedTuple):
    """What Kafka and `penstock.batch.validation=records` say of some batches."""

    kafka: int
    ours: int
    cases: tuple[str, ...]


def _each(cases: tuple[str, ...], ends: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{case}{end}" for case in cases for end in ends)


DIFFERENT: Final = {
    "Kafka fails without a code where it cannot unpack": Difference(
        FAILED,
        INVALID_RECORD,
        (
            *_each(
                ("garbage stream", "no stream at all", "stream of another codec", "stream cut by a byte"),
                tuple(f", {codec}" for codec in CODECS),
            ),
            *(f"stream cut in half, {codec}" for codec in CODECS),
            *(f"empty stream, {codec}" for codec in ("gzip", "snappy", "lz4")),
            *(f"stream, then bytes, {codec}" for codec in ("snappy", "zstd")),
        ),
    ),
    "Kafka ends reading where the first stream ends": Difference(
        TAKEN, INVALID_RECORD, ("stream, then bytes, gzip", "stream, then bytes, lz4", "stream, then another, lz4")
    ),
    "Kafka fails where a size does not end": Difference(FAILED, INVALID_RECORD, ("record of endless size",)),
    "for Kafka any negative size is null": Difference(
        TAKEN,
        INVALID_RECORD,
        _each(
            ("key of -2 bytes", "value of -2 bytes", "value of -2^31 bytes", "header value of -2 bytes"), ("", ", gzip")
        ),
    ),
    "Kafka does not look at offsets": Difference(
        TAKEN, INVALID_RECORD, ("first offset is 1", "offsets fall", "offsets are the same", "offset of -1")
    ),
    "Kafka fails at the offsets of packed records": Difference(
        FAILED,
        INVALID_RECORD,
        _each(("first offset is 1", "offsets fall", "offsets are the same", "offset of -1"), (", gzip",)),
    ),
    "Kafka does not look at the size of a packed record": Difference(
        TAKEN,
        INVALID_RECORD,
        _each(
            (
                "record longer than the batch",
                "record of 2^31-1 bytes",
                "record of -1 bytes",
                "record of 0 bytes",
                "record shorter than its fields",
            ),
            (", gzip",),
        ),
    ),
    "Kafka repairs a largest time, however little it is one": Difference(
        TAKEN, INVALID_TIMESTAMP, _each(("largest time -2^63", "largest time 2^63-1"), ("", ", gzip"))
    ),
}
# All that `header` refuses, with the code that `records` has for it.
REFUTED: Final = {
    "2 said, 1 there",
    "nothing",
    "1000 for 1",
    "2^31-1 for 1",
    "2^31-1 for 1, gzip",
    *_each(("count against last offset", "last offset of 2^31-1"), ("", ", gzip")),
    *_each(("base time -2^63", "base time 2^63-1", "all times -2^63"), ("", ", gzip")),
    *_each(("largest time -2^63", "largest time 2^63-1"), ("", ", gzip")),
    *(f"empty stream, {codec}" for codec in CODECS),
}


def said(side: Side, topic: str) -> dict[str, int]:
    """The code of each batch."""
    return {
        name: side.ask("Produce", 9, **produce(data, topic))["responses"][0]["partition_responses"][0]["error_code"]
        for name, data in LIES.items()
    }


def test_batches_that_lie(sides: Sides) -> None:
    sides.kafka.create("lies")
    sides.ours.create("lies")
    sides.ours.create("lies-read", penstock_batch_validation="records")
    kafka, records, header = said(sides.kafka, "lies"), said(sides.ours, "lies-read"), said(sides.ours, "lies")
    # The two are compared by other tests, which find the same topics in both.
    sides.ours.ask("DeleteTopics", 5, topic_names=["lies-read"], timeout_ms=10_000)
    named = {case: each for each in DIFFERENT.values() for case in each.cases}
    assert {name: (kafka[name], records[name]) for name in LIES if kafka[name] != records[name]} == {
        case: (each.kafka, each.ours) for case, each in named.items()
    }
    assert {name for name in LIES if kafka[name] != TAKEN == records[name]} == set()
    assert header == {name: code if name in REFUTED else TAKEN for name, code in records.items()}
