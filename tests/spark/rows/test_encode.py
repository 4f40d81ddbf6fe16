"""What is encoded by columns is what the plain reader reads, and goes where Java's partitioner would send it."""

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.base.errors import PenstockError
from penstock.core.records.batch import HEADER_BYTES, read_header
from penstock.core.records.build import BatchBuilder
from penstock.core.records.murmur2 import murmur2 as plain_murmur2
from penstock.core.records.murmur2 import partition_for
from penstock.core.records.record import Record, iterate
from penstock.core.records.varint import encode as plain_varint
from penstock.spark.rows.arrays import Binary
from penstock.spark.rows.encode import RECORD_OVERHEAD_BYTES_MAX, Column, Records, batches, encoded_headers
from penstock.spark.rows.partitioning import Partitioner, murmur2
from penstock.spark.rows.schema import HEADERS
from penstock.spark.rows.varints import BYTES_MAX_64, lengths, read_column, write_column

blobs = st.none() | st.binary(max_size=150)
headers = st.none() | st.lists(st.tuples(st.text(max_size=70), blobs), max_size=3)
rows = st.tuples(blobs, blobs, headers, st.integers(0, 4_000_000_000_000))


def records_of(some: list[tuple[Any, ...]]) -> Records:
    listed = [None if row[2] is None else [{"key": key, "value": value} for key, value in row[2]] for row in some]
    return Records(
        Column.of(pa.array([row[0] for row in some], pa.binary())),
        Column.of(pa.array([row[1] for row in some], pa.binary())),
        encoded_headers(pa.array(listed, HEADERS)),
        np.array([row[3] for row in some], np.int64),
    )


def read_back(records: Records, batch_bytes: int) -> list[list[Record]]:
    return [list(iterate(builder.build().joined())) for builder in of_one_partition(records, batch_bytes)]


def of_one_partition(records: Records, batch_bytes: int) -> list[BatchBuilder]:
    (made,) = batches(records, np.array([0, len(records.times)]), batch_bytes)
    return made


@given(st.lists(rows, min_size=1, max_size=30), st.integers(1, 2000))
def test_the_plain_reader_reads_what_was_given(some: list[tuple[Any, ...]], batch_bytes: int) -> None:
    found = [record for batch in read_back(records_of(some), batch_bytes) for record in batch]
    assert [(r.key, r.value, list(r.headers), r.timestamp) for r in found] == [
        (key, value, given_headers or [], timestamp) for key, value, given_headers, timestamp in some
    ]


@given(st.lists(rows, min_size=1, max_size=30), st.integers(1, 2000), st.data())
def test_a_slice_and_a_choice_encode_alike(some: list[tuple[Any, ...]], batch_bytes: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(some) - 1))
    chosen = np.array(data.draw(st.permutations(range(len(some)))))
    records = records_of(some)
    assert read_back(records.slice(first, len(some)), batch_bytes) == read_back(records_of(some[first:]), batch_bytes)
    assert read_back(records.take(chosen), batch_bytes) == read_back(records_of([some[i] for i in chosen]), batch_bytes)


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=40), st.integers(1, 1000))
def test_batches_stay_below_their_size_unless_one_record_is_larger(values: list[bytes], batch_bytes: int) -> None:
    for builder in of_one_partition(records_of([(b"k", value, None, 5) for value in values]), batch_bytes):
        header = read_header(builder.build().joined())
        assert header.count == 1 or header.size - HEADER_BYTES <= batch_bytes


@given(st.lists(rows, min_size=1, max_size=30), st.integers(1, 2000), st.data())
def test_partitions_encoded_together_are_as_if_each_were_alone(
    some: list[tuple[Any, ...]], batch_bytes: int, data: st.DataObject
) -> None:
    inner = data.draw(st.sets(st.integers(1, len(some)), max_size=5))
    groups = sorted({0, *inner, len(some)})
    records = records_of(some)
    together = batches(records, np.array(groups), batch_bytes)
    alone = [of_one_partition(records.slice(first, end), batch_bytes) for first, end in pairwise(groups)]
    assert [[one.build().joined() for one in part] for part in together] == [
        [one.build().joined() for one in part] for part in alone
    ]


