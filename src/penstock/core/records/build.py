"""Batches made by us: by coordinators, the client, compaction and tests. `seal_apart` packs and checksums them all.

Compaction keeps a batch's identity - base offset, last offset delta, sequence, producer - and drops records from its
body, so that producer state can still be read from what is left. Records keep their bytes; only a new delete horizon,
which takes the base timestamp's place, changes their timestamp deltas.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Final

from penstock.core.base.ports import Buffer
from penstock.core.base.values import frozen
from penstock.core.records import checksum
from penstock.core.records.batch import (
    CODEC_MASK,
    CONTROL_BIT,
    CRC_AT,
    DELETE_HORIZON_BIT,
    HEADER,
    HEADER_BYTES,
    LENGTH_END,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
    read_header,
)
from penstock.core.records.codecs import Codec, compress
from penstock.core.records.record import Span, read_body
from penstock.core.records.varint import encode, read_raw32, read_raw64, zigzag

NewRecord = tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes | None]], int]

_put_crc: Final = Struct(">I").pack_into
_NULL: Final = encode(-1)


@frozen
class Sealed:
    """A batch whose header and body stand apart: whoever sends it needs no copy of a body that may be a megabyte."""

    header: bytearray
    body: Buffer

    def __len__(self) -> int:
        return len(self.header) + len(self.body)

    def joined(self) -> bytearray:
        return bytearray().join((self.header, self.body))


def seal_apart(header: BatchHeader, body: Buffer, level: int | None = None) -> Sealed:
    """The batch of a header and its unpacked body: packed by the header's codec, with length and checksum filled in."""
    packed = compress(header.codec, body, level)
    head = bytearray(HEADER.pack(*header._replace(length=HEADER_BYTES + len(packed) - LENGTH_END, crc=0)))
    _put_crc(head, CRC_AT, checksum.of_parts(head, packed))
    return Sealed(head, packed)


def seal(header: BatchHeader, body: Buffer, level: int | None = None) -> bytearray:
    """The same, in one piece."""
    return seal_apart(header, body, level).joined()


def encode_record(
    offset_delta: int,
    timestamp_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[tuple[str, bytes | None]] = (),
) -> bytes:
    """One record as it stands in a body."""
    parts = [b"\x00", encode(timestamp_delta), encode(offset_delta)]
    parts += (_NULL,) if key is None else (encode(len(key)), key)
    parts += (_NULL,) if value is None else (encode(len(value)), value)
    parts.append(encode(len(headers)))
    for name, content in headers:
        name_bytes = name.encode()
        parts += (encode(len(name_bytes)), name_bytes)
        parts += (_NULL,) if content is None else (encode(len(content)), content)
    record = b"".join(parts)
    return encode(len(record)) + record


class BatchBuilder:
    """Collects records of consecutive offsets into one batch."""

    __slots__ = ("_base_timestamp", "_body", "_count", "_max_timestamp")

    def __init__(self, delete_horizon: int | None = None) -> None:
        self._body: Buffer = bytearray()
        self._count = 0
        self._max_timestamp = NO_TIMESTAMP
        self._base_timestamp = delete_horizon

    @classmethod
    def of_body(cls, body: Buffer, count: int, *, base_timestamp: int, max_timestamp: int) -> BatchBuilder:
        """One that holds records which were encoded elsewhere, from offset delta 0 on. It takes no others."""
        builder = cls(base_timestamp)
        builder._body = body
        builder._count = count
        builder._max_timestamp = max_timestamp
        return builder

    def __len__(self) -> int:
        return self._count

    @property
    def size_bytes(self) -> int:
        """The batch's size were it sealed now without compression."""
        return HEADER_BYTES + len(self._body)

    def append(
        self,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        timestamp: int = NO_TIMESTAMP,
    ) -> None:
        if self._base_timestamp is None:
            self._base_timestamp = timestamp
        assert isinstance(self._body, bytearray), "a body that was encoded elsewhere is complete"
        self._body += encode_record(self._count, timestamp - self._base_timestamp, key, value, headers)
        self._count += 1
        if timestamp > self._max_timestamp:
            self._max_timestamp = timestamp

    def build(
        self,
        *,
        base_offset: int = 0,
        codec: int = Codec.NONE,
        level: int | None = None,
        attributes: int = 0,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        leader_epoch: int = NO_LEADER_EPOCH,
        log_append_time: int | None = None,
    ) -> Sealed:
        assert self._count > 0, "a batch without records is made by empty_batch"
        attributes |= codec | (0 if log_append_time is None else LOG_APPEND_TIME_BIT)
        header = BatchHeader(
            base_offset=base_offset,
            length=0,
            leader_epoch=leader_epoch,
            magic=MAGIC,
            crc=0,
            attributes=attributes,
            last_offset_delta=self._count - 1,
            base_timestamp=NO_TIMESTAMP if self._base_timestamp is None else self._base_timestamp,
            max_timestamp=self._max_timestamp if log_append_time is None else log_append_time,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            count=self._count,
        )
        return seal_apart(header, self._body, level)


