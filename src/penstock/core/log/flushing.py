"""Flush and close: what is Written becomes Synced, and the recovery point follows.

The order is the promise: log bytes, a sealed segment's indexes, producer snapshots and leader epochs first, then the
names in the folder and whose folder it is, and only then `synced_offset`. Below it recovery trusts everything without
looking.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.base.ports import File, FileFailure, Pause, Steps
from penstock.core.log import snapshots
from penstock.core.log.durable import SyncFailed, sync_file, sync_folder
from penstock.core.log.names import PARTITION_FILE
from penstock.core.log.segment import Segment

if TYPE_CHECKING:
    from penstock.core.log.log import Log


def flush(log: Log) -> Steps[None]:
    """Bring everything that is Written now to the disk. Appends and rolls may happen meanwhile; one flush at a time."""
    yield from ended(log)
    yield from _alone(log, _flush(log))


def ended(log: Log) -> Steps[None]:
    """Wait for the end of a flush that is under way."""
    while log.is_flushing:
        yield Pause()


def _alone(log: Log, steps: Steps[None]) -> Steps[None]:
    log.is_flushing = True
    try:
        yield from steps
    except FileFailure as failure:
        if isinstance(failure, SyncFailed):
            log.fail(failure)
        log.flush_ended(failure)
        raise
    log.flush_ended(None)


def _flush(log: Log) -> Steps[None]:
    end_offset, in_flight = log.written_offset, bool(log.writes)
    names_changed = log.names_changed
    if not in_flight:
        # An append in flight may be about to create its file, whose name then still needs the next flush.
        log.names_changed = False
    try:
        names_changed |= yield from _sync_segments(log, end_offset)
        names_changed |= yield from _write_snapshots(log, end_offset)
        names_changed |= log.epochs.dirty
        yield from log.epochs.write(log.dir)
        if names_changed:
            yield from sync_folder(log.dir)
            yield from _sync_owner(log)
    except FileFailure:
        log.names_changed |= names_changed
        raise
    log.synced_offset = max(log.synced_offset, end_offset)
    log.unsynced_since_ms = None


def _sync_segments(log: Log, end_offset: int) -> Steps[bool]:
    """Sync the segments above the recovery point; True when one of them was sealed, which may have made files. What is
    in flight is asked for each anew: an append may have come while another segment was synced."""
    was_sealed = False
    for segment in _unsynced(log, end_offset):
        if segment.size_bytes and not log.written_bytes(segment):
            # It has no file yet. Where it begins below a gap, that does not show in its offsets.
            continue
        was_sealed |= segment.sealed
        try:
            yield from segment.sync(not log.writes or (segment.sealed and segment.end_offset <= end_offset))
        except FileFailure:
            # Retention may have taken the segment and its files meanwhile.
            if not segment.removed:
                raise
    return was_sealed


def _unsynced(log: Log, end_offset: int) -> list[Segment]:
    """Oldest first, and none that holds nothing Written."""
    found = []
    for segment in reversed(log.segments):
        if segment.is_durable and segment.end_offset <= log.synced_offset:
            break
        if segment.base_offset < end_offset:
            found.append(segment)
    return found[::-1]


def _write_snapshots(log: Log, end_offset: int) -> Steps[bool]:
    ready = [offset for offset in log.pending_snapshots if offset <= end_offset]
    for offset in ready:
        yield from snapshots.write(log.dir, offset, log.pending_snapshots[offset])
        log.pending_snapshots.pop(offset, None)
        log.snapshot_offsets.append(offset)
    return bool(ready)


def _sync_owner(log: Log) -> Steps[None]:
    """Once in a log's life: which topic it belongs to, and the folder's own name."""
    if log.is_new:
        yield from sync_file(File(f"{log.dir}/{PARTITION_FILE}"))
        yield from sync_folder(log.dir.rpartition("/")[0] or "/")
        log.is_new = False


def settle_owner(log: Log) -> Steps[None]:
    """The same for a log that nobody has flushed yet, so that what a power loss leaves of it is known to be its own."""
    yield from ended(log)
    if not log.is_new or log.failure is not None or log.is_gone:
        return
    yield from _alone(log, _settle_owner(log))


def _settle_owner(log: Log) -> Steps[None]:
    yield from sync_folder(log.dir)
    yield from _sync_owner(log)


def close(log: Log) -> Steps[None]:
    """Sync everything, with whole indexes and a snapshot at the end, so that opening needs no scan."""
    while log.is_maintaining or log.is_writing:
        yield Pause()
    log.blocked = "the log is closed"
    if log.failure is not None:
        return
    active = log.active
    if active.size_bytes:
        active.times.append(active.max_timestamp, active.max_timestamp_offset)
        for index in active.indexes():
            if index.pending or not index.synced:
                log.names_changed = True
                yield from index.sync()
    if log.end_offset and log.end_offset not in log.snapshot_offsets:
        log.pending_snapshots[log.end_offset] = snapshots.encode(log.producers)
    if log.synced_offset < log.end_offset or log.names_changed or log.pending_snapshots or log.epochs.dirty:
        yield from flush(log)
