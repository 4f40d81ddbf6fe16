"""From record batches to Arrow columns, without a Python object per record.

A record begins with its size, so one plain loop finds where each of them starts; everything behind that is done for
whole columns. Numbers are read with numpy. For keys and values the unpacked bytes are viewed as an Arrow array whose
cells are, in turns, a field and what lies between two fields; `take` then picks the fields and copies each once.

Everything a record says about itself is checked by columns too. When something does not fit, the plain reader of
`core.records` goes over the same batches and says at which offset, in the words that everybody else uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.core.base.ports import Buffer
from penstock.core.records import checksum
from penstock.core.records.batch import HEADER_BYTES, BatchHeader
from penstock.core.records.codecs import Codec
from penstock.core.records.errors import CorruptBatch
from penstock.core.records.record import read_body, records_of
from penstock.core.records.varint import read_raw32
from penstock.spark.rows.schema import HEADER, HEADERS, TIMESTAMP, schema_of
from penstock.spark.rows.varints import BYTES_MAX_64, Bytes, Flags, Numbers, read_column

# A stretch ends with the batch that brings it here, so that large records make short Arrow batches.
STRETCH_BYTES_MAX: Final = 16 * 1024 * 1024
# Fewer records of one size are found faster one by one.
ALIKE_MIN: Final = 16
ALIKE_MAX: Final = 4096
PATIENCE_MAX: Final = 1024
_ATTRIBUTES_BYTES: Final = 1
# Beyond these a sum of two would not fit 64 bits, and none of them is a time.
_TIMESTAMP_ABS_MAX: Final = 1 << 62
_SPARK_TIMESTAMP_MS_MAX: Final = ((1 << 63) - 1) // 1000
_MICROS: Final = 1000


class Stretch(NamedTuple):
    """Some batches of one partition in order, their bodies unpacked and standing in one buffer."""

    headers: list[BatchHeader]
    # Where in the buffer each body starts, and where it ends.
    starts: list[int]
    ends: list[int]
    buffer: bytes


class Cut(NamedTuple):
    """What is wanted of a stretch: the offsets from `first` up to `end`, and the columns."""

    topic: str
    partition: int
    first: int
    end: int
    columns: tuple[str, ...]


def stretches(blob: Buffer, batches: Iterable[tuple[int, BatchHeader]], rows: int) -> Iterator[Stretch]:
    """The batches, given by their positions in a blob, as stretches of some number of rows or a little more."""
    data, shift = _unwrapped(blob)
    group: list[tuple[int, BatchHeader, bytes | None]] = []
    group_rows = group_bytes = 0
    for at, header in batches:
        if not checksum.is_valid(blob, at, header):
            raise CorruptBatch("the checksum does not match", position=at, offset=header.base_offset)
        if not header.count:
            # What compaction left of a batch whose records are all gone.
            continue
        body = None if header.codec == Codec.NONE else read_body(blob, at, header)
        group.append((at + shift, header, body))
        group_rows += header.count
        group_bytes += header.size if body is None else len(body)
        if group_rows >= rows or group_bytes >= STRETCH_BYTES_MAX:
            yield _stretch(data, group)
            group, group_rows, group_bytes = [], 0, 0
    if group:
        yield _stretch(data, group)


def _unwrapped(blob: Buffer) -> tuple[bytes, int]:
    """The bytes that a blob is a part of, and where in them it begins. A plain loop is much faster on bytes than on a
    view of them, and copying a view costs as much as all the rest that is done with a large record."""
    if isinstance(blob, bytes) or not len(blob):
        return bytes(blob), 0
    if isinstance(blob, memoryview) and isinstance(blob.obj, bytes):
        return blob.obj, _address(blob) - _address(blob.obj)
    return bytes(blob), 0


def _address(buffer: Buffer) -> int:
    return int(np.frombuffer(buffer, np.uint8).ctypes.data)


def _stretch(blob: bytes, group: list[tuple[int, BatchHeader, bytes | None]]) -> Stretch:
    """Bodies that are not packed stay where they are; with a packed one among them, all are brought together."""
    headers = [header for _, header, _ in group]
    if all(body is None for _, _, body in group):
        starts = [at + HEADER_BYTES for at, _, _ in group]
        return Stretch(headers, starts, [at + header.size for at, header, _ in group], blob)
    bodies = [blob[at + HEADER_BYTES : at + header.size] if body is None else body for at, header, body in group]
    ends = list(accumulate(map(len, bodies)))
    return Stretch(headers, [0, *ends[:-1]], ends, b"".join(bodies))


def decode(stretch: Stretch, cut: Cut) -> pa.RecordBatch:
    """The wanted rows and columns. `CorruptBatch` names the offset of a record that contradicts itself."""
    try:
        return _Columns(stretch, cut).batch()
    except (IndexError, CorruptBatch) as failure:
        raise _explained(stretch, failure) from None


def _explained(stretch: Stretch, failure: Exception) -> CorruptBatch:
    for header, start, end in zip(stretch.headers, stretch.starts, stretch.ends, strict=True):
        try:
            for _ in records_of(header, stretch.buffer[start:end]):
                pass
        except CorruptBatch as explained:
            return explained
    offset = failure.offset if isinstance(failure, CorruptBatch) and failure.offset else stretch.headers[0].base_offset
    return CorruptBatch(getattr(failure, "reason", "a record ends too early"), offset=offset)


class _Columns:
    """The fields of all records of a stretch, found in the order in which they stand."""

    def __init__(self, stretch: Stretch, cut: Cut) -> None:
        self._cut = cut
        self._batches = stretch.headers
        self._buffer = stretch.buffer
        self._data: Bytes = np.frombuffer(stretch.buffer, np.uint8)
        self._counts = np.array([header.count for header in stretch.headers])
        starts, ends = _bounds(stretch, self._data)
        _, position = read_column(self._data, starts)
        self._times, position = read_column(self._data, position + _ATTRIBUTES_BYTES, BYTES_MAX_64)
        deltas, position = read_column(self._data, position)
        self._check_deltas(deltas)
        self._offsets = self._per_record([header.base_offset for header in stretch.headers]) + deltas
        key_bytes, self._key_start = read_column(self._data, position)
        self._key_end = self._key_start + np.maximum(key_bytes, 0)
        value_bytes, self._value_start = read_column(self._data, self._key_end)
        self._value_end = self._value_start + np.maximum(value_bytes, 0)
        self._header_counts, self._headers_at = read_column(self._data, self._value_end)
        self._no_key, self._no_value = key_bytes < 0, value_bytes < 0
        _check(min(key_bytes.min(), value_bytes.min()) >= -1, "a field of negative size")
        _check(bool((self._header_counts >= 0).all()), "a negative number of headers")
        self._check_ends(ends)
        self._wanted = slice(*np.searchsorted(self._offsets, (cut.first, cut.end)))

    def batch(self) -> pa.RecordBatch:
        arrays = [getattr(self, f"_{name}_column")() for name in self._cut.columns]
        if not arrays:
            # A count needs rows and no columns.
            return pa.RecordBatch.from_struct_array(pa.array([{}] * self._rows, pa.struct([])))
        return pa.RecordBatch.from_arrays(arrays, schema=schema_of(self._cut.columns))

    @property
    def _rows(self) -> int:
        return int(self._wanted.stop - self._wanted.start)

    def _per_record(self, per_batch: list[int]) -> Numbers:
        return np.repeat(np.array(per_batch, np.int64), self._counts)

    def _check_deltas(self, deltas: Numbers) -> None:
        """Within a batch offsets rise, from no less than its first to no more than its last."""
        rises = np.diff(deltas) > 0
        rises[np.cumsum(self._counts)[:-1] - 1] = True
        highest = self._per_record([header.last_offset_delta for header in self._batches])
        _check(bool(rises.all() and (deltas >= 0).all() and (deltas <= highest).all()), "an offset delta out of order")

    def _check_ends(self, ends: Numbers) -> None:
        """A record without headers ends here; the others end no earlier, and exactly where their headers do."""
        self._with_headers = np.flatnonzero(self._header_counts)
        self._ends = ends
        early = self._headers_at != ends
        early[self._with_headers] = self._headers_at[self._with_headers] > ends[self._with_headers]
        _check(not early.any(), "a record does not fill its size")

    def _key_column(self) -> pa.Array:
        return self._field(self._key_start, self._key_end, self._no_key)

    def _value_column(self) -> pa.Array:
        return self._field(self._value_start, self._value_end, self._no_value)

    def _topic_column(self) -> pa.Array:
        return pa.repeat(pa.scalar(self._cut.topic, pa.string()), self._rows)

    def _partition_column(self) -> pa.Array:
        return pa.array(np.full(self._rows, self._cut.partition, np.int32))

    def _offset_column(self) -> pa.Array:
        return pa.array(self._offsets[self._wanted])

    def _timestamp_column(self) -> pa.Array:
        """A batch that has the time of its arrival gives it to all its records."""
        base = self._per_record([h.max_timestamp if h.is_log_append_time else h.base_timestamp for h in self._batches])
        deltas = np.where(self._arrived(), 0, self._times)
        _check(not _beyond(base, _TIMESTAMP_ABS_MAX).any(), "a base timestamp beyond all time")
        _check(not _beyond(deltas, _TIMESTAMP_ABS_MAX).any(), "a timestamp beyond 64 bits")
        times = base + deltas
        beyond = np.flatnonzero(_beyond(times, _SPARK_TIMESTAMP_MS_MAX))
        if len(beyond):
            where = beyond[0]
            raise CorruptBatch(f"Spark has no timestamp for {times[where]} ms", offset=int(self._offsets[where]))
        return pa.array(times[self._wanted] * _MICROS, pa.int64()).cast(TIMESTAMP)

    def _timestampType_column(self) -> pa.Array:
        return pa.array(self._arrived()[self._wanted].astype(np.int32))

    def _arrived(self) -> Flags:
        return self._per_record([header.is_log_append_time for header in self._batches]).astype(bool)

    def _headers_column(self) -> pa.Array:
        """A record without headers has null, as in Spark's source."""
        wanted = self._wanted
        if not len(self._with_headers):
            return pa.nulls(self._rows, HEADERS)
        key_start, key_end, value_start, value_end, no_value = self._header_fields()
        bounds = np.concatenate(([0], np.cumsum(self._header_counts)))
        names = _take(self._buffer, key_start, key_end, None)
        fields = [_as_text(names), _take(self._buffer, value_start, value_end, no_value)]
        children = pa.StructArray.from_arrays(fields, fields=list(HEADER))
        nulls = pa.array(np.append(self._header_counts == 0, False))
        cells = pa.array(bounds.astype(np.int32), mask=nulls.to_numpy(zero_copy_only=False))
        return pa.ListArray.from_arrays(cells, children, type=HEADERS)[wanted]

    def _header_fields(self) -> tuple[Numbers, Numbers, Numbers, Numbers, Flags]:
        """Where each header's key and value stand, all headers of a record together. One round per header a record
        may have: the first header of every record, then the second of those that have one."""
        total = int(self._header_counts.sum())
        _check(total <= len(self._data), "more headers than bytes")
        spots = np.zeros((4, total), np.int64)
        no_value = np.zeros(total, bool)
        firsts = np.cumsum(self._header_counts) - self._header_counts
        records, position = self._with_headers, self._headers_at[self._with_headers]
        done = 0
        while len(records):
            cell = firsts[records] + done
            key_bytes, key_start = read_column(self._data, position)
            key_end = key_start + key_bytes
            value_bytes, value_start = read_column(self._data, key_end)
            position = value_start + np.maximum(value_bytes, 0)
            _check(bool((key_bytes >= 0).all() and (value_bytes >= -1).all()), "a header of negative size")
            _check(bool((position <= self._ends[records]).all()), "headers that end too early")
            spots[:, cell] = key_start, key_end, value_start, position
            no_value[cell] = value_bytes < 0
            done += 1
            more = self._header_counts[records] > done
            _check(bool((position == self._ends[records])[~more].all()), "a record does not fill its size")
            records, position = records[more], position[more]
        return spots[0], spots[1], spots[2], spots[3], no_value

    def _field(self, start: Numbers, end: Numbers, missing: Flags) -> pa.Array:
        wanted = self._wanted
        return _take(self._buffer, start[wanted], end[wanted], missing[wanted])


