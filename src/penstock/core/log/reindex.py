"""Indexes made anew from the batches they describe, when a segment is recovered or its index proves wrong."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import TYPE_CHECKING

from penstock.core.base.ports import Pause, Steps
from penstock.core.log.offset_index import ENTRY as OFFSET_ENTRY
from penstock.core.log.scan import read_chunk
from penstock.core.log.segment import Segment
from penstock.core.log.time_index import ENTRY as TIME_ENTRY
from penstock.core.records.batch import NO_TIMESTAMP, BatchHeader, iterate_headers

if TYPE_CHECKING:
    from penstock.core.log.log import Log


class IndexBuilder:
    """Collects the entries of both indexes from a segment's batches in order."""

    __slots__ = (
        "_base_offset",
        "_interval_bytes",
        "_unindexed_bytes",
        "first_timestamp",
        "last_timestamp",
        "max_timestamp",
        "max_timestamp_offset",
        "offsets",
        "size_bytes",
        "times",
    )

    def __init__(self, base_offset: int, interval_bytes: int) -> None:
        self._base_offset = base_offset
        self._interval_bytes = interval_bytes
        self._unindexed_bytes = 0
        self.size_bytes = 0
        self.first_timestamp = NO_TIMESTAMP
        self.max_timestamp = NO_TIMESTAMP
        self.max_timestamp_offset = base_offset
        # Of the time index's last entry.
        self.last_timestamp = NO_TIMESTAMP
        self.offsets = bytearray()
        self.times = bytearray()

    def add(self, header: BatchHeader) -> None:
        size, timestamp = header.size, header.max_timestamp
        if self.size_bytes == 0:
            self.first_timestamp = timestamp
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
            self.max_timestamp_offset = header.last_offset
        if self._unindexed_bytes > self._interval_bytes:
            self.offsets += OFFSET_ENTRY.pack(header.last_offset - self._base_offset, self.size_bytes)
            self.add_time()
            self._unindexed_bytes = 0
        self.size_bytes += size
        self._unindexed_bytes += size

    def add_time(self) -> None:
        """The largest timestamp so far, if it is news; a sealed segment's time index ends with it."""
        if self.max_timestamp > self.last_timestamp:
            self.last_timestamp = self.max_timestamp
            self.times += TIME_ENTRY.pack(self.max_timestamp, self.max_timestamp_offset - self._base_offset)

    def finish(self, segment: Segment) -> Steps[None]:
        """Give the segment the indexes that were collected."""
        if segment.sealed:
            self.add_time()
        yield from segment.offsets.replace(bytes(self.offsets))
        yield from segment.times.replace(bytes(self.times))
        segment.unindexed_bytes = self._unindexed_bytes
        segment.first_timestamp = self.first_timestamp
        segment.max_timestamp = self.max_timestamp
        segment.max_timestamp_offset = self.max_timestamp_offset
        segment.times.last_timestamp = self.last_timestamp


def reindex(segment: Segment, interval_bytes: int) -> Steps[None]:
    """Write a segment's offset and time index from its batches, which are known to be good."""
    builder = IndexBuilder(segment.base_offset, interval_bytes)
    yield from _read(builder, segment, segment.size_bytes)
    yield from builder.finish(segment)


def reindex_active(log: Log, segment: Segment) -> Steps[None]:
    """The same for a segment that grows meanwhile: entries of what is not read here stay behind those that are made."""
    builder = IndexBuilder(segment.base_offset, log.settings.index_interval_bytes)
    while builder.size_bytes < (end := log.written_bytes(segment)):
        if not (yield from _read(builder, segment, end)):
            break
    yield from segment.offsets.settle()
    if builder.size_bytes <= segment.size_bytes:
        # Else it was cut meanwhile, and its indexes with it.
        for position, entry in _pending(segment.offsets.pending, OFFSET_ENTRY, 1):
            if position >= builder.size_bytes:
                builder.offsets += entry
        yield from segment.offsets.replace(bytes(builder.offsets))
    yield from segment.times.settle()
    if builder.size_bytes <= segment.size_bytes:
        for timestamp, entry in _pending(segment.times.pending, TIME_ENTRY, 0):
            if timestamp > builder.last_timestamp:
                builder.times += entry
        yield from segment.times.replace(bytes(builder.times))


def _pending(entries: bytearray, form: Struct, field: int) -> Iterator[tuple[int, bytes]]:
    """Entries, each with one of its fields."""
    for values in form.iter_unpack(bytes(entries)):
        yield values[field], form.pack(*values)


def _read(builder: IndexBuilder, segment: Segment, end: int) -> Steps[bool]:
    """Take the batches up to `end`; False if the file does not have them all."""
    while builder.size_bytes < end:
        data = yield from read_chunk(segment.log, builder.size_bytes, end)
        before = builder.size_bytes
        for _, header in iterate_headers(data, partial_tail=True):
            builder.add(header)
        if builder.size_bytes == before:
            return False
        yield Pause()
    return True
