"""Cutting the end off: after a failed append, and when a follower's tail has diverged from its leader's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.base.ports import Pause, Size, Steps, Truncate
from penstock.core.log import flushing, replay, snapshots
from penstock.core.log.durable import sync_file, sync_folder
from penstock.core.log.producers import Producers, SuspendedProducers
from penstock.core.log.reader import locate
from penstock.core.log.retention import anchor, remove
from penstock.core.log.segment import Segment

if TYPE_CHECKING:
    from penstock.core.log.log import Log


def drop_unwritten(log: Log, segment: Segment, position: int) -> None:
    """Forget, in memory, all that lies behind `position` of `segment`, where the first lost batch would begin."""
    while log.segments[-1] is not segment:
        log.segments.pop().removed = True
    segment.sealed = segment.uncleanable = False
    segment.size_bytes = position
    log.active = segment
    log.forget_recent()
    for offset in [offset for offset in log.pending_snapshots if offset > log.end_offset]:
        del log.pending_snapshots[offset]
    log.awaits_first_sync = log.awaits_first_sync and not log.has_roots


def repair(log: Log) -> Steps[None]:
    """Bring the files in line with what `drop_unwritten` decided."""
    yield from flushing.ended(log)
    yield from _cut(log.active, log.end_offset, log.active.size_bytes)
    log.epochs.truncate_end(log.end_offset)
    suspended = log.producers
    assert isinstance(suspended, SuspendedProducers)
    producers = suspended.known
    if suspended.has_lost:
        producers = yield from replay.producers_at(log, log.end_offset)
        producers.remember(suspended.known)
    suspended.hand_over(producers)
    log.producers = producers
    log.context.census.replayed(log)


def truncate_to(log: Log, offset: int) -> Steps[None]:
    """Cut off everything from `offset` on; appends are refused meanwhile."""
    assert not log.is_writing, "nothing may be in flight"
    if offset >= log.end_offset:
        return
    log.blocked = "the log is being truncated"
    while log.is_flushing or log.is_maintaining or _is_rewriting(log, offset):
        yield Pause()
    yield from _undisturbed(log, _truncate(log, offset))


def _is_rewriting(log: Log, offset: int) -> bool:
    """Whether a job reads what is to be cut: what it makes of it must not take the place of what is left."""
    return (log.is_cleaning or log.is_packing) and offset < log.active.base_offset


def _truncate(log: Log, offset: int) -> Steps[None]:
    segment = _segment_of(log, offset)
    located = None
    if offset > segment.base_offset:
        located = yield from locate(log, segment, offset)
    # One that began while the disk was asked would call what is cut off, and whatever takes its place, synced.
    yield from flushing.ended(log)
    position = segment.size_bytes if located is None else located.position
    if offset <= segment.base_offset:
        # All of it goes, whatever is in there: it may be damaged.
        position = 0
    log.end_offset = log.written_offset = offset if located is None else min(offset, located.header.base_offset)
    log.synced_offset = min(log.synced_offset, log.end_offset)
    log.start_offset = min(log.start_offset, log.end_offset)
    log.aborted_end = min(log.aborted_end, log.end_offset)
    log.lower_cleaned()
    dropped = [later for later in log.segments if later.base_offset > segment.base_offset]
    drop_unwritten(log, segment, position)
    # The newest goes first: files that a crash leaves of this go on where the log ends.
    for later in reversed(dropped):
        for file in later.files():
            yield from remove(file)
    tail_end = yield from _cut(segment, log.end_offset, position)
    if "compact" not in log.settings.cleanup_policy and tail_end is not None:
        _leave_no_gap(log, tail_end)
    yield from _drop_snapshots(log, log.end_offset)
    yield from sync_folder(log.dir)
    log.epochs.truncate_end(log.end_offset)
    log.producers = yield from replay.producers_at(log, log.end_offset)
    log.context.census.replayed(log)


def _leave_no_gap(log: Log, tail_end: int) -> None:
    """Where nothing is compacted, a log that ends behind its last batch lacks what was there: a batch had rotted that
    claimed a place further on, because its offset is not under its checksum. The leader has it."""
    before, end_offset = log.end_offset, max(tail_end, log.start_offset)
    if end_offset < before:
        log.end_offset = log.written_offset = end_offset
        log.synced_offset = min(log.synced_offset, end_offset)
        log.context.on_lack(log, before)


def restart_at(log: Log, offset: int, now_ms: int) -> Steps[None]:
    """Give up everything and go on at `offset`, as a follower does whose leader no longer has what would come next.
    The newest goes first, so that whatever a power loss leaves of this is a log that once was."""
    assert not log.is_writing, "nothing may be in flight"
    log.blocked = "the log begins anew"
    while log.is_flushing or log.is_maintaining or log.is_cleaning or log.is_packing:
        yield Pause()
    yield from _undisturbed(log, _restart(log, offset, now_ms))


def _restart(log: Log, offset: int, now_ms: int) -> Steps[None]:
    dropped = log.segments
    log.active = Segment(log.dir, offset, log.context.index_cache, now_ms)
    log.segments = [log.active]
    log.start_offset = log.end_offset = log.written_offset = log.synced_offset = offset
    log.cleaned_offset, log.packed_offset, log.aborted_end = None, 0, 0
    log.awaits_first_sync = False
    log.producers = Producers()
    log.epochs.truncate_end(0)
    log.pending_snapshots.clear()
    log.forget_recent()
    for segment in reversed(dropped):
        yield from _discard(log, segment)
        yield from sync_folder(log.dir)
    yield from _drop_snapshots(log, 0)
    yield from anchor(log)


def _undisturbed(log: Log, cut: Steps[None]) -> Steps[None]:
    """Cut, and let appends in again. A log that is to go waits for it; one that has gone is left alone, because its
    files may have the names of another one's by now."""
    if log.is_gone:
        return
    log.is_maintaining = True
    try:
        yield from cut
        yield from log.context.after_cut(log)
    finally:
        log.is_maintaining = False
    log.unblock()


def _discard(log: Log, segment: Segment) -> Steps[None]:
    segment.removed = True
    for index in segment.indexes():
        yield from index.settle()
        log.context.index_cache.drop(index)
    for file in segment.files():
        yield from remove(file)


def _segment_of(log: Log, offset: int) -> Segment:
    """The segment that holds `offset`, or the first one if all begin later."""
    return next((s for s in reversed(log.segments) if s.base_offset <= offset), log.segments[0])


def _cut(segment: Segment, offset: int, position: int) -> Steps[int | None]:
    """Cut a segment's files; gives the offset after what is left, if that is whole. The log is synced, or power loss
    could bring back what was cut behind what comes next."""
    size: int | None = yield Size(segment.log)
    if size is not None:
        yield Truncate(segment.log, position)
        yield from sync_file(segment.log)
    segment.size_bytes = position
    segment.synced_bytes = min(segment.synced_bytes, position)
    yield from segment.offsets.truncate(offset)
    yield from segment.times.truncate(offset)
    yield from segment.aborted.truncate(offset)
    return (yield from replay.load_tail(segment))


def _drop_snapshots(log: Log, above_offset: int) -> Steps[None]:
    for offset in [offset for offset in log.snapshot_offsets if offset > above_offset]:
        log.snapshot_offsets.remove(offset)
        yield from snapshots.remove(log.dir, offset)
