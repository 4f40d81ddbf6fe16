"""What the leader demands of a produced batch, decided from its header and checksum alone.

Kafka walks through every record of every batch; here the bytes stay opaque (`deep_check` is the walk, for those who
want it) unless the topic itself asks a question about records: a compacted topic wants keys, a limit on old timestamps
wants each of them. The hot function asks one combined question and finds out why only when the answer is no.
"""

from __future__ import annotations

from struct import error as StructError
from typing import Final

from penstock.core.base.crc32c import crc32c
from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Buffer
from penstock.core.records.batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    CONTROL_BIT,
    HEADER,
    HEADER_BYTES,
    LENGTH_AT,
    LENGTH_END,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    MAGIC_AT,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
    read_header,
    set_log_append_time,
)
from penstock.core.records.build import recompress
from penstock.core.records.codecs import Codec
from penstock.core.records.errors import CorruptBatch, RecordError
from penstock.core.records.record import keys_of, read_body, records_of

TIMESTAMP_UNBOUNDED: Final = (1 << 63) - 1
_ZSTD_VERSION_MIN: Final = 7
_LZ4: Final = Codec.LZ4.value
_ZSTD: Final = Codec.ZSTD.value
_PRODUCERS_NEVER_SET: Final = CONTROL_BIT | LOG_APPEND_TIME_BIT
# The smallest record of the oldest format: Kafka calls anything shorter corrupt before it looks at the format.
_LENGTH_MIN: Final = 14

_unpack = HEADER.unpack_from
_make = BatchHeader._make


class Rules:
    """A topic's settings, in the form the checks ask them."""

    __slots__ = (
        "after_max_ms",
        "before_max_ms",
        "codec",
        "compacted",
        "level",
        "log_append_time",
        "max_message_bytes",
        "reads_records",
        "rewrites",
    )

    def __init__(
        self,
        *,
        max_message_bytes: int,
        log_append_time: bool = False,
        before_max_ms: int = TIMESTAMP_UNBOUNDED,
        after_max_ms: int = TIMESTAMP_UNBOUNDED,
        compacted: bool = False,
        codec: int | None = None,
        level: int | None = None,
    ) -> None:
        """`codec` None keeps what the producer chose. Under LogAppendTime a producer's timestamps are not looked at."""
        self.max_message_bytes = max_message_bytes
        self.log_append_time = log_append_time
        self.before_max_ms = TIMESTAMP_UNBOUNDED if log_append_time else before_max_ms
        self.after_max_ms = TIMESTAMP_UNBOUNDED if log_append_time else after_max_ms
        self.compacted = compacted
        self.codec = codec
        self.level = level
        self.reads_records = compacted or self.before_max_ms != TIMESTAMP_UNBOUNDED
        self.rewrites = log_append_time or codec is not None


def check_produced(records: memoryview, rules: Rules, version: int, now_ms: int) -> BatchHeader:
    """The header of the one batch that a produce request of a version carries for a partition, or `RecordError`."""
    try:
        header = _make(_unpack(records))
    except StructError:
        raise _unframed(records) from None
    _, length, _, magic, crc, attributes, last_delta, _, max_timestamp, producer_id, _, sequence, count = header
    if (
        magic != MAGIC
        or length + LENGTH_END != len(records)
        or length + LENGTH_END > rules.max_message_bytes
        or crc32c(records[ATTRIBUTES_AT:]) != crc
        or header[0] != 0
        or count != last_delta + 1
        or count <= 0
        or attributes & _PRODUCERS_NEVER_SET
        or attributes & CODEC_MASK > (_ZSTD if version >= _ZSTD_VERSION_MIN else _LZ4)
        or (sequence < 0 if producer_id >= 0 else attributes & TRANSACTIONAL_BIT)
        or max_timestamp - now_ms > rules.after_max_ms
        or rules.reads_records
    ):
        _refuse(records, header, rules, version, now_ms)
    return header


def _refuse(records: memoryview, header: BatchHeader, rules: Rules, version: int, now_ms: int) -> None:
    """Raise the reason that Kafka would find first, or return: then only the records were in question, and are fine."""
    refusal = _frame_refusal(records, header, version) or _batch_refusal(records, header, rules)
    if refusal is not None:
        raise refusal
    _check_records(records, header, rules, now_ms)


def _unframed(records: memoryview) -> RecordError:
    """Too short for a header: for Kafka no batch at all, unless the little that is there is already wrong."""
    size = len(records)
    if size >= LENGTH_END and int.from_bytes(records[LENGTH_AT:LENGTH_END], "big", signed=True) < _LENGTH_MIN:
        return RecordError(ErrorCode.CORRUPT_MESSAGE, "the batch's length is smaller than any batch")
    if size > MAGIC_AT and records[MAGIC_AT] > MAGIC:
        return RecordError(ErrorCode.CORRUPT_MESSAGE, f"unknown magic {records[MAGIC_AT]}")
    return RecordError(ErrorCode.INVALID_RECORD, f"{size} bytes hold no complete record batch")


