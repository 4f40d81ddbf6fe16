"""Records to rows without Spark: rows out + dead letters = records in, with exact reasons."""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as t

from penstock.core.delivery.policy import GiveUp, RetryPolicy
from penstock.spark.pipelines import Json, PerRecord, Record
from penstock.spark.pipelines.decoding import DeadLetter, RowDecoder, Undecodable, decode_batches, json_object
from tests.spark.pipelines.poison import DECODE, order, poisons

ITEM = t.StructType([t.StructField("name", t.StringType()), t.StructField("count", t.IntegerType())])
FIELDS = t.StructType(
    [
        t.StructField("order_id", t.StringType(), False),
        t.StructField("total", t.DoubleType()),
        t.StructField("items", t.ArrayType(ITEM)),
        t.StructField("placed_at", t.TimestampType()),
    ]
)
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
RAW = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("headers", HEADERS),
    ]
)


def raw(values: Sequence[bytes | None], first: int = 0) -> pa.RecordBatch:
    rows = [
        {
            "key": b"k",
            "value": value,
            "topic": "orders",
            "partition": 3,
            "offset": first + index,
            "timestamp": (1_700_000_000_000 + index) * 1000,
            "headers": [{"key": "h", "value": b"1"}] if index % 2 else None,
        }
        for index, value in enumerate(values)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=RAW)


def decoded(
    batches: Iterable[pa.RecordBatch], decode: Json | PerRecord = DECODE, fields: t.StructType = FIELDS
) -> tuple[list[dict[str, Any]], list[DeadLetter]]:
    letters: list[DeadLetter] = []
    decoder = RowDecoder(decode, fields, pause=lambda _: None, chance=lambda: 1.0)
    rows = [row for batch in decode_batches(batches, decoder, letters.extend) for row in batch.to_pylist()]
    return rows, letters


def test_rows_carry_their_origin() -> None:
    rows, letters = decoded([raw([order(8)], first=41)])

    assert not letters
    assert rows[0]["order_id"] == "order-8"
    assert rows[0]["items"] == [{"name": "tea", "count": 1}]
    origin = {name: rows[0][name] for name in ("_key", "_topic", "_partition", "_offset")}
    assert origin == {"_key": b"k", "_topic": "orders", "_partition": 3, "_offset": 41}
    assert rows[0]["_timestamp"].timestamp() == 1_700_000_000


@pytest.mark.parametrize("kind", range(12))
def test_every_kind_of_poison_has_its_reason(kind: int) -> None:
    poison = poisons(5)[kind]
    rows, letters = decoded([raw([order(1), poison.value, order(2)])])

    assert [row["_offset"] for row in rows] == [0, 2]
    (letter,) = letters
    assert letter.reason == GiveUp(1, poison.error_class, poison.message)
    assert letter.record == Record(b"k", poison.value, (("h", b"1"),), "orders", 3, 1, 1_700_000_000_001)


@given(
    st.lists(
        st.one_of(
            st.none(),
            st.binary(max_size=40),
            st.integers(0, 99).map(order),
            st.tuples(st.integers(0, 99), st.integers(0, 11)).map(lambda pair: poisons(pair[0])[pair[1]].value),
        ),
        max_size=20,
    )
)
def test_nothing_is_lost_and_nothing_is_doubled(values: list[bytes | None]) -> None:
    half = len(values) // 2
    rows, letters = decoded([raw(values[:half]), raw(values[half:], first=half)])

    offsets = [row["_offset"] for row in rows] + [letter.record.offset for letter in letters]
    assert sorted(offsets) == list(range(len(values)))


def test_dead_letters_are_safe_before_their_rows_go_on() -> None:
    events: list[str] = []
    decoder = RowDecoder(DECODE, FIELDS)
    batches = decode_batches([raw([b"", order(1)])], decoder, lambda letters: events.append(f"buried {len(letters)}"))
    events.append(f"rows {next(batches).num_rows}")

    assert events == ["buried 1", "rows 1"]


def test_a_burial_that_fails_fails_the_task() -> None:
    def fail(_: Sequence[DeadLetter]) -> None:
        raise ConnectionError("nobody there")

    with pytest.raises(ConnectionError):
        list(decode_batches([raw([b""])], RowDecoder(DECODE, FIELDS), fail))


def test_what_may_pass_is_tried_again() -> None:
    calls: list[int] = []
    pauses: list[float] = []

    def flaky(record: Record) -> dict[str, Any]:
        calls.append(record.offset)
        if record.offset == 0 and len(calls) < 3:
            raise TimeoutError("not yet")
        if record.offset == 1:
            raise TimeoutError("never")
        return {"order_id": "x"}

    policy = RetryPolicy(attempts_max=3, pause_ms_first=10)
    decoder = RowDecoder(PerRecord(flaky, FIELDS, policy), FIELDS, pause=pauses.append, chance=lambda: 1.0)
    letters: list[DeadLetter] = []
    (batch,) = decode_batches([raw([b"", b"", b""])], decoder, letters.extend)

    assert calls == [0, 0, 0, 1, 1, 1, 2]
    assert pauses == [0.01, 0.02, 0.01, 0.02]
    assert batch.column("_offset").to_pylist() == [0, 2]
    assert [letter.reason for letter in letters] == [GiveUp(3, "TimeoutError", "never")]


def test_a_function_sees_the_whole_record_and_its_result_is_checked() -> None:
    def function(record: Record) -> Any:
        return {"order_id": record.headers[0][1]} if record.headers else {"order_id": str(record.timestamp)}

    rows, letters = decoded([raw([None, None])], PerRecord(function, FIELDS))

    assert [row["order_id"] for row in rows] == ["1700000000000"]
    assert letters[0].reason.message == "order_id: expected string, found bytes"


def test_a_batch_without_a_good_record_still_has_its_columns() -> None:
    letters: list[DeadLetter] = []
    (batch,) = decode_batches([raw([b""])], RowDecoder(DECODE, FIELDS), letters.extend)

    assert batch.num_rows == 0
    assert batch.schema.names[:4] == FIELDS.names


def test_a_number_of_thousands_of_digits_is_not_read() -> None:
    with pytest.raises(Undecodable, match="not JSON: Exceeds the limit"):
        json_object(b'{"n": ' + b"9" * 10_000 + b"}")
