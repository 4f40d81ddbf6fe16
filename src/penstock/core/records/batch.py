"""A v2 batch header as a view: 61 bytes at a position of a buffer, read at once and patched in place.

The checksum covers everything from the attributes on, so the two fields that only the leader knows, base offset and
leader epoch, are stamped without touching it. Everything else about a batch stays as its producer sent it.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from struct import error as StructError
from typing import Final, NamedTuple

from penstock.core.base.crc32c import crc32c
from penstock.core.base.ports import Buffer
from penstock.core.records.errors import CorruptBatch

HEADER: Final = Struct(">qiibIhiqqqhii")
HEADER_BYTES: Final = HEADER.size
# The length field counts what comes after it.
LENGTH_END: Final = 12
MAGIC: Final = 2
NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_LEADER_EPOCH: Final = -1

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20
DELETE_HORIZON_BIT: Final = 0x40

LENGTH_AT: Final = 8
MAGIC_AT: Final = 16
CRC_AT: Final = 17
ATTRIBUTES_AT: Final = 21
MAX_TIMESTAMP_AT: Final = 35

_SEQUENCE_MODULUS: Final = 1 << 31

_unpack = HEADER.unpack_from
_put_start = Struct(">qii").pack_into
_put_int64 = Struct(">q").pack_into
_put_uint32 = Struct(">I").pack_into
_put_int16 = Struct(">h").pack_into


class BatchHeader(NamedTuple):
    """The header's fields in the order they are stored; `length` counts the bytes after itself."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int  # type: ignore[assignment]  # Kafka's word; the tuple method it hides is of no use on a header.

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return LENGTH_END + self.length

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """Sequence numbers wrap from 2^31 - 1 to 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) % _SEQUENCE_MODULUS

    @property
    def codec(self) -> int:
        """The codec's id, not a `Codec`: bytes from outside may hold one that does not exist."""
        return self.attributes & CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        return self.attributes & LOG_APPEND_TIME_BIT != 0

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_BIT != 0

    @property
    def has_delete_horizon(self) -> bool:
        return self.attributes & DELETE_HORIZON_BIT != 0

    @property
    def delete_horizon(self) -> int | None:
        """When tombstones and markers of this batch may go; compaction keeps it in place of the base timestamp."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None


# What `BatchHeader._make` does, without counting the fields: a Struct has done that.
make_tuple = tuple.__new__


def read_header(buf: Buffer, pos: int = 0) -> BatchHeader:
    """The header at a position, as it stands: nothing in it has been checked."""
    try:
        return make_tuple(BatchHeader, _unpack(buf, pos))
    except StructError:
        raise CorruptBatch(f"{len(buf) - pos} bytes are too few for a header", position=pos) from None


def iterate_headers(buf: Buffer, pos: int = 0, *, partial_tail: bool = False) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of each batch in a row of batches. A reader of a fetched range, which may have been cut
    anywhere, says `partial_tail`: then an incomplete last batch ends the row instead of being an error."""
    end = len(buf)
    while pos < end:
        if partial_tail and end - pos < HEADER_BYTES:
            return
        header = read_header(buf, pos)
        check_frame(header, pos)
        size = header.size
        if pos + size > end:
            if partial_tail:
                return
            raise CorruptBatch(f"{size} bytes declared, {end - pos} left", position=pos, offset=header.base_offset)
        yield pos, header
        pos += size


def check_frame(header: BatchHeader, pos: int = 0) -> None:
    """What must hold before the next batch can be found behind this one."""
    if header.magic != MAGIC:
        raise CorruptBatch(f"magic {header.magic} instead of {MAGIC}", position=pos, offset=header.base_offset)
    if header.size < HEADER_BYTES:
        raise CorruptBatch(f"length {header.length} is too small", position=pos, offset=header.base_offset)
    if header.base_offset < 0 or header.last_offset_delta < 0 or header.count < 0:
        raise CorruptBatch(
            f"last offset delta {header.last_offset_delta}, count {header.count}",
            position=pos,
            offset=header.base_offset,
        )


def stamp(batch: Buffer, base_offset: int, leader_epoch: int) -> None:
    """Write what the leader decides into a whole batch; the checksum does not cover it. The length between the two is
    written as it stands, because one call is cheaper than two."""
    _put_start(batch, 0, base_offset, len(batch) - LENGTH_END, leader_epoch)


def set_log_append_time(buf: Buffer, pos: int, timestamp_ms: int) -> None:
    """Make the time of arrival the time of every record. The checksum covers it and is computed anew."""
    header = read_header(buf, pos)
    _put_int16(buf, pos + ATTRIBUTES_AT, header.attributes | LOG_APPEND_TIME_BIT)
    _put_int64(buf, pos + MAX_TIMESTAMP_AT, timestamp_ms)
    _put_uint32(buf, pos + CRC_AT, crc32c(memoryview(buf)[pos + ATTRIBUTES_AT : pos + header.size]))


def set_max_timestamp(buf: Buffer, timestamp_ms: int) -> None:
    """Correct the largest timestamp of a batch, and the checksum, which covers it."""
    _put_int64(buf, MAX_TIMESTAMP_AT, timestamp_ms)
    _put_uint32(buf, CRC_AT, crc32c(memoryview(buf)[ATTRIBUTES_AT:]))
