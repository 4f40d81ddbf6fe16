"""What the leader demands of a produced batch, decided from its header and checksum alone.

Kafka walks through every record of every batch; here the bytes stay opaque unless the topic itself asks a question
about records (a compacted topic wants keys, a limit on old timestamps wants each of them, `penstock.batch.validation`
wants everything), or the header says something of its times that only the records can settle. Then it is
`NeedsReading`, and `examine` reads them. The hot function asks one combined question and finds out why only when the
answer is no.
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
    TRANSACTIONAL_BIT,
    BatchHeader,
    make_tuple,
    read_header,
)
from penstock.core.records.codecs import RATIO_MAX, Codec
from penstock.core.records.errors import CorruptBatch, RecordError
from penstock.core.records.record import TIMESTAMP_ABS_MAX, read_body, records_of
from penstock.core.records.schema_ids import Demand, are_of_heads

TIMESTAMP_UNBOUNDED: Final = (1 << 63) - 1
_ZSTD_VERSION_MIN: Final = 7
_LZ4: Final = Codec.LZ4.value
_ZSTD: Final = Codec.ZSTD.value
_PRODUCERS_NEVER_SET: Final = CONTROL_BIT | LOG_APPEND_TIME_BIT
# A record takes a byte for each of its size, attributes, times, offset, key, value and number of headers.
RECORD_BYTES_MIN: Final = 7
# What the length field counts of the header.
_HEADER_REST: Final = HEADER_BYTES - LENGTH_END
assert (RECORD_BYTES_MIN, _HEADER_REST) == (7, 49)
UNPACKED_BYTES_MAX: Final = 64 * 1024 * 1024
RECORDS_MAX: Final = 1_000_000
INLINE_BYTES_MAX: Final = 16 * 1024
# The smallest record of the oldest format: Kafka calls anything shorter corrupt before it looks at the format.
_LENGTH_MIN: Final = 14

_unpack = HEADER.unpack_from


class NeedsReading(Exception):
    """The header of a produced batch is fine as far as it goes; only its records can say whether it is taken."""

    def __init__(self, header: BatchHeader) -> None:
        super().__init__()
        self.header = header


class Rules:
    """A topic's settings, in the form the checks ask them."""

    __slots__ = (
        "after_max_ms",
        "before_max_ms",
        "codec",
        "compacted",
        "demands",
        "diverts",
        "inline_bytes_max",
        "is_plain",
        "length_max",
        "level",
        "log_append_time",
        "looks_at_heads",
        "max_message_bytes",
        "reads_each",
        "reads_payloads",
        "reads_records",
        "records_max",
        "rewrites",
        "unpacked_bytes_max",
        "validates",
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
        validates: bool = False,
        records_max: int = RECORDS_MAX,
        unpacked_bytes_max: int = UNPACKED_BYTES_MAX,
        inline_bytes_max: int = INLINE_BYTES_MAX,
        demands: tuple[Demand, ...] = (),
        diverts: bool = False,
    ) -> None:
        """`codec` None keeps what the producer chose. Under LogAppendTime a producer's timestamps are not looked at.
        `validates`: each record is checked; `inline_bytes_max`: smaller batches are read where they come in, but for
        payloads, which `demands` of schemas may ask to be read; `diverts`: what does not fit becomes a dead letter."""
        self.max_message_bytes = max_message_bytes
        self.length_max = max_message_bytes - LENGTH_END
        self.log_append_time = log_append_time
        self.before_max_ms = TIMESTAMP_UNBOUNDED if log_append_time else before_max_ms
        self.after_max_ms = TIMESTAMP_UNBOUNDED if log_append_time else after_max_ms
        self.compacted = compacted
        self.codec = codec
        self.level = level
        self.validates = validates
        self.records_max = records_max
        self.unpacked_bytes_max = unpacked_bytes_max
        self.inline_bytes_max = inline_bytes_max
        self.demands = demands
        self.diverts = diverts and bool(demands)
        self.reads_each = validates or compacted or self.before_max_ms != TIMESTAMP_UNBOUNDED
        # Where nothing but the heads of values is asked for, whoever leads looks at them before it reads the records.
        self.looks_at_heads = not self.reads_each and not self.diverts and are_of_heads(demands)
        self.reads_records = self.reads_each or bool(demands and not self.looks_at_heads)
        self.reads_payloads = any(each.reads_payloads for each in demands)
        self.rewrites = log_append_time or codec is not None
        # Nearly every topic: what the header says is enough, and the batch stays as it is.
        self.is_plain = not (self.rewrites or self.looks_at_heads or self.reads_records)

    def recompresses(self, header: BatchHeader) -> bool:
        """Whether a batch is to be stored under another codec than it has."""
        return self.codec is not None and self.codec != header.codec

    def doubts_times(self, header: BatchHeader, now_ms: int) -> bool:
        """Whether what the header says of its times cannot be, or may not be; the records know better."""
        base, latest = header.base_timestamp, header.max_timestamp
        return not self.log_append_time and (not -1 <= base <= latest or latest - now_ms > self.after_max_ms)


