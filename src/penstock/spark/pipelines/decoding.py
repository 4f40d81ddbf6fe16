"""From raw records to rows, on the executors: each record decodes, or becomes a dead letter with its reason.

`decode_batches` is what Spark's `mapInArrow` runs. The dead letters of a batch are acknowledged before its rows are
given on, so that no batch completes whose bad records are not safe.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, Protocol

import pyarrow as pa

from penstock.core.delivery.policy import GiveUp, RetryPolicy, decide
from penstock.spark.pipelines.declaration import ORIGIN_COLUMNS, Json, PerRecord, Record
from penstock.spark.pipelines.shapes import Shape, row_shape

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

# What is read of each record: everything that a dead letter repeats.
RAW_COLUMNS: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "headers")
_MS_PER_US: Final = 1000


class Undecodable(ValueError):
    """The bytes are not what they should be."""


class DeadLetter(NamedTuple):
    """A record that could not be decoded, and why."""

    record: Record
    reason: GiveUp


Decoder = Callable[[Record], dict[str, Any]]


def decoder_of(decode: Json | PerRecord, shape: Shape) -> Decoder:
    """The function that gives a record's checked fields, or raises."""
    fit = shape.fit
    if isinstance(decode, PerRecord):
        function = decode.function
        return lambda record: fit(function(record), "")
    then = decode.then
    if then is None:
        return lambda record: fit(json_object(record.value), "")
    # It is handed what has the declared types, and what it gives must have them too.
    return lambda record: fit(then(fit(json_object(record.value), "")), "")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


# `json.loads` with an argument would make one of these for every record.
_JSON: Final = json.JSONDecoder(parse_constant=_no_constant)


def json_object(value: bytes | None) -> dict[str, Any]:
    """The JSON object that a value is; strictly, so that what one reader takes no other refuses."""
    if value is None:
        raise Undecodable("the value is null")
    try:
        text = value.decode()
    except UnicodeDecodeError as failure:
        raise Undecodable(f"not UTF-8: {failure.reason} at byte {failure.start}") from None
    try:
        found = _JSON.decode(text)
    except json.JSONDecodeError as failure:
        raise Undecodable(f"not JSON: {failure}") from None
    except RecursionError:
        raise Undecodable("not JSON: nested too deeply") from None
    except ValueError as failure:
        # Python refuses to read a number with thousands of digits.
        raise Undecodable(f"not JSON: {failure}") from None
    if type(found) is not dict:
        raise Undecodable("not a JSON object")
    return found


class BatchDecoder(Protocol):
    """Rows of the records that can be read, and the others."""

    def batch(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, list[DeadLetter]]: ...


class RowDecoder:
    """Decodes records one by one, trying again what may pass."""

    def __init__(
        self,
        decode: Json | PerRecord,
        schema: StructType,
        pause: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.shape: Shape = row_shape(schema)
        self._decoder = decoder_of(decode, self.shape)
        self._policy: RetryPolicy = decode.retries
        self._pause = pause
        self._chance = chance

    def batch(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, list[DeadLetter]]:
        kept: list[int] = []
        rows: list[dict[str, Any]] = []
        letters: list[DeadLetter] = []
        for index, record in enumerate(records_of(batch)):
            row = self.row(record)
            if isinstance(row, DeadLetter):
                letters.append(row)
            else:
                kept.append(index)
                rows.append(row)
        columns = {each.name: pa.array([row[each.name] for row in rows], each.type) for each in self.shape.arrow}
        return with_origin(columns, batch, kept), letters

    def row(self, record: Record) -> dict[str, Any] | DeadLetter:
        """The checked fields of a record, or its dead letter."""
        attempts = 0
        while True:
            attempts += 1
            try:
                return self._decoder(record)
            except Exception as error:
                decision = decide(self._policy, error, attempts, self._chance())
            if isinstance(decision, GiveUp):
                return DeadLetter(record, decision)
            self._pause(decision.pause_ms / 1000)


def decode_batches(
    batches: Iterable[pa.RecordBatch], decoder: BatchDecoder, bury: Callable[[Sequence[DeadLetter]], None]
) -> Iterator[pa.RecordBatch]:
    """Rows of the records that decode; `bury` returns once the others are safe."""
    for batch in batches:
        rows, letters = decoder.batch(batch)
        if letters:
            bury(letters)
        yield rows


def records_of(batch: pa.RecordBatch) -> Iterator[Record]:
    """The rows of a raw batch as records."""
    columns = {name: batch.column(name) for name in RAW_COLUMNS}
    timestamps = columns["timestamp"].cast(pa.int64()).to_pylist()
    plain = (columns[name].to_pylist() for name in ("key", "value", "topic", "partition", "offset"))
    headers = columns["headers"].to_pylist()
    for key, value, topic, partition, offset, timestamp, some in zip(*plain, timestamps, headers, strict=True):
        pairs = tuple((header["key"], header["value"]) for header in some or ())
        yield Record(key, value, pairs, topic, partition, offset, timestamp // _MS_PER_US)


def with_origin(columns: dict[str, Any], batch: pa.RecordBatch, kept: Sequence[int]) -> pa.RecordBatch:
    """The fields of those records that are kept, and where each came from."""
    chosen = batch if len(kept) == batch.num_rows else batch.take(pa.array(kept, pa.int32()))
    columns |= {name: chosen.column(name.removeprefix("_")) for name in ORIGIN_COLUMNS}
    return pa.RecordBatch.from_pydict(columns)
