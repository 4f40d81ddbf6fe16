"""The columnar decoder against the plain reader of `core.records`, which is slow and obvious."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from penstock.client.batches import AbortedFilter, read_batches
from penstock.core.base.ports import Buffer
from penstock.core.records.batch import BatchHeader, iterate_headers, read_header
from penstock.core.records.build import build_batch, rebuild, seal
from penstock.core.records.codecs import DECOMPRESSED_BYTES_MAX, Codec
from penstock.core.records.control import EndTransaction, build_end_transaction
from penstock.core.records.errors import CorruptBatch
from penstock.core.records.record import keys_of, read_body
from penstock.core.wire.api.fetch import AbortedTransaction
from penstock.spark.rows.decode import Cut, decode, stretches
from penstock.spark.rows.schema import schema_of
from penstock.spark.rows.tasks import COLUMNS
from tests.robustness.bombs import MEGABYTE, bomb, heap, holds_at_most

EVERYTHING = 1 << 62
BEYOND_SPARK = -2
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMES = st.integers(-1, 4_000_000_000_000)

blobs = st.one_of(st.none(), st.binary(max_size=200), st.binary(min_size=60, max_size=70))
records = st.tuples(
    blobs,
    blobs,
    st.lists(st.tuples(st.text(max_size=70), st.none() | st.binary(max_size=70)), max_size=3),
    TIMES,
)


@st.composite
def stored_batches(draw: st.DrawFn, base_offset: int) -> bytes:
    """One batch as a log may hold it: under any codec, with any stamp, whole or compacted."""
    batch = build_batch(
        draw(st.lists(records, min_size=1, max_size=20)),
        base_offset=base_offset,
        codec=draw(st.sampled_from(Codec)),
        log_append_time=draw(st.none() | TIMES),
    )
    if draw(st.booleans()):
        return bytes(batch)
    header = read_header(batch)
    kept = [span for span in keys_of(batch) if draw(st.booleans())]
    return bytes(rebuild(header, read_body(batch, 0, header), kept))


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Some batches in a row, with gaps between them where others were removed."""
    blob, offset = b"", draw(st.integers(0, 5))
    for _ in range(draw(st.integers(0, 5))):
        blob += draw(stored_batches(offset))
        offset = last_header(blob).next_offset + draw(st.integers(0, 3))
    return blob


def last_header(blob: bytes) -> BatchHeader:
    return list(iterate_headers(blob))[-1][1]


def rows_of(
    blob: bytes,
    first: int = 0,
    end: int = EVERYTHING,
    columns: Sequence[str] = COLUMNS,
    aborted: Iterable[AbortedTransaction] = (),
    rows: int = 1000,
) -> list[dict[str, Any]]:
    hidden = AbortedFilter(aborted)
    batches = [(at, header) for at, header in iterate_headers(blob) if not hidden.hides(blob, at, header)]
    cut = Cut("topic", 7, first, end, tuple(columns))
    decoded = [decode(stretch, cut) for stretch in stretches(blob, batches, rows)]
    for batch in decoded:
        batch.validate(full=True)
    return pa.Table.from_batches(decoded, schema_of(columns)).to_pylist()


def expected(
    blob: bytes, first: int = 0, end: int = EVERYTHING, aborted: Iterable[AbortedTransaction] = ()
) -> list[dict[str, Any]]:
    found, _ = read_batches(blob, first, end, aborted)
    stamped = {
        offset: int(header.is_log_append_time)
        for _, header in iterate_headers(blob)
        for offset in range(header.base_offset, header.next_offset)
    }
    return [
        {
            "key": record.key,
            "value": record.value,
            "topic": "topic",
            "partition": 7,
            "offset": record.offset,
            "timestamp": EPOCH + timedelta(milliseconds=record.timestamp),
            "timestampType": stamped[record.offset],
            "headers": [{"key": key, "value": value} for key, value in record.headers] or None,
        }
        for record in found
    ]