def check_produced(records: memoryview, rules: Rules, version: int, now_ms: int) -> BatchHeader:
    """The header of the one batch that a produce request of a version carries for a partition; `RecordError` where it
    is refused, `NeedsReading` where only its records can tell."""
    try:
        header = make_tuple(BatchHeader, _unpack(records))
    except StructError:
        raise _unframed(records) from None
    _, length, _, magic, crc, attributes, last_delta, base_timestamp, max_timestamp, producer_id, _, sequence, count = (
        header
    )
    if (
        magic != MAGIC
        or length + LENGTH_END != len(records)
        or length > rules.length_max
        or crc32c(records[ATTRIBUTES_AT:]) != crc
        or header[0] != 0
        or count != last_delta + 1
        or not 0 < count <= rules.records_max
        or count * 7 + 49 > length  # RECORD_BYTES_MIN and _HEADER_REST: reading them takes longer than comparing.
        or attributes & _PRODUCERS_NEVER_SET
        or attributes & CODEC_MASK > (_ZSTD if version >= _ZSTD_VERSION_MIN else _LZ4)
        or (sequence < 0 if producer_id >= 0 else attributes & TRANSACTIONAL_BIT)
        or not -1 <= base_timestamp <= max_timestamp
        or max_timestamp - now_ms > rules.after_max_ms
        or rules.reads_records
    ):
        _refuse(records, header, rules, version, now_ms)
    return header


def _refuse(records: memoryview, header: BatchHeader, rules: Rules, version: int, now_ms: int) -> None:
    """Raise the reason that Kafka would find first, or `NeedsReading`; or return: many records were packed well."""
    refusal = _frame_refusal(records, header, version) or _batch_refusal(records, header, rules)
    if refusal is not None:
        raise refusal
    if rules.reads_records or rules.doubts_times(header, now_ms):
        raise NeedsReading(header)


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
    if max(abs(header.base_timestamp), abs(header.max_timestamp)) > TIMESTAMP_ABS_MAX:
        return RecordError(
            ErrorCode.INVALID_TIMESTAMP, f"timestamps {header.base_timestamp} to {header.max_timestamp} are no times"
        )
    return _count_refusal(header, rules)


def _count_refusal(header: BatchHeader, rules: Rules) -> RecordError | None:
    """A count that the bytes cannot hold. What is only too many can be sent in several batches, as producers do that
    hear MESSAGE_TOO_LARGE."""
    packed_bytes, unpacked_bytes_min = header.size - HEADER_BYTES, header.count * RECORD_BYTES_MIN
    if unpacked_bytes_min > packed_bytes * RATIO_MAX[header.codec]:
        return RecordError(
            ErrorCode.INVALID_RECORD, f"{packed_bytes} bytes of codec {header.codec} hold no {header.count} records"
        )
    if header.count > rules.records_max:
        return RecordError(
            ErrorCode.MESSAGE_TOO_LARGE, f"a batch of {header.count} records exceeds {rules.records_max}"
        )
    if header.codec != Codec.NONE and unpacked_bytes_min > rules.unpacked_bytes_max:
        return RecordError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"a batch of {header.count} records unpacks to more than {rules.unpacked_bytes_max} bytes",
        )
    return None


def deep_check(batch: Buffer, pos: int = 0) -> BatchHeader:
    """Everything that can be checked of a stored batch: checksum, and each record down to its headers."""
    header = read_header(batch, pos)
    body = read_body(batch, pos, header)
    if crc32c(memoryview(batch)[pos + ATTRIBUTES_AT : pos + header.size]) != header.crc:
        raise CorruptBatch("the checksum does not match", position=pos, offset=header.base_offset)
    for _ in records_of(header, body):
        pass
    return header
