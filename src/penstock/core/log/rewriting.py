"""What every job that rewrites sealed segments does: read the batches of the old, write the new as `.cleaned` files.

Which batches go from one to the other, and how, is the job's own matter (`compaction`, `packing`). Neither side ever
holds more than a few megabytes of a segment, or one batch that is larger.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from penstock.core.base.crc32c import crc32c
from penstock.core.base.ports import Buffer, JobFiles
from penstock.core.log.names import CLEANED, INDEX, LOG, SEGMENT_KINDS, TIME_INDEX, TXN_INDEX, path_of
from penstock.core.log.reindex import IndexBuilder
from penstock.core.records.batch import (
    ATTRIBUTES_AT,
    HEADER,
    HEADER_BYTES,
    LENGTH_END,
    MAGIC,
    BatchHeader,
    read_header,
)
from penstock.core.records.checksum import compute
from penstock.core.records.errors import CorruptBatch

READ_BYTES: Final = 1 << 20
WRITE_BYTES: Final = 1 << 20

# A header's fields, not made into a BatchHeader before that is worth its microsecond.
Fields = tuple[Any, ...]
_BASE_OFFSET, _LENGTH, _MAGIC, _CRC = (
    BatchHeader._fields.index(name) for name in ("base_offset", "length", "magic", "crc")
)
_unpack: Final = HEADER.unpack_from


class Source(NamedTuple):
    """A sealed segment's log; `end_offset` is where the next segment begins."""

    base_offset: int
    end_offset: int
    size_bytes: int
    path: str


class Unreadable(NamedTuple):
    """What a job says of a segment that is damaged: from where on, and why. It leaves nothing of what it made."""

    offset: int
    why: str


class Rewritten(NamedTuple):
    """The segment that one or several sources became."""

    base_offset: int
    end_offset: int
    size_bytes: int
    index_bytes: tuple[int, int, int]
    max_timestamp: int
    max_timestamp_offset: int


def read_batches(files: JobFiles, source: Source, *, is_checked: bool = False) -> Iterator[tuple[bytes, int, Fields]]:
    """(bytes, position in them, header's fields) of each batch of a segment. With `is_checked` none whose checksum is
    wrong: what is decided by such bytes may cost a record, and what is written of them would have a checksum that is
    right."""
    start = 0
    while start < source.size_bytes:
        data = files.read(source.path, start, min(READ_BYTES, source.size_bytes - start))
        position, limit = 0, len(data) - HEADER_BYTES
        while position <= limit:
            fields = _unpack(data, position)
            size = fields[_LENGTH] + LENGTH_END
            if fields[_MAGIC] != MAGIC or size < HEADER_BYTES:
                raise CorruptBatch(f"no batch begins at byte {start + position}", offset=source.base_offset)
            if position + size > len(data):
                break
            # A copy of a small batch costs less than a view of it.
            if is_checked and crc32c(data[position + ATTRIBUTES_AT : position + size]) != fields[_CRC]:
                raise _wrong(fields)
            yield data, position, fields
            position += size
        if position == 0:
            data, fields = _read_large(files, source, start, data)
            if is_checked and compute(data, 0, len(data)) != fields[_CRC]:
                raise _wrong(fields)
            yield data, 0, fields
            position = len(data)
        start += position


def _wrong(fields: Fields) -> CorruptBatch:
    return CorruptBatch("its checksum is wrong", offset=fields[_BASE_OFFSET])


def _read_large(files: JobFiles, source: Source, start: int, head: bytes) -> tuple[bytes, Fields]:
    """A batch that is larger than a read."""
    header = read_header(head)
    data = files.read(source.path, start, header.size)
    if len(data) < header.size:
        raise CorruptBatch("a sealed segment ends within a batch", position=start, offset=header.base_offset)
    return data, tuple(header)


class Output:
    """A `.cleaned` segment being written, its indexes in memory until it is done."""

    def __init__(self, files: JobFiles, folder: str, base_offset: int, interval_bytes: int) -> None:
        self._files = files
        self._base_offset = base_offset
        self._paths = {kind: path_of(folder, base_offset, kind, CLEANED) for kind in SEGMENT_KINDS}
        self._index = IndexBuilder(base_offset, interval_bytes)
        self._buffer = bytearray()
        self.discard()

    def write(self, batch: Buffer) -> None:
        self._index.add(read_header(batch))
        self._buffer += batch
        if len(self._buffer) >= WRITE_BYTES:
            self._files.append(self._paths[LOG], self._buffer)
            self._buffer = bytearray()

    @property
    def size_bytes(self) -> int:
        return self._index.size_bytes

    def finish(self, end_offset: int, aborted: bytes) -> Rewritten:
        """Bring everything to the disk; `aborted` is the content of the transaction index."""
        self._index.add_time()
        self._files.append(self._paths[LOG], self._buffer)
        index_bytes = bytes(self._index.offsets), bytes(self._index.times), aborted
        for kind, content in zip((INDEX, TIME_INDEX, TXN_INDEX), index_bytes, strict=True):
            if content or kind != TXN_INDEX:
                self._files.append(self._paths[kind], content)
                self._files.sync(self._paths[kind])
        self._files.sync(self._paths[LOG])
        sizes = len(index_bytes[0]), len(index_bytes[1]), len(index_bytes[2])
        index = self._index
        return Rewritten(
            self._base_offset, end_offset, index.size_bytes, sizes, index.max_timestamp, index.max_timestamp_offset
        )

    def discard(self) -> None:
        """Leave nothing of it, nor of one that was begun earlier."""
        for path in self._paths.values():
            self._files.unlink(path)


def discard(files: JobFiles, folder: str, base_offset: int) -> None:
    """Leave nothing of a segment that was begun."""
    for kind in SEGMENT_KINDS:
        files.unlink(path_of(folder, base_offset, kind, CLEANED))


def unreadable(error: CorruptBatch, source: Source) -> Unreadable:
    """As plain values, because a job's errors do not reach who asked for it."""
    return Unreadable(source.base_offset if error.offset is None else error.offset, error.reason)