def _bounds(stretch: Stretch, data: Bytes) -> tuple[Numbers, Numbers]:
    """Where each record starts, and where it ends by the size it begins with."""
    found: list[Numbers] = []
    for header, start, end in zip(stretch.headers, stretch.starts, stretch.ends, strict=True):
        last = _walk(stretch.buffer, data, start, end, header.count, found)
        _check(last == end, "the records do not fill their batch")
    starts = np.concatenate(found)
    ends = np.empty_like(starts)
    ends[:-1] = starts[1:]
    ends[np.cumsum([header.count for header in stretch.headers]) - 1] = stretch.ends
    return starts, ends


def _walk(buffer: bytes, data: Bytes, position: int, end: int, count: int, starts: list[Numbers]) -> int:
    """Note where so many records start, and give where the last one ends. Records of machines are often of one size
    for a while: where some were, more are looked for by whole columns, and where none were, less and less often."""
    patience = ALIKE_MIN
    while count:
        alike, stride = _alike(data, position, end, count)
        if alike >= ALIKE_MIN:
            starts.append(np.arange(position, position + alike * stride, stride))
            position += alike * stride
            count -= alike
            patience = ALIKE_MIN
        else:
            single = min(count, patience)
            walked: list[int] = []
            position = _walk_singly(buffer, position, single, walked)
            starts.append(np.array(walked, np.int64))
            count -= single
            patience = min(2 * patience, PATIENCE_MAX)
    return position


