"""What executors do: rows become Parquet files, one for each stretch of time that a task meets.

Nobody sees a file before a commit names it. Those of attempts that died are never named, and go when the table is
cleaned.
"""

from __future__ import annotations

import pickle
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow.fs import PyFileSystem

from penstock.spark.lake.places import By, Columns, Place
from penstock.spark.shipping import Shipped

# Each open file keeps a row group in memory; records of years in one batch would open thousands.
OPEN_FILES_MAX: Final = 16
FILE_ROWS_MAX: Final = 2_000_000
DONE_COLUMN: Final = "done binary"
UTC: Final = "UTC"


class Written(NamedTuple):
    """A file that is whole."""

    path: str
    bytes: int
    rows: int
    time: str | None
    lowest: dict[str, int]
    highest: dict[str, int]


@dataclass
class Told:
    """What a task has to tell: its files, and behind which offset each partition goes on."""

    files: list[Written] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)


class WriteFiles(Shipped):
    """Runs on executors as `mapInArrow`. Rows before the table's own positions are in it already."""

    def __init__(self, place: Place, by: By, positions: Mapping[int, int]) -> None:
        self._given = place, by, dict(positions)

    def shipped_arguments(self) -> tuple[Any, ...]:
        return self._given

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        place, by, positions = self._given
        told = Told()
        with _Files(place, by, told) as files:
            for batch in batches:
                rows = unwritten(in_utc(batch), positions)
                if rows.num_rows:
                    _count(rows, told)
                    files.write(rows)
        yield pa.record_batch([pa.array([pickle.dumps(told)])], names=["done"])


def key_schema(is_decoded: bool) -> pa.Schema:
    """The columns by which a record is known, which every table has."""
    mark = "_" if is_decoded else ""
    kinds = (pa.int32(), pa.int64(), pa.timestamp("us", UTC))
    return pa.schema(list(zip((f"{mark}partition", f"{mark}offset", f"{mark}timestamp"), kinds, strict=True)))


def unwritten(batch: pa.RecordBatch, positions: Mapping[int, int]) -> pa.RecordBatch:
    """The rows at or behind the table's positions."""
    names = Columns.of(batch.schema.names)
    partitions, offsets = batch.column(names.partition), batch.column(names.offset)
    for partition, position in positions.items():
        is_old = pc.and_(pc.equal(partitions, partition), pc.less(offsets, position))
        if pc.any(is_old).as_py():
            return unwritten(batch.filter(pc.invert(is_old)), positions)
    return batch


def in_utc(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Spark hands times over in the session's zone; they are the same moments."""
    kinds = [
        each.with_type(pa.timestamp("us", UTC)) if pa.types.is_timestamp(each.type) and each.type.tz else each
        for each in batch.schema
    ]
    return batch.cast(pa.schema(kinds))


def _count(rows: pa.RecordBatch, told: Told) -> None:
    names = Columns.of(rows.schema.names)
    ends = pa.table({"partition": rows.column(names.partition), "offset": rows.column(names.offset)})
    for each in ends.group_by("partition").aggregate([("offset", "max")]).to_pylist():
        told.ends[each["partition"]] = max(told.ends.get(each["partition"], 0), each["offset_max"] + 1)


class _Files:
    """The open files of a task, by time; the one that waited longest is closed when there are too many."""

    def __init__(self, place: Place, by: By, told: Told) -> None:
        from deltalake.fs import DeltaStorageHandler

        self._store = PyFileSystem(DeltaStorageHandler(place.address, dict(place.options)))
        self._by = by
        self._told = told
        self._open: OrderedDict[str | None, _File] = OrderedDict()

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, failure: object, *_: object) -> None:
        """After a failure files stay unfinished: nobody will name them."""
        for time in [] if failure else list(self._open):
            self._close(time)

    def write(self, rows: pa.RecordBatch) -> None:
        for time, part in self._parts(rows):
            if time not in self._open and len(self._open) == OPEN_FILES_MAX:
                self._close(next(iter(self._open)))
            file = self._open.setdefault(time, _File(self._store, self._path(time), part.schema, time))
            self._open.move_to_end(time)
            file.write(part)
            if file.rows >= FILE_ROWS_MAX:
                self._close(time)

    def _parts(self, rows: pa.RecordBatch) -> Iterator[tuple[str | None, pa.RecordBatch]]:
        if self._by is By.NONE:
            yield None, rows
            return
        moments = rows.column(Columns.of(rows.schema.names).timestamp)
        times = pc.strftime(pc.floor_temporal(moments, unit=self._by.value), self._by.pattern)
        for time in pc.unique(times).to_pylist():
            yield time, rows.filter(pc.equal(times, time))

    def _path(self, time: str | None) -> str:
        folder = "" if time is None else f"{self._by.column}={time}/"
        return f"{folder}part-{uuid.uuid4().hex}.parquet"

    def _close(self, time: str | None) -> None:
        self._told.files.append(self._open.pop(time).close())


class _File:
    """One Parquet file; it is made with its first rows."""

    def __init__(self, store: PyFileSystem, path: str, schema: pa.Schema, time: str | None) -> None:
        self._store, self._path, self._schema, self._time = store, path, schema, time
        self._names = Columns.of(schema.names)
        self._stream: Any = None
        self._writer: Any = None
        self._lowest: dict[str, int] = {}
        self._highest: dict[str, int] = {}
        self.rows = 0

    def write(self, rows: pa.RecordBatch) -> None:
        if self._writer is None:
            self._stream = self._store.open_output_stream(self._path)
            self._writer = pq.ParquetWriter(self._stream, self._schema, compression="zstd")
        self._writer.write_batch(rows)
        self.rows += rows.num_rows
        for name in (self._names.partition, self._names.offset):
            edges = pc.min_max(rows.column(name))
            low, high = edges["min"].as_py(), edges["max"].as_py()
            self._lowest[name] = min(low, self._lowest.get(name, low))
            self._highest[name] = max(high, self._highest.get(name, high))

    def close(self) -> Written:
        self._writer.close()
        size = self._stream.tell()
        self._stream.close()
        return Written(self._path, size, self.rows, self._time, self._lowest, self._highest)
