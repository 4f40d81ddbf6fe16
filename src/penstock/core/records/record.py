"""Records out of a batch, for the few jobs that are per record. Nothing on the way of a produce or fetch comes here.

The loops are plain Python on `bytes`: the one- and two-byte varints that nearly every field is are read in place, and
running off the end is left to IndexError, which costs nothing until it happens. A body that contradicts its header
gives `CorruptBatch` with the offset, whatever is in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from penstock.core.base.ports import Buffer
from penstock.core.records.batch import (
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    BatchHeader,
    check_frame,
    read_header,
)
from penstock.core.records.codecs import DECOMPRESSED_BYTES_MAX, decompress
from penstock.core.records.errors import CorruptBatch
from penstock.core.records.varint import read_raw32, wide32, wide64, zigzag

Headers = tuple[tuple[str, bytes | None], ...]

_NULL: Final = 1
# Half of the 64-bit range on either side: a base within it cannot overflow with a delta of two bytes.
TIMESTAMP_ABS_MAX: Final = 1 << 62


class Record(NamedTuple):
    """One record. Header keys that are not UTF-8 show replacement characters, as in Java's client."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class Span(NamedTuple):
    """Where a record lies in its unpacked body, and what compaction asks of it."""

    offset_delta: int
    key: bytes | None
    has_value: bool
    start: int
    end: int
    timestamp: int


_new = tuple.__new__


def read_body(
    batch: Buffer, pos: int, header: BatchHeader, decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX
) -> bytes:
    """The records of a batch, unpacked. The checksum is not looked at: `checksum.is_valid` does that."""
    check_frame(header, pos)
    if pos + header.size > len(batch):
        raise CorruptBatch("the batch is cut off", position=pos, offset=header.base_offset)
    if abs(header.base_timestamp) > TIMESTAMP_ABS_MAX:
        raise CorruptBatch(f"base timestamp {header.base_timestamp}", position=pos, offset=header.base_offset)
    try:
        return decompress(
            header.codec, memoryview(batch)[pos + HEADER_BYTES : pos + header.size], decompressed_bytes_max
        )
    except CorruptBatch as failure:
        failure.position, failure.offset = pos, header.base_offset
        raise


def iterate(batch: Buffer, pos: int = 0, decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX) -> Iterator[Record]:
    """The records of the batch at a position, in order."""
    header = read_header(batch, pos)
    return records_of(header, read_body(batch, pos, header, decompressed_bytes_max))


def keys_of(batch: Buffer, pos: int = 0, decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX) -> Iterator[Span]:
    """What compaction needs of each record, without values and headers."""
    header = read_header(batch, pos)
    return spans_of(header, read_body(batch, pos, header, decompressed_bytes_max))


def records_of(header: BatchHeader, body: bytes) -> Iterator[Record]:
    """The records of an unpacked body. `p` is the last byte read, `n` a varint as it stands, before zigzag."""
    timestamp_base, timestamp_n, timestamp = _first_timestamp(header)
    dense, offset, p = _first_delta(header), header.base_offset - 1, -1
    try:
        for left in range(header.count, 0, -1):
            if (n := body[p := p + 1]) > 127:
                n = n & 127 | body[p := p + 1] << 7
                if n > 16383:
                    n, p = wide32(body, p)
            # An odd n is a negative size; no position is half of an odd number, so the check at the end finds it.
            twice_end = p + p + n
            # One byte of attributes, of which no bit is in use, comes before the timestamp.
            if (n := body[p := p + 2]) > 127:
                n = n & 127 | body[p := p + 1] << 7
                if n > 16383:
                    n, p = _wide_timestamp(header, body, p)
            # Neighbours mostly share their timestamp and follow each other: both are worked out only on a change.
            if n != timestamp_n and timestamp_base is not None:
                timestamp_n = n
                timestamp = timestamp_base + (n >> 1 ^ -(n & 1))
            if (n := body[p := p + 1]) > 127:
                n = n & 127 | body[p := p + 1] << 7
                if n > 16383:
                    n, p = wide32(body, p)
            offset += 1
            if n != dense:
                _check_gap(header, dense, n, left)
                offset = header.base_offset + (n >> 1)
            dense = n + 2
            if (n := body[p := p + 1]) > 127:
                n = n & 127 | body[p := p + 1] << 7
                if n > 16383:
                    n, p = wide32(body, p)
            key = None if n & 1 and _is_null("key", n) else body[p + 1 : (p := p + (n >> 1)) + 1]
            if (n := body[p := p + 1]) > 127:
                n = n & 127 | body[p := p + 1] << 7
                if n > 16383:
                    n, p = wide32(body, p)
            value = None if n & 1 and _is_null("value", n) else body[p + 1 : (p := p + (n >> 1)) + 1]
            headers: Headers = ()
            if body[p := p + 1]:
                headers, p = _read_headers(body, p)
            if p + p != twice_end:
                raise CorruptBatch("a record does not fill its size")
            yield _new(Record, (offset, timestamp, key, value, headers))
        if p + 1 != len(body):
            raise CorruptBatch(f"{len(body) - p - 1} bytes follow the last record")
    except (IndexError, CorruptBatch) as failure:
        raise _explain(failure, max(offset, header.base_offset)) from None