def build_batch(
    records: Iterable[NewRecord],
    *,
    base_offset: int = 0,
    codec: int = Codec.NONE,
    level: int | None = None,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    leader_epoch: int = NO_LEADER_EPOCH,
    log_append_time: int | None = None,
    delete_horizon: int | None = None,
) -> bytearray:
    """A batch of (key, value, headers, timestamp) records at consecutive offsets."""
    builder = BatchBuilder(delete_horizon)
    for key, value, headers, timestamp in records:
        builder.append(key, value, headers, timestamp)
    attributes = TRANSACTIONAL_BIT if transactional else 0
    attributes |= CONTROL_BIT if control else 0
    attributes |= 0 if delete_horizon is None else DELETE_HORIZON_BIT
    return builder.build(
        base_offset=base_offset,
        codec=codec,
        level=level,
        attributes=attributes,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        leader_epoch=leader_epoch,
        log_append_time=log_append_time,
    ).joined()


def rebuild(header: BatchHeader, body: bytes, kept: Sequence[Span], delete_horizon: int | None = None) -> bytearray:
    """The batch with only the kept records. A horizon that is given replaces the one it has, if any."""
    if not kept:
        return empty_batch(header)
    max_timestamp = max(span.timestamp for span in kept)
    attributes, base_timestamp = header.attributes, header.base_timestamp
    if delete_horizon is None or delete_horizon == header.delete_horizon:
        parts = [body[span.start : span.end] for span in kept]
    else:
        shift = base_timestamp - delete_horizon
        parts = [_shift_timestamp(body, span.start, span.end, shift) for span in kept]
        attributes, base_timestamp = attributes | DELETE_HORIZON_BIT, delete_horizon
    changed = header._replace(
        attributes=attributes, base_timestamp=base_timestamp, max_timestamp=max_timestamp, count=len(kept)
    )
    return seal(changed, b"".join(parts))


def _shift_timestamp(body: bytes, start: int, end: int, shift: int) -> bytes:
    """A record whose timestamp delta counts from another base."""
    _, position = read_raw32(body, start)
    raw, rest = read_raw64(body, position + 1)
    delta = encode(zigzag(raw) + shift)
    return b"".join((encode(1 + len(delta) + end - rest), body[position : position + 1], delta, body[rest:end]))


def empty_batch(header: BatchHeader) -> bytearray:
    """A header without records: it keeps the producer's last sequence until the producer writes again."""
    kept_bits = header.attributes & (LOG_APPEND_TIME_BIT | TRANSACTIONAL_BIT | CONTROL_BIT)
    return seal(header._replace(attributes=kept_bits, base_timestamp=NO_TIMESTAMP, count=0), b"")


def recompress(batch: Buffer, codec: int, level: int | None = None, pos: int = 0) -> bytearray:
    """The same records under another codec."""
    header = read_header(batch, pos)
    body = read_body(batch, pos, header)
    return seal(header._replace(attributes=header.attributes & ~CODEC_MASK | codec), body, level)