@given(logs(), st.integers(1, 30))
def test_every_row_is_what_the_plain_reader_reads(blob: bytes, rows: int) -> None:
    assert rows_of(blob, rows=rows) == expected(blob)


@given(logs(), st.integers(0, 60), st.integers(0, 60))
def test_a_range_is_cut_inside_its_batches(blob: bytes, first: int, length: int) -> None:
    assert rows_of(blob, first, first + length) == expected(blob, first, first + length)


@given(logs(), st.permutations(COLUMNS).flatmap(lambda names: st.integers(1, 8).map(lambda count: names[:count])))
def test_only_the_columns_that_are_asked_for_in_their_order(blob: bytes, columns: list[str]) -> None:
    wanted = [{name: row[name] for name in columns} for row in expected(blob)]
    got = rows_of(blob, columns=columns)
    assert got == wanted
    assert all(list(row) == columns for row in got)


@given(stored_batches(3), st.data())
def test_a_body_that_lies_is_refused_wherever_the_plain_reader_refuses_it(batch: bytes, data: st.DataObject) -> None:
    """The checksum fits: this is a producer's bug, not a disk's."""
    header = read_header(batch)
    body = bytearray(read_body(batch, 0, header))
    for at in data.draw(st.lists(st.integers(0, max(len(body) - 1, 0)), min_size=1, max_size=3)):
        if body:
            body[at] = data.draw(st.integers(0, 255))
    planted = bytes(seal(header, body))
    refused_at = offset_of_refusal(planted)
    if refused_at is None:
        assert rows_of(planted) == expected(planted)
        return
    with pytest.raises(CorruptBatch) as caught:
        rows_of(planted)
    assert refused_at in (caught.value.offset, BEYOND_SPARK)


def offset_of_refusal(blob: bytes) -> int | None:
    """Where the plain reader stops, if it does."""
    try:
        expected(blob)
    except CorruptBatch as refusal:
        return refusal.offset
    except OverflowError:
        return BEYOND_SPARK
    return None


