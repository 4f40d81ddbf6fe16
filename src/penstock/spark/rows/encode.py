"""From Arrow columns to bodies of record batches, without a Python object per record: `decode` the other way round.

What stands before a record's key, between key and value, and behind the value is written with numpy for all records at
once; one Arrow kernel then joins the five pieces of every record. Its result is the records one behind the other, and
the batches are slices of it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.core.base.errors import PenstockError
from penstock.core.records.build import BatchBuilder
from penstock.spark.rows.arrays import Binary, binary_array
from penstock.spark.rows.varints import Numbers, lengths, write_column

# More than any record spends on sizes, times and offsets.
RECORD_OVERHEAD_BYTES_MAX: Final = 40
_ATTRIBUTES_BYTES: Final = 1
_NO_HEADERS: Final = b"\x00"
_MISSING: Final = -1


class Column(NamedTuple):
    """Cells of bytes, and their sizes as they are written: a missing cell has its own."""

    cells: pa.Array
    declared: Numbers

    @classmethod
    def of(cls, cells: pa.Array) -> Column:
        found = Binary.of(cells)
        sizes = found.ends - found.starts
        return cls(cells, np.where(found.missing, _MISSING, sizes) if cells.null_count else sizes)

    @property
    def sizes(self) -> Numbers:
        return np.maximum(self.declared, 0) if self.cells.null_count else self.declared

    def take(self, rows: Numbers) -> Column:
        return Column(self.cells.take(pa.array(rows)), self.declared[rows])

    def slice(self, first: int, end: int) -> Column:
        return Column(self.cells[first:end], self.declared[first:end])


class Records(NamedTuple):
    """Rows that go to one topic: keys and values of bytes, encoded headers, and times in ms."""

    keys: Column
    values: Column
    # None where no row has headers.
    headers: Column | None
    times: Numbers

    def take(self, rows: Numbers) -> Records:
        headers = None if self.headers is None else self.headers.take(rows)
        return Records(self.keys.take(rows), self.values.take(rows), headers, self.times[rows])

    def slice(self, first: int, end: int) -> Records:
        headers = None if self.headers is None else self.headers.slice(first, end)
        return Records(self.keys.slice(first, end), self.values.slice(first, end), headers, self.times[first:end])

    def sizes(self) -> Numbers:
        """No less than the bytes of each record."""
        found: Numbers = self.keys.sizes + self.values.sizes + RECORD_OVERHEAD_BYTES_MAX
        return found if self.headers is None else found + self.headers.sizes


def batches(records: Records, groups: Numbers, batch_bytes: int) -> list[list[BatchBuilder]]:
    """Records as batches of at most so many bytes, or of one record that is larger. The groups are where the records of
    a partition begin, and where the last one ends: all are encoded at once, and the batches are views of the result."""
    sizes = records.sizes()
    cuts = [first + _cuts(sizes[first:end], batch_bytes) for first, end in pairwise(groups.tolist())]
    firsts = np.concatenate([np.repeat(edges[:-1], np.diff(edges)) for edges in cuts])
    deltas = np.arange(len(sizes)) - firsts
    joined = Binary.of(_encoded(records, records.times - records.times[firsts], deltas))
    return [[_batch(records.times, joined, first, end) for first, end in pairwise(edges.tolist())] for edges in cuts]


def _batch(times: Numbers, joined: Binary, first: int, end: int) -> BatchBuilder:
    return BatchBuilder.of_body(
        joined.data.data[joined.starts[first] : joined.ends[end - 1]],
        end - first,
        base_timestamp=int(times[first]),
        max_timestamp=int(times[first:end].max()),
    )


def _cuts(sizes: Numbers, batch_bytes: int) -> Numbers:
    """Where batches begin and the last one ends: each takes what fits, and at least one record."""
    total = np.cumsum(sizes)
    cuts, before = [0], 0
    while cuts[-1] < len(sizes):
        end = max(int(np.searchsorted(total, before + batch_bytes, "right")), cuts[-1] + 1)
        cuts.append(end)
        before = int(total[end - 1])
    return np.array(cuts)


def _encoded(records: Records, time_deltas: Numbers, offset_deltas: Numbers) -> pa.Array:
    """Each record as it stands in a body."""
    keys, values = records.keys, records.values
    headers = pa.scalar(_NO_HEADERS) if records.headers is None else records.headers.cells
    header_bytes = 1 if records.headers is None else records.headers.sizes
    before_key = (time_deltas, offset_deltas, keys.declared)
    head_bytes = _ATTRIBUTES_BYTES + sum(map(lengths, before_key))
    value_size_bytes = lengths(values.declared)
    size = head_bytes + keys.sizes + value_size_bytes + values.sizes + header_bytes
    heads = _numbers(lengths(size) + head_bytes, size, None, *before_key)
    middles = _numbers(value_size_bytes, values.declared)
    return pc.binary_join_element_wise(
        heads, keys.cells, middles, values.cells, headers, b"", null_handling="replace", null_replacement=b""
    )


def _numbers(sizes: Numbers, *columns: Numbers | None) -> pa.Array:
    """The numbers of a row, one varint behind the other, given how many bytes they take together. None is the byte of
    attributes, which are all unset."""
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    out = np.zeros(int(bounds[-1]), np.uint8)
    position = bounds[:-1]
    for column in columns:
        position = position + _ATTRIBUTES_BYTES if column is None else write_column(out, position, column)
    return binary_array(out, bounds)


def encoded_headers(column: pa.Array) -> Column | None:
    """The headers of each row as they stand behind a value, from lists of (key, value)."""
    if column.null_count == len(column):
        return None
    counts = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    flat = column.flatten()
    names, values = (child.cast(pa.binary()) for child in flat.flatten())
    if names.null_count:
        raise PenstockError("a header has no key: Kafka's headers may lack a value, never a key")
    pieces = (_declared_numbers(names), names, _declared_numbers(values), values)
    joined = Binary.of(pc.binary_join_element_wise(*pieces, b"", null_handling="replace", null_replacement=b""))
    edges = np.concatenate((joined.starts[:1] if len(joined.starts) else [0], joined.ends))
    bounds = edges[np.concatenate(([0], np.cumsum(counts)))]
    return Column.of(
        pc.binary_join_element_wise(_numbers(lengths(counts), counts), binary_array(joined.data, bounds), b"")
    )


def _declared_numbers(array: pa.Array) -> pa.Array:
    declared = Column.of(array).declared
    return _numbers(lengths(declared), declared)
