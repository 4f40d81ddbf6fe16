"""Finding a record by its time within one batch: small ones are read in place, others by a worker, because a batch may
unpack to anything and hold a million records, whoever has written it."""

from __future__ import annotations

from typing import Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Buffer, FileFailure, Job, JobFiles, RunJob, Steps
from penstock.core.records.batch import BatchHeader, read_header
from penstock.core.records.errors import BodyTooLarge, CorruptBatch
from penstock.core.records.record import read_body, spans_of

INLINE_BYTES_MAX: Final = 16 * 1024
INLINE_UNPACKED_BYTES_MAX: Final = 64 * 1024
INLINE_RECORDS_MAX: Final = 256
UNPACKED_BYTES_MAX: Final = 128 * 1024 * 1024

Found = tuple[int, int]
"""(timestamp, offset)"""


def first_at(data: Buffer, header: BatchHeader, timestamp_ms: int, from_offset: int) -> Steps[Found | None]:
    """The first record of a batch at or after a time, and not before an offset."""
    if header.size <= INLINE_BYTES_MAX and header.count <= INLINE_RECORDS_MAX:
        try:
            return _first_at(data, timestamp_ms, from_offset, INLINE_UNPACKED_BYTES_MAX)
        except BodyTooLarge:
            pass
    return (yield from _elsewhere(Job(first_at_job, (bytes(data), timestamp_ms, from_offset))))


def latest(data: Buffer, header: BatchHeader) -> Steps[Found | None]:
    """The earliest record of a batch that has its largest timestamp."""
    if header.size <= INLINE_BYTES_MAX and header.count <= INLINE_RECORDS_MAX:
        try:
            return _latest(data, INLINE_UNPACKED_BYTES_MAX)
        except BodyTooLarge:
            pass
    return (yield from _elsewhere(Job(latest_job, (bytes(data),))))


def _elsewhere(job: Job) -> Steps[Found | None]:
    try:
        found: Found | str | None = yield RunJob(job, is_awaited=True)
    except FileFailure as failure:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"nobody can read the batch: {failure.message}") from None
    if isinstance(found, str):
        raise CorruptBatch(found)
    return found


def first_at_job(_files: JobFiles, data: bytes, timestamp_ms: int, from_offset: int) -> Found | str | None:
    """The job: what was found, nothing, or why the batch cannot be read."""
    try:
        return _first_at(data, timestamp_ms, from_offset, UNPACKED_BYTES_MAX)
    except CorruptBatch as failure:
        return str(failure)


def latest_job(_files: JobFiles, data: bytes) -> Found | str | None:
    try:
        return _latest(data, UNPACKED_BYTES_MAX)
    except CorruptBatch as failure:
        return str(failure)


def _first_at(data: Buffer, timestamp_ms: int, from_offset: int, unpacked_bytes_max: int) -> Found | None:
    header = read_header(data)
    for span in spans_of(header, read_body(data, 0, header, unpacked_bytes_max)):
        offset = header.base_offset + span.offset_delta
        if span.timestamp >= timestamp_ms and offset >= from_offset:
            return span.timestamp, offset
    return None


def _latest(data: Buffer, unpacked_bytes_max: int) -> Found | None:
    header = read_header(data)
    spans = spans_of(header, read_body(data, 0, header, unpacked_bytes_max))
    found = max(spans, key=lambda span: span.timestamp, default=None)
    return None if found is None else (found.timestamp, header.base_offset + found.offset_delta)