def test_batches_are_filled_before_the_next_one_begins() -> None:
    record = (None, bytes(60), None, 5)
    counts = [len(batch) for batch in read_back(records_of([record] * 10), 4 * (60 + RECORD_OVERHEAD_BYTES_MAX))]
    assert counts == [4, 4, 2]


def test_a_batch_says_its_own_times() -> None:
    (builder,) = of_one_partition(records_of([(None, b"v", None, time) for time in (50, 90, 20)]), 10_000)
    header = read_header(builder.build().joined())
    assert (header.base_timestamp, header.max_timestamp) == (50, 90)


def test_a_header_without_a_key_is_refused() -> None:
    with pytest.raises(PenstockError, match="header has no key"):
        encoded_headers(pa.array([[{"key": None, "value": b"x"}]], HEADERS))


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1, max_size=20))
def test_varints_by_columns_are_the_plain_ones(numbers: list[int]) -> None:
    check_varints(numbers)
    check_varints(numbers[:1] * len(numbers))


def check_varints(numbers: list[int]) -> None:
    column = np.array(numbers, np.int64)
    sizes = lengths(column)
    assert sizes.tolist() == [len(plain_varint(number)) for number in numbers]
    starts = np.cumsum(sizes) - sizes
    out = np.zeros(int(sizes.sum()), np.uint8)
    assert write_column(out, starts, column).tolist() == (starts + sizes).tolist()
    assert out.tobytes() == b"".join(plain_varint(number) for number in numbers)
    found, after = read_column(out, starts, BYTES_MAX_64)
    assert (found.tolist(), after.tolist()) == (numbers, (starts + sizes).tolist())


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=20), st.integers(0, 5))
def test_hashes_are_those_of_the_plain_function(keys: list[bytes], skipped: int) -> None:
    column = pa.array(keys, pa.binary())[skipped:]
    assert murmur2(Binary.of(column)).tolist() == [plain_murmur2(key) for key in keys[skipped:]]


def choices(*numbers: int) -> Any:
    left = list(numbers)
    return lambda count: left.pop(0) % count


def placed(partitioner: Partitioner, keys: list[bytes | None], named: list[int | None] | None = None) -> list[int]:
    column = None if named is None else pa.array(named, pa.int32())
    cells = Binary.of(pa.array(keys, pa.binary()))
    return partitioner.partitions(cells, column, np.full(len(keys), 100)).tolist()


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=20), st.integers(1, 50))
def test_a_key_goes_where_java_sends_it(keys: list[bytes], count: int) -> None:
    assert placed(Partitioner("t", count, 1000), list(keys)) == [partition_for(key, count) for key in keys]


def test_a_named_partition_wins_over_the_key() -> None:
    partitioner = Partitioner("t", 8, 1000, choices(5))
    assert placed(partitioner, [b"a", b"a", None, None], [7, None, 3, None]) == [7, partition_for(b"a", 8), 3, 5]


@pytest.mark.parametrize("number", [-1, 4])
def test_a_partition_that_is_not_there_is_named(number: int) -> None:
    with pytest.raises(PenstockError, match=f"names partition {number}, and topic t has partitions 0 to 3"):
        placed(Partitioner("t", 4, 1000), [b"a"], [number])


def test_rows_without_a_key_move_on_after_a_batch() -> None:
    partitioner = Partitioner("t", 9, 300, choices(1, 2, 3))
    assert placed(partitioner, [None] * 2) == [1, 1]
    assert placed(partitioner, [None, b"key", None, None, None, None]) == [1, partition_for(b"key", 9), 2, 2, 2, 3]