def _frame_refusal(records: memoryview, header: BatchHeader, version: int) -> RecordError | None:
    if header.length < _LENGTH_MIN:
        return RecordError(ErrorCode.CORRUPT_MESSAGE, f"batch length {header.length} is smaller than any batch")
    if not 0 <= header.magic <= MAGIC:
        return RecordError(ErrorCode.CORRUPT_MESSAGE, f"unknown magic {header.magic}")
    if header.size > len(records):
        return RecordError(ErrorCode.INVALID_RECORD, f"the batch declares {header.size} bytes and has {len(records)}")
    if header.magic != MAGIC:
        return RecordError(ErrorCode.INVALID_RECORD, f"only magic {MAGIC} batches may be produced, not {header.magic}")
    if header.size < HEADER_BYTES:
        return RecordError(ErrorCode.CORRUPT_MESSAGE, f"batch length {header.length} is smaller than its header")
    if header.codec == Codec.ZSTD and version < _ZSTD_VERSION_MIN:
        return RecordError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"zstd needs produce version {_ZSTD_VERSION_MIN}, not {version}"
        )
    if header.size < len(records):
        return RecordError(
            ErrorCode.INVALID_RECORD, f"{len(records) - header.size} bytes follow the one batch a partition may get"
        )
    return None


def _batch_refusal(records: memoryview, header: BatchHeader, rules: Rules) -> RecordError | None:
    if header.base_offset != 0:
        return RecordError(ErrorCode.INVALID_RECORD, f"the base offset must be 0, not {header.base_offset}")
    if header.size > rules.max_message_bytes:
        return RecordError(
            ErrorCode.MESSAGE_TOO_LARGE, f"a batch of {header.size} bytes exceeds {rules.max_message_bytes}"
        )
    computed = crc32c(records[ATTRIBUTES_AT:])
    if computed != header.crc:
        return RecordError(ErrorCode.CORRUPT_MESSAGE, f"the checksum is {computed}, the batch says {header.crc}")
    if header.codec > Codec.ZSTD:
        return RecordError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"unknown codec {header.codec}")
    if header.count <= 0 or header.count != header.last_offset_delta + 1:
        return RecordError(
            ErrorCode.INVALID_RECORD,
            f"{header.count} records cannot have a last offset delta of {header.last_offset_delta}",
        )
    if header.is_control:
        return RecordError(ErrorCode.INVALID_RECORD, "clients may not write control records")
    if header.producer_id >= 0 and header.base_sequence < 0:
        return RecordError(
            ErrorCode.INVALID_RECORD, f"producer {header.producer_id} sent sequence {header.base_sequence}"
        )
    if header.producer_id < 0 and header.is_transactional:
        return RecordError(ErrorCode.INVALID_RECORD, "transactional records need a producer id")
    if header.is_log_append_time:
        return RecordError(ErrorCode.INVALID_TIMESTAMP, "producers may not set the timestamp type LogAppendTime")
    return None


def _check_records(records: memoryview, header: BatchHeader, rules: Rules, now_ms: int) -> None:
    """Name the records that break a rule of the topic."""
    earliest, latest = now_ms - rules.before_max_ms, now_ms + rules.after_max_ms
    keyless: list[tuple[int, str]] = []
    mistimed: list[tuple[int, str]] = []
    try:
        for index, span in enumerate(keys_of(records)):
            if rules.compacted and span.key is None:
                keyless.append((index, "a compacted topic needs a key"))
            elif span.timestamp != NO_TIMESTAMP and not earliest <= span.timestamp <= latest:
                mistimed.append((index, f"timestamp {span.timestamp} is not within [{earliest}, {latest}]"))
    except CorruptBatch as failure:
        raise RecordError(ErrorCode.INVALID_RECORD, str(failure)) from None
    if header.max_timestamp > latest and not mistimed:
        raise RecordError(ErrorCode.INVALID_TIMESTAMP, f"max timestamp {header.max_timestamp} is beyond {latest}")
    if mistimed:
        raise RecordError(ErrorCode.INVALID_TIMESTAMP, "timestamps out of range", tuple(sorted(mistimed + keyless)))
    if keyless:
        raise RecordError(ErrorCode.INVALID_RECORD, "records without a key", tuple(keyless))


def conform(records: memoryview, header: BatchHeader, rules: Rules, now_ms: int) -> tuple[memoryview, BatchHeader]:
    """An accepted batch as the topic wants it stored, if `rules.rewrites`: under its codec, with the time of arrival.

    The given memory is patched where that suffices; after recompression the result is other memory."""
    if rules.codec is not None and rules.codec != header.codec:
        records = memoryview(_recompressed(records, rules.codec, rules.level))
        if len(records) > rules.max_message_bytes:
            raise RecordError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"a batch recompressed to {len(records)} bytes exceeds {rules.max_message_bytes}",
            )
    if rules.log_append_time:
        set_log_append_time(records, 0, now_ms)
    return records, read_header(records)


def _recompressed(records: memoryview, codec: int, level: int | None) -> bytearray:
    try:
        return recompress(records, codec, level)
    except CorruptBatch as failure:
        raise RecordError(ErrorCode.INVALID_RECORD, str(failure)) from None


def deep_check(batch: Buffer, pos: int = 0) -> BatchHeader:
    """Everything that can be checked of a stored batch: checksum, and each record down to its headers."""
    header = read_header(batch, pos)
    body = read_body(batch, pos, header)
    if crc32c(memoryview(batch)[pos + ATTRIBUTES_AT : pos + header.size]) != header.crc:
        raise CorruptBatch("the checksum does not match", position=pos, offset=header.base_offset)
    for _ in records_of(header, body):
        pass
    return header
