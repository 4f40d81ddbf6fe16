"""Walking the batches of a segment's file: from one header to the next, or through every byte."""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from penstock.core.base.ports import File, Read, Steps
from penstock.core.log.offset_index import OffsetEntry
from penstock.core.log.segment import Segment
from penstock.core.records.batch import HEADER_BYTES, LENGTH_END, MAGIC, BatchHeader, check_frame, read_header
from penstock.core.records.errors import CorruptBatch

# About two milliseconds of work on small batches: whoever scans much asks for a Pause after each.
CHUNK_BYTES: Final = 128 * 1024
# Enough to get from one index entry to the next at the default interval, in one read.
WALK_BYTES: Final = 8 * 1024

_frame_of: Final = Struct(">qi4xb4x2xi8x8x8x2x4xi").unpack_from
"""Of a batch's header: base offset, length, magic, last offset delta, count."""
_LENGTH_MIN: Final = HEADER_BYTES - LENGTH_END


class Located(NamedTuple):
    """A batch and where its segment's file holds it."""

    position: int
    header: BatchHeader


def walk_to(
    file: File, position: int, end: int, offset: int, begins: tuple[int, int] | None = None
) -> Steps[Located | None]:
    """The first batch from `position` on that ends at or after `offset`; None if there is none before `end`.
    Raises CorruptBatch where the bytes are no row of batches, or the first one does not begin at an offset between
    those that `begins` names."""
    data, start = b"", position
    while position + HEADER_BYTES <= end:
        if position + HEADER_BYTES > start + len(data):
            data = yield Read(file, position, min(WALK_BYTES, end - position))
            start = position
            if len(data) < HEADER_BYTES:
                # What comes here is still in flight.
                return None
        if begins is None:
            base_offset, length, magic, delta, count = _frame_of(data, position - start)
            if (
                base_offset + delta < offset
                and magic == MAGIC
                and length >= _LENGTH_MIN
                and base_offset >= 0 <= delta
                and count >= 0
            ):
                # It lies before what is looked for, which is all that most batches are asked.
                position += LENGTH_END + length
                continue
        header = read_header(data, position - start)
        check_frame(header, position)
        if begins is not None:
            if not begins[0] <= header.base_offset <= begins[1]:
                raise CorruptBatch("not the batch that the index speaks of", position=position)
            begins = None
        if header.last_offset >= offset:
            return Located(position, header)
        position += header.size
    return None


def walk_from(segment: Segment, entry: OffsetEntry, end: int, offset: int) -> Steps[Located | None]:
    """The same from where an index entry points to. No entry names the first batch, which is found without one."""
    if not 0 < entry.position < end:
        raise CorruptBatch("an index points out of its segment", position=entry.position)
    begins = segment.base_offset, entry.last_offset
    return walk_to(segment.log, entry.position, end, offset, begins)


def read_chunk(file: File, position: int, end: int) -> Steps[bytes]:
    """The bytes at `position`, with at least one whole batch among them if the file has it there."""
    data: bytes = yield Read(file, position, min(CHUNK_BYTES, end - position))
    if len(data) >= HEADER_BYTES:
        size = read_header(data).size
        if len(data) < size <= end - position:
            data = yield Read(file, position, size)
    return data


def read_batch(file: File, located: Located) -> Steps[bytes]:
    """A batch's bytes, for the jobs that look inside."""
    data: bytes = yield Read(file, located.position, located.header.size)
    return data
