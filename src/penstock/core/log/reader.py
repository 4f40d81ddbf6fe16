"""Finding things in a log: a range of bytes for an offset, an offset for a time, aborted transactions for a range."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, TypeVar

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import FileFailure, Slice, Steps
from penstock.core.log import time_search
from penstock.core.log.reindex import reindex, reindex_active
from penstock.core.log.scan import Located, read_batch, walk_from, walk_to
from penstock.core.log.segment import UNKNOWN, Segment
from penstock.core.log.txn_index import AbortedTransaction
from penstock.core.records.errors import CorruptBatch

if TYPE_CHECKING:
    from penstock.core.log.log import Log

Found = tuple[int, int, int]
Result = TypeVar("Result")
ANYWHERE = -1


def told(log: Log, steps: Steps[Result], offset: int = ANYWHERE) -> Steps[Result]:
    """Reading for others: where there is damage they hear what Kafka says of it, and the node that it was met, when it
    was read from `offset` on."""
    try:
        return (yield from steps)
    except CorruptBatch as error:
        log.context.on_corrupt(log, error, offset)
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, str(error)) from error


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


def segment_holding(log: Log, offset: int) -> Segment:
    return log.segments[_segment_number(log, offset)]


def _slice(
    log: Log, segment: Segment, located: Located, max_bytes: int, upto_offset: int, min_one: bool
) -> Steps[Slice | None]:
    position, header = located
    if header.base_offset >= upto_offset:
        _check_place(log, segment, located)
        return None
    length = max_bytes
    if max_bytes < header.size:
        if not min_one:
            return None
        length = header.size
    limit = yield from _limit(log, segment, position + length, upto_offset)
    return Slice(segment.log, position, min(length, limit - position))


def _check_place(log: Log, segment: Segment, located: Located) -> None:
    """The offset of a batch is not under its checksum. One that claims a place behind its segment's end would be waited
    for for ever, where nothing is cut off meanwhile. A gap that compaction has left ends before that."""
    end_offset = segment.end_offset if segment.sealed else log.end_offset
    if located.header.base_offset >= end_offset and log.blocked is None and not segment.removed:
        what = f"a batch that claims offset {located.header.base_offset} in what ends at {end_offset}"
        raise CorruptBatch(what, position=located.position)


def _limit(log: Log, segment: Segment, wanted: int, upto_offset: int) -> Steps[int]:
    """The position behind which a reader up to `upto_offset` must not see; exact only where it matters."""
    if upto_offset >= min(log.written_offset, segment.end_offset if segment.sealed else log.end_offset):
        return log.written_bytes(segment)
    if (yield from segment.offsets.lookup(upto_offset)) >= wanted:
        return wanted
    located = yield from locate(log, segment, upto_offset)
    return log.written_bytes(segment) if located is None else located.position


def locate(log: Log, segment: Segment, offset: int) -> Steps[Located | None]:
    """The batch that holds `offset` or, after compaction, the first one behind it. An index has no checksum: what it
    points to must be a batch that begins where the entry allows, or readers would be led past others."""
    entry = yield from segment.offsets.find(offset)
    if entry is not None:
        end = log.written_bytes(segment)
        if end <= entry.position < segment.size_bytes:
            # What the entry speaks of is still in flight.
            return None
        try:
            return (yield from walk_from(segment, entry, end, offset))
        except CorruptBatch:
            yield from rebuild_indexes(log, segment)
    return (yield from walk_to(segment.log, 0, log.written_bytes(segment), offset))


def rebuild_indexes(log: Log, segment: Segment) -> Steps[None]:
    """Make the indexes anew of a segment one of which was found to be wrong."""
    log.context.on_bad_index(log, segment)
    if segment.sealed:
        yield from reindex(segment, log.settings.index_interval_bytes)
    else:
        yield from reindex_active(log, segment)


def offset_for_time(log: Log, timestamp_ms: int) -> Steps[Found | None]:
    """The first record at or after a time, by time index, then batches, then the records of one batch."""
    for segment in list(log.segments):
        if segment.size_bytes and (yield from largest_timestamp(log, segment)) >= timestamp_ms:
            start = yield from _start_for_time(log, segment, timestamp_ms)
            found = yield from _find_time(log, segment, max(log.start_offset, start), timestamp_ms)
            if found is not None:
                return found
    return None


def _start_for_time(log: Log, segment: Segment, timestamp_ms: int) -> Steps[int]:
    """An offset before which every record is older than a time."""
    entry = yield from segment.times.lookup(timestamp_ms)
    if entry is not None and not (yield from _is_true(log, segment, *entry)):
        yield from rebuild_indexes(log, segment)
        entry = yield from segment.times.lookup(timestamp_ms)
    return segment.base_offset if entry is None else entry[1]


def _is_true(log: Log, segment: Segment, timestamp: int, offset: int) -> Steps[bool]:
    """Whether the batch that a time index speaks of is as it says."""
    located = yield from locate(log, segment, offset)
    if located is None:
        return not segment.sealed and offset >= log.written_offset
    return located.header.base_offset <= offset and located.header.max_timestamp == timestamp


def largest_timestamp(log: Log, segment: Segment) -> Steps[int]:
    """The largest timestamp of a segment. A time index that lies would let it expire too soon, or hide it."""
    if segment.max_timestamp == UNKNOWN and segment.size_bytes:
        timestamp, offset = yield from segment.times.last_entry()
        try:
            if timestamp >= 0 and not (yield from _is_true(log, segment, timestamp, offset)):
                yield from rebuild_indexes(log, segment)
        except CorruptBatch:
            # Its records are damaged, and nothing says more than this entry.
            pass
    return (yield from segment.load_largest_timestamp())


def _find_time(log: Log, segment: Segment, offset: int, timestamp_ms: int) -> Steps[Found | None]:
    located = yield from locate(log, segment, offset)
    while located is not None and located.header.base_offset < log.written_offset:
        header = located.header
        if header.max_timestamp >= timestamp_ms:
            data = yield from read_batch(segment.log, located)
            found = yield from time_search.first_at(data, header, timestamp_ms, log.start_offset)
            if found is not None:
                return (*found, header.leader_epoch)
        located = yield from walk_to(segment.log, located.position + header.size, log.written_bytes(segment), 0)
    return None


def max_timestamp(log: Log) -> Steps[Found | None]:
    """The record with the largest timestamp, the earliest if several have it."""
    best: Segment | None = None
    for segment in list(log.segments):
        if segment.size_bytes:
            timestamp = yield from largest_timestamp(log, segment)
            if best is None or timestamp > best.max_timestamp:
                best = segment
    if best is None or best.max_timestamp < 0:
        return None
    located = yield from locate(log, best, best.max_timestamp_offset)
    if located is None:
        return None
    data = yield from read_batch(best.log, located)
    found = yield from time_search.latest(data, located.header)
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
