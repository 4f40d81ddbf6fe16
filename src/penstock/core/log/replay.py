"""State refolded from the batches of a log: producers at an offset, and what an active segment needs to go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.core.base.ports import Buffer, Pause, Read, Steps
from penstock.core.log import snapshots
from penstock.core.log.producers import Producers
from penstock.core.log.scan import Located, read_chunk, walk_from, walk_to
from penstock.core.log.segment import Segment
from penstock.core.log.txn_index import AbortedTransaction
from penstock.core.records.batch import HEADER_BYTES, BatchHeader, iterate_headers, read_header
from penstock.core.records.control import decode_end_transaction
from penstock.core.records.errors import CorruptBatch
from penstock.core.records.record import iterate

if TYPE_CHECKING:
    from penstock.core.log.log import Log


def replay_batch(
    producers: Producers, data: Buffer, position: int, header: BatchHeader, base_offset: int
) -> AbortedTransaction | None:
    """Fold one batch of a producer; gives the transaction it aborted, if it did."""
    if not header.is_control:
        producers.append(header, base_offset)
        return None
    try:
        # An empty control batch is what compaction left of a transaction that is gone.
        ends = (decode_end_transaction(record.key, record.value) for record in iterate(data, position))
        end = next(ends, None)
    except CorruptBatch:
        # Its checksum is right, so its writer meant it; whatever it is, it ends no transaction.
        return None
    return None if end is None else producers.complete(header, base_offset, end)


def producers_at(log: Log, offset: int) -> Steps[Producers]:
    """The producers' state at an offset: the newest good snapshot not above it, and the batches from there on. One from
    before the first segment is no beginning: what followed it is gone, and producers may have gone on since."""
    first_offset = log.segments[0].base_offset
    snapshot_offsets = [known for known in log.snapshot_offsets if known >= first_offset]
    producers, start = yield from _newest_snapshot(log.dir, snapshot_offsets, offset)
    # Deleted records count as long as they are there: a producer may still send the next one.
    yield from replay_segments(producers, log.segments, start, offset)
    return producers


def _newest_snapshot(folder: str, offsets: Sequence[int], upto_offset: int) -> Steps[tuple[Producers, int]]:
    for offset in sorted(offsets, reverse=True):
        if offset <= upto_offset:
            producers = yield from snapshots.read(folder, offset)
            if producers is not None:
                return producers, offset
    return Producers(), 0


def replay_segments(producers: Producers, segments: Sequence[Segment], start: int, end: int) -> Steps[None]:
    """Fold the batches in [start, end) into `producers`."""
    for number, segment in enumerate(segments):
        next_base = segments[number + 1].base_offset if number + 1 < len(segments) else end
        if segment.base_offset < end and next_base > start and segment.size_bytes:
            yield from _replay_segment(producers, segment, start, end)


def _replay_segment(producers: Producers, segment: Segment, start: int, end: int) -> Steps[None]:
    position = 0
    if start > segment.base_offset:
        located = yield from _find(segment, start)
        position = segment.size_bytes if located is None else located.position
    while position < segment.size_bytes:
        data = yield from read_chunk(segment.log, position, segment.size_bytes)
        before = position
        for at, header in iterate_headers(data, partial_tail=True):
            if header.base_offset >= end:
                return
            if header.producer_id >= 0:
                replay_batch(producers, data, at, header, header.base_offset)
            position += header.size
        if position == before:
            return
        yield Pause()


def _find(segment: Segment, offset: int) -> Steps[Located | None]:
    """The batch from which to replay; an index that is wrong is made anew when somebody reads by it."""
    entry = yield from segment.offsets.find(offset)
    if entry is not None:
        try:
            return (yield from walk_from(segment, entry, segment.size_bytes, offset))
        except CorruptBatch:
            pass
    return (yield from walk_to(segment.log, 0, segment.size_bytes, offset))


def load_tail(segment: Segment) -> Steps[int | None]:
    """Learn from a segment's files what appending to it takes to know; gives the offset after its last batch, or None
    if the last batch does not end where the file does."""
    segment.max_timestamp, segment.max_timestamp_offset = yield from segment.times.last_entry()
    position = yield from segment.offsets.last_position()
    segment.unindexed_bytes = segment.size_bytes - position
    next_offset = segment.base_offset
    while (located := (yield from walk_to(segment.log, position, segment.size_bytes, 0))) is not None:
        header = located.header
        position, next_offset = position + header.size, header.next_offset
        if header.max_timestamp > segment.max_timestamp:
            segment.max_timestamp, segment.max_timestamp_offset = header.max_timestamp, header.last_offset
    if position != segment.size_bytes or (position and next_offset == segment.base_offset):
        # An index that points to the file's end, or behind it, is of a longer one.
        return None
    segment.end_offset = next_offset
    if segment.size_bytes:
        first: bytes = yield Read(segment.log, 0, HEADER_BYTES)
        segment.first_timestamp = read_header(first).max_timestamp
    return next_offset