def spans_of(header: BatchHeader, body: bytes) -> Iterator[Span]:
    """The spans of an unpacked body, by the same loop. Headers are stepped over unread and may be anything."""
    timestamp_base, timestamp_n, timestamp = _first_timestamp(header)
    dense, delta, p, size = _first_delta(header), -1, -1, len(body)
    try:
        for left in range(header.count, 0, -1):
            start = p + 1
            if (n := body[p := p + 1]) > 127:
                n = n & 127 | body[p := p + 1] << 7
                if n > 16383:
                    n, p = wide32(body, p)
            last = p + (n >> 1)
            if n & 1 or last >= size:
                raise CorruptBatch(f"a record of {zigzag(n)} bytes")
            if (n := body[p := p + 2]) > 127:
                n = n & 127 | body[p := p + 1] << 7
                if n > 16383:
                    n, p = _wide_timestamp(header, body, p)
            if n != timestamp_n and timestamp_base is not None:
                timestamp_n = n
                timestamp = timestamp_base + (n >> 1 ^ -(n & 1))
            if (n := body[p := p + 1]) > 127:
                n = n & 127 | body[p := p + 1] << 7
                if n > 16383:
                    n, p = wide32(body, p)
            if n != dense:
                _check_gap(header, dense, n, left)
            delta = n >> 1
            dense = n + 2
            if (n := body[p := p + 1]) > 127:
                n = n & 127 | body[p := p + 1] << 7
                if n > 16383:
                    n, p = wide32(body, p)
            key = None if n & 1 and _is_null("key", n) else body[p + 1 : (p := p + (n >> 1)) + 1]
            if (n := body[p := p + 1]) > 127:
                n = n & 127 | body[p := p + 1] << 7
                if n > 16383:
                    n, p = wide32(body, p)
            # The number of headers, one byte or more, must still follow the value.
            if p + (0 if n & 1 and _is_null("value", n) else n >> 1) >= last:
                raise CorruptBatch("a record does not fill its size")
            p = last
            yield _new(Span, (delta, key, not n & 1, start, p + 1, timestamp))
        if p + 1 != size:
            raise CorruptBatch(f"{size - p - 1} bytes follow the last record")
    except (IndexError, CorruptBatch) as failure:
        raise _explain(failure, header.base_offset + max(delta, 0)) from None


def _first_timestamp(header: BatchHeader) -> tuple[int | None, int, int]:
    """(base of the deltas, a delta before zigzag, its timestamp). Without a base, the timestamp is everyone's."""
    if header.attributes & LOG_APPEND_TIME_BIT:
        return None, 0, header.max_timestamp
    return header.base_timestamp, 0, header.base_timestamp


def _first_delta(header: BatchHeader) -> int:
    """The first record's offset delta before zigzag, if no record is missing."""
    if header.count > header.last_offset_delta + 1:
        raise CorruptBatch(
            f"{header.count} records with a last offset delta of {header.last_offset_delta}", offset=header.base_offset
        )
    return 0


def _check_gap(header: BatchHeader, dense: int, raw: int, left: int) -> None:
    """Offsets rise and leave room for the records still to come, so that after a gap they cannot run over the end."""
    if raw & 1 or raw < dense or (raw >> 1) + left - 1 > header.last_offset_delta:
        raise CorruptBatch(f"an offset delta of {zigzag(raw)}")


def _wide_timestamp(header: BatchHeader, body: bytes, p: int) -> tuple[int, int]:
    raw, p = wide64(body, p)
    if not -(1 << 63) <= header.base_timestamp + zigzag(raw) < 1 << 63:
        raise CorruptBatch("a timestamp beyond 64 bits")
    return raw, p


def _is_null(what: str, raw: int) -> bool:
    """Of a negative size: -1 says that there is nothing, others make no sense."""
    if raw != _NULL:
        raise CorruptBatch(f"a {what} of {zigzag(raw)} bytes")
    return True


def _read_headers(body: bytes, p: int) -> tuple[Headers, int]:
    """The headers whose number stands at `p`, and the position of their last byte."""
    n, p = read_raw32(body, p)
    if n & 1:
        raise CorruptBatch(f"{zigzag(n)} headers")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(n >> 1):
        n, p = read_raw32(body, p)
        if n & 1:
            raise CorruptBatch(f"a header key of {zigzag(n)} bytes")
        name = str(body[p : (p := p + (n >> 1))], "utf-8", "replace")
        n, p = read_raw32(body, p)
        headers.append((name, None if n & 1 and _is_null("header value", n) else body[p : (p := p + (n >> 1))]))
    if p > len(body):
        raise CorruptBatch("headers that end too early")
    return tuple(headers), p - 1


def _explain(failure: IndexError | CorruptBatch, offset: int) -> CorruptBatch:
    """Running off the end is a body that is too short. `offset` is the last that was read; the fault is there or next
    to it."""
    reason = "a record ends too early" if isinstance(failure, IndexError) else failure.reason
    return CorruptBatch(reason, offset=offset)


def find_timestamp(batch: Buffer, target: int, pos: int = 0) -> tuple[int, int] | None:
    """(timestamp, offset) of the first record that is at or after a time."""
    header = read_header(batch, pos)
    for span in spans_of(header, read_body(batch, pos, header)):
        if span.timestamp >= target:
            return span.timestamp, header.base_offset + span.offset_delta
    return None


def max_timestamp_record(batch: Buffer, pos: int = 0) -> tuple[int, int] | None:
    """(timestamp, offset) of the earliest record that has the largest timestamp; None in an empty batch."""
    header = read_header(batch, pos)
    latest = max(spans_of(header, read_body(batch, pos, header)), key=lambda span: span.timestamp, default=None)
    return None if latest is None else (latest.timestamp, header.base_offset + latest.offset_delta)
