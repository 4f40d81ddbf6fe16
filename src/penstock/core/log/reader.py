"""Finding things in a log: a range of bytes for an offset, an offset for a time, aborted transactions for a range."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import FileFailure, Slice, Steps
from penstock.core.log.reindex import reindex
from penstock.core.log.scan import Located, read_batch, walk_to
from penstock.core.log.segment import Segment
from penstock.core.log.txn_index import AbortedTransaction
from penstock.core.records.errors import CorruptBatch
from penstock.core.records.record import max_timestamp_record, read_body, spans_of

if TYPE_CHECKING:
    from penstock.core.log.log import Log

Found = tuple[int, int, int]


def check_range(log: Log, offset: int) -> None:
    """Readers stand between the start and the end of the log, the end included."""
    if not log.start_offset <= offset <= log.end_offset:
        raise ApiError(
            ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset} is outside {log.start_offset}..{log.end_offset}"
        )


def read(log: Log, offset: int, max_bytes: int, upto_offset: int, min_one: bool) -> Steps[Slice | None]:
    """A range that begins with the batch holding `offset`. Only its last batch may be cut off by `max_bytes`."""
    check_range(log, offset)
    while True:
        number = _segment_number(log, offset)
        segments = log.segments[number:]
        try:
            for segment in segments:
                if offset >= upto_offset or segment.base_offset >= upto_offset:
                    return None
                located = yield from locate(log, segment, offset)
                if located is not None:
                    return (yield from _slice(log, segment, located, max_bytes, upto_offset, min_one))
            return None
        except FileFailure:
            # Retention or compaction may have taken the file while we read; what replaced it is in the list.
            if not any(segment.removed for segment in segments):
                raise
            check_range(log, offset)


def _segment_number(log: Log, offset: int) -> int:
    return max(0, bisect_right(log.segments, offset, key=lambda segment: segment.base_offset) - 1)


def _slice(
    log: Log, segment: Segment, located: Located, max_bytes: int, upto_offset: int, min_one: bool
) -> Steps[Slice | None]:
    position, header = located
    if header.base_offset >= upto_offset:
        return None
    length = max_bytes
    if max_bytes < header.size:
        if not min_one:
            return None
        length = header.size
    limit = yield from _limit(log, segment, position + length, upto_offset)
    return Slice(segment.log, position, min(length, limit - position))


def _limit(log: Log, segment: Segment, wanted: int, upto_offset: int) -> Steps[int]:
    """The position behind which a reader up to `upto_offset` must not see; exact only where it matters."""
    if upto_offset >= min(log.written_offset, segment.end_offset if segment.sealed else log.end_offset):
        return log.written_bytes(segment)
    if (yield from segment.offsets.lookup(upto_offset)) >= wanted:
        return wanted
    located = yield from locate(log, segment, upto_offset)
    return log.written_bytes(segment) if located is None else located.position


def locate(log: Log, segment: Segment, offset: int) -> Steps[Located | None]:
    """The batch that holds `offset` or, after compaction, the first one behind it."""
    position = yield from segment.offsets.lookup(offset)
    try:
        located = yield from walk_to(segment.log, position, log.written_bytes(segment), offset)
        # An entry names the last offset of the batch it points to: that batch cannot begin behind the offset.
        if not position or located is None or located.position > position or located.header.base_offset <= offset:
            return located
    except CorruptBatch:
        if not position:
            raise
    if segment.sealed:
        yield from reindex(segment, log.settings.index_interval_bytes)
    return (yield from walk_to(segment.log, 0, log.written_bytes(segment), offset))


def offset_for_time(log: Log, timestamp_ms: int) -> Steps[Found | None]:
    """The first record at or after a time, by time index, then batches, then the records of one batch."""
    for segment in list(log.segments):
        if segment.size_bytes and (yield from segment.load_largest_timestamp()) >= timestamp_ms:
            start = max(log.start_offset, (yield from segment.times.lookup(timestamp_ms)))
            found = yield from _find_time(log, segment, start, timestamp_ms)
            if found is not None:
                return found
    return None


def _find_time(log: Log, segment: Segment, offset: int, timestamp_ms: int) -> Steps[Found | None]:
    located = yield from locate(log, segment, offset)
    while located is not None and located.header.base_offset < log.written_offset:
        header = located.header
        if header.max_timestamp >= timestamp_ms:
            data = yield from read_batch(segment.log, located)
            for span in spans_of(header, read_body(data, 0, header)):
                record_offset = header.base_offset + span.offset_delta
                if span.timestamp >= timestamp_ms and record_offset >= log.start_offset:
                    return span.timestamp, record_offset, header.leader_epoch
        located = yield from walk_to(segment.log, located.position + header.size, log.written_bytes(segment), 0)
    return None


def max_timestamp(log: Log) -> Steps[Found | None]:
    """The record with the largest timestamp, the earliest if several have it."""
    best: Segment | None = None
    for segment in list(log.segments):
        if segment.size_bytes:
            timestamp = yield from segment.load_largest_timestamp()
            if best is None or timestamp > best.max_timestamp:
                best = segment
    if best is None or best.max_timestamp < 0:
        return None
    located = yield from locate(log, best, best.max_timestamp_offset)
    if located is None:
        return None
    data = yield from read_batch(best.log, located)
    found = max_timestamp_record(data)
    return None if found is None else (*found, located.header.leader_epoch)


def has_aborted(log: Log, offset: int) -> bool:
    """Whether there may be aborted transactions from an offset on: known without asking the disk."""
    if offset >= log.aborted_end:
        # The usual case, however many segments are ahead.
        return False
    return any(segment.has_aborted for segment in log.segments[_segment_number(log, offset) :])


def aborted_transactions(log: Log, offset: int, upto_offset: int) -> Steps[list[AbortedTransaction]]:
    """From the segment of `offset` on, until an entry's last stable offset shows that later ones cannot matter."""
    found: list[AbortedTransaction] = []
    for segment in log.segments[_segment_number(log, offset) :]:
        for aborted in (yield from segment.aborted.all()):
            if aborted.last_offset >= offset and aborted.first_offset < upto_offset:
                found.append(aborted)
            if aborted.last_stable_offset >= upto_offset:
                return found
    return found