@pytest.mark.parametrize("change", [-1, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_a_count_that_lies_never_gives_fewer_rows(codec: Codec, change: int) -> None:
    batch = build_batch([(b"k", b"v" * 50, (), 5)] * 4, base_offset=10, codec=codec)
    header = read_header(batch)
    lying = header._replace(count=header.count + change, last_offset_delta=header.last_offset_delta + 1)
    planted = bytes(seal(lying, read_body(batch, 0, header)))
    with pytest.raises(CorruptBatch, match=r"at offset 1[0-3]"):
        rows_of(planted, columns=("value",))


def test_a_flipped_bit_on_the_way_is_named_by_its_offset() -> None:
    blob = bytearray(build_batch([(b"k", b"value", (), 5)] * 3, base_offset=40))
    blob[-4] ^= 1
    with pytest.raises(CorruptBatch, match="at offset 40"):
        rows_of(bytes(blob))


def test_header_keys_that_are_not_utf8_show_replacement_characters() -> None:
    batch = bytes(build_batch([(b"k", b"v", [("name", b"x"), ("other", None)], 5)]))
    header = read_header(batch)
    planted = bytes(seal(header, read_body(batch, 0, header).replace(b"name", b"n\xffme")))
    assert rows_of(planted)[0]["headers"] == [{"key": "n\ufffdme", "value": b"x"}, {"key": "other", "value": None}]


def test_a_time_that_spark_cannot_hold_is_named() -> None:
    blob = bytes(build_batch([(b"k", b"v", (), 5), (b"k", b"v", (), 1 << 60)], base_offset=8))
    with pytest.raises(CorruptBatch, match="at offset 9: Spark has no timestamp"):
        rows_of(blob)
    assert len(rows_of(blob, columns=("value",))) == 2


def test_large_records_make_short_batches() -> None:
    blob = b"".join(build_batch([(None, bytes(1 << 20), (), 5)], base_offset=offset) for offset in range(40))
    sizes = [len(stretch.headers) for stretch in stretches(blob, iterate_headers(blob), 50_000)]
    assert sizes == [16, 16, 8]


@given(st.data())
def test_aborted_transactions_and_marks_do_not_show(data: st.DataObject) -> None:
    blob, aborted = interleaved_transactions(data)
    assert rows_of(blob, aborted=aborted) == expected(blob, aborted=aborted)
    assert rows_of(blob) == expected(blob)


def interleaved_transactions(data: st.DataObject) -> tuple[bytes, list[AbortedTransaction]]:
    """Batches of two producers with a transaction each at a time, and of one without."""
    blob, offset = b"", 0
    open_since: dict[int, int] = {}
    aborted = []
    for producer_id, ends in data.draw(st.lists(st.tuples(st.integers(1, 3), st.booleans()), max_size=12)):
        if ends and producer_id in open_since:
            first, committed = open_since.pop(producer_id), data.draw(st.booleans())
            if not committed:
                aborted.append(AbortedTransaction(producer_id=producer_id, first_offset=first))
            batch = build_end_transaction(EndTransaction(committed, 0), producer_id, 0, 5, base_offset=offset)
        else:
            transactional = producer_id != 3
            if transactional:
                open_since.setdefault(producer_id, offset)
            some = data.draw(st.lists(records, min_size=1, max_size=3))
            batch = build_batch(
                some,
                base_offset=offset,
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=0,
                transactional=transactional,
            )
        blob += batch
        offset = last_header(blob).next_offset
    return blob, aborted


def test_the_types_are_those_of_sparks_own_source() -> None:
    header = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
    columns = {
        "key": BinaryType(),
        "value": BinaryType(),
        "topic": StringType(),
        "partition": IntegerType(),
        "offset": LongType(),
        "timestamp": TimestampType(),
        "timestampType": IntegerType(),
        "headers": ArrayType(header),
    }
    assert tuple(columns) == COLUMNS
    spark = StructType([StructField(name, kind) for name, kind in columns.items()])
    assert to_arrow_schema(spark, timezone="UTC").equals(schema_of(COLUMNS))


@pytest.mark.parametrize(
    "wrap", [bytes, bytearray, memoryview, lambda blob: memoryview(b"frame" + blob + b"end")[5:-3]]
)
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_a_blob_may_be_a_part_of_something_larger(codec: Codec, wrap: Callable[[bytes], Buffer]) -> None:
    blob = b"".join(build_batch([(b"k", b"v%d" % n, (), 1)], base_offset=n, codec=codec) for n in range(3))
    (stretch,) = stretches(wrap(blob), iterate_headers(blob), 100)
    assert decode(stretch, Cut("t", 0, 0, 9, ("value",))).column("value").to_pylist() == [b"v0", b"v1", b"v2"]


def test_a_stretch_ends_with_enough_rows() -> None:
    def batches() -> Iterator[bytes]:
        for number in range(5):
            yield bytes(build_batch([(None, b"v", (), 1)] * 10, base_offset=10 * number, codec=Codec(number)))

    blob = b"".join(batches())
    assert [len(stretch.headers) for stretch in stretches(blob, iterate_headers(blob), 20)] == [2, 2, 1]


def test_a_bomb_is_named_and_not_unpacked() -> None:
    with holds_at_most(2 * DECOMPRESSED_BYTES_MAX + 16 * MEGABYTE), pytest.raises(CorruptBatch, match="at offset 0"):
        rows_of(bomb())


def test_a_heap_of_bombs_is_decoded_stretch_by_stretch() -> None:
    size, count = 8 * MEGABYTE, 40
    blob = heap(count, size)
    cut = Cut("topic", 7, 0, EVERYTHING, COLUMNS)
    with holds_at_most(8 * size):
        seen = sum(decode(each, cut).num_rows for each in stretches(blob, iterate_headers(blob), 1000))
    assert seen == count