def _alike(data: Bytes, position: int, end: int, count: int) -> tuple[int, int]:
    """How many of the next records, no more than `count`, have the size of the first of them, and that size with the
    bytes that tell it. One that is alike begins where the one before it ends, so equal bytes at equal distances are
    enough to know it."""
    pair = data[position : position + 2].tolist()
    if len(pair) < 2 or (pair[0] > 127 and pair[1] > 127):
        return 0, 0
    size = pair[0] if pair[0] < 128 else pair[0] & 127 | pair[1] << 7
    stride = (1 if pair[0] < 128 else 2) + (size >> 1)
    count = min(count, ALIKE_MAX, (end - position) // stride)
    alike = data[position : position + count * stride : stride] == pair[0]
    if pair[0] > 127:
        alike &= data[position + 1 : position + count * stride : stride] == pair[1]
    return (count if alike.all() else int(alike.argmin())), stride


def _walk_singly(buffer: bytes, position: int, count: int, starts: list[int]) -> int:
    """The same, record by record: the only loop that sees each of them, so it spells out the sizes of one and two bytes
    that nearly all of them have."""
    note = starts.append
    for _ in range(count):
        note(position)
        size = buffer[position]
        if size < 128:
            position += 1 + (size >> 1)
        elif (high := buffer[position + 1]) < 128:
            position += 2 + ((size & 127 | high << 7) >> 1)
        else:
            size, position = read_raw32(buffer, position)
            position += size >> 1
    return position


def _take(buffer: bytes, start: Numbers, end: Numbers, missing: Flags | None) -> pa.Array:
    """The pieces from each start to its end, as an array of their own. They stand in order and do not overlap."""
    count = len(start)
    edges = np.empty(2 * count + 1, np.int32)
    edges[0:-1:2], edges[1::2] = start, end
    edges[-1] = end[-1] if count else 0
    cells = pa.Array.from_buffers(pa.binary(), 2 * count, [None, pa.py_buffer(edges), pa.py_buffer(buffer)])
    return cells.take(pa.array(np.arange(0, 2 * count, 2), mask=missing))


def _as_text(names: pa.Array) -> pa.Array:
    """Header keys that are not UTF-8 show replacement characters, as in Java's client."""
    try:
        return names.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([name.decode(errors="replace") for name in names.to_pylist()], pa.string())


def _beyond(numbers: Numbers, bound: int) -> Flags:
    return (numbers > bound) | (numbers < -bound)


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise CorruptBatch(otherwise)
