"""What a leader wants to know of a produced batch that its header cannot say: the records are read, checked, and packed
anew where the topic asks for another codec.

All of it is a function of bytes and rules, so that it can run anywhere: small batches are read where they come in,
others in a worker process (`examine_all` is the job). However small a batch is, it may unpack to anything; unpacking
stops at the bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Buffer, JobFiles
from penstock.core.records.batch import CODEC_MASK, NO_TIMESTAMP, BatchHeader, read_header, set_max_timestamp
from penstock.core.records.build import seal
from penstock.core.records.diverting import Diverted, divert
from penstock.core.records.errors import BodyTooLarge, CorruptBatch, RecordError
from penstock.core.records.fitting import misfits
from penstock.core.records.record import Record, Span, read_body, records_of, spans_of
from penstock.core.records.schema_ids import NOTHING_KNOWN, Known, Named, SchemasWanted
from penstock.core.records.validate import Rules

NAMED_RECORDS_MAX: Final = 1_000
"""How many of the records at fault are named to the producer."""


class Question(NamedTuple):
    """A batch whose header has been checked, the rules of its topic, the time, and what is known of schemas."""

    batch: Buffer
    rules: Rules
    now_ms: int
    known: Known = NOTHING_KNOWN


class Refusal(NamedTuple):
    """A `RecordError` on its way between processes."""

    code: ErrorCode
    message: str
    record_errors: tuple[tuple[int, str], ...] = ()


class Wanted(NamedTuple):
    """`SchemasWanted` on its way between processes."""

    schemas: frozenset[Named]


Finding = Buffer | Diverted | Refusal | Wanted | None
"""The batch as it is to be stored, what is left of it, None where it is stored as it came, why it is not stored, or
what must be known first."""


class Misfits(RecordError):
    """Refused for some of its records only, all of which are in `found`."""

    def __init__(self, header: BatchHeader, found: list[tuple[int, str]]) -> None:
        index, reason = found[0]
        message = f"{len(found)} of {header.count} records do not fit their schemas; record {index}: {reason}"
        super().__init__(ErrorCode.INVALID_RECORD, message, tuple(found[:NAMED_RECORDS_MAX]))
        self.found = found
        self.is_transactional = header.is_transactional


def examine_all(_files: JobFiles, questions: Sequence[Question]) -> list[Finding]:
    """The job: what becomes of each of some batches."""
    return [_find(question) for question in questions]


def _find(question: Question) -> Finding:
    batch, rules, now_ms, known = question
    try:
        examined = examine(batch, rules, now_ms, rules.unpacked_bytes_max, known)
    except SchemasWanted as wanted:
        return Wanted(wanted.schemas)
    except BodyTooLarge as failure:
        return Refusal(ErrorCode.MESSAGE_TOO_LARGE, str(failure))
    except Misfits as misfits:
        if rules.diverts and not misfits.is_transactional:
            return divert(batch, rules, misfits.found)
        why = "; dead letters of transactions are not written" if rules.diverts else ""
        return Refusal(misfits.code, f"{misfits.message}{why}", misfits.record_errors)
    except RecordError as refusal:
        return Refusal(refusal.code, str(refusal.message), refusal.record_errors)
    return None if examined is batch else examined


def examine(batch: Buffer, rules: Rules, now_ms: int, unpacked_bytes_max: int, known: Known = NOTHING_KNOWN) -> Buffer:
    """The batch as its topic wants it stored: the very one, or another. `RecordError` where it is refused,
    `BodyTooLarge` where it unpacks to more than the bound, `SchemasWanted` where it names schemas unknown here."""
    header = read_header(batch)
    try:
        body = read_body(batch, 0, header, unpacked_bytes_max)
        latest = header.max_timestamp
        if rules.reads_each or rules.doubts_times(header, now_ms):
            latest = _check_records(header, body, rules, now_ms)
        if rules.demands:
            found = misfits(header, body, rules.demands, known)
            if found:
                raise Misfits(header, found)
    except BodyTooLarge:
        raise
    except CorruptBatch as failure:
        raise RecordError(ErrorCode.INVALID_RECORD, str(failure)) from None
    is_right = rules.log_append_time or latest == header.max_timestamp
    if rules.recompresses(header):
        return _recompressed(header if is_right else header._replace(max_timestamp=latest), body, rules)
    if is_right:
        return batch
    corrected = bytearray(batch)
    set_max_timestamp(corrected, latest)
    return corrected


def _check_records(header: BatchHeader, body: bytes, rules: Rules, now_ms: int) -> int:
    """The latest of the records' times; `RecordError` names the records that break a rule of the topic."""
    earliest, latest = now_ms - rules.before_max_ms, now_ms + rules.after_max_ms
    seen, found, is_mistimed = NO_TIMESTAMP, list[tuple[int, str]](), False
    records: Iterable[Record | Span] = records_of(header, body) if rules.validates else spans_of(header, body)
    for index, record in enumerate(records):
        timestamp = record.timestamp
        if rules.compacted and record.key is None:
            _name(found, index, "a compacted topic needs a key")
        elif timestamp != NO_TIMESTAMP and not earliest <= timestamp <= latest and not rules.log_append_time:
            is_mistimed = True
            _name(found, index, f"timestamp {timestamp} is not within [{earliest}, {latest}]")
        if timestamp > seen:
            seen = timestamp
    if is_mistimed:
        raise RecordError(ErrorCode.INVALID_TIMESTAMP, "timestamps out of range", tuple(found))
    if found:
        raise RecordError(ErrorCode.INVALID_RECORD, "records without a key", tuple(found))
    return seen


def _name(found: list[tuple[int, str]], index: int, why: str) -> None:
    if len(found) < NAMED_RECORDS_MAX:
        found.append((index, why))


def _recompressed(header: BatchHeader, body: bytes, rules: Rules) -> bytearray:
    assert rules.codec is not None, "the rules ask for a codec"
    packed = seal(header._replace(attributes=header.attributes & ~CODEC_MASK | rules.codec), body, rules.level)
    if len(packed) > rules.max_message_bytes:
        raise RecordError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"a batch recompressed to {len(packed)} bytes exceeds {rules.max_message_bytes}",
        )
    return packed
