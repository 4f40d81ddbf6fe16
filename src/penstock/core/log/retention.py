"""Taking away what the settings no longer keep: oldest segments first, renamed now and unlinked after a delay."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Append, File, FileFailure, Pause, Rename, Steps, Unlink
from penstock.core.log import snapshots
from penstock.core.log.durable import SyncFailed, sync_folder
from penstock.core.log.flushing import flush
from penstock.core.log.names import NOWHERE, path_of_removed
from penstock.core.log.reader import largest_timestamp
from penstock.core.log.segment import Segment

if TYPE_CHECKING:
    from penstock.core.log.log import Log


def delete_records(log: Log, offset: int) -> Steps[None]:
    """Let the log start at `offset`. The caller has checked it against the high watermark."""
    if not 0 <= offset <= log.written_offset:
        raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset} is above {log.written_offset}")
    move_start(log, offset)
    yield from ()


def move_start(log: Log, offset: int) -> None:
    if offset > log.start_offset:
        log.start_offset = offset
        log.epochs.truncate_start(offset)


def retain(log: Log, now_ms: int, upto_offset: int) -> Steps[int]:
    """Remove what is expired; gives how many segments went. Where other maintenance is under way, none this time."""
    if log.is_maintaining or log.is_cleaning or log.blocked is not None:
        return 0
    log.is_maintaining = True
    try:
        count = yield from _count_expired(log, now_ms, upto_offset)
        if count == len(log.segments) and not (log.writes or log.blocked):
            # Not where the last batch ends, if there is a gap behind it: no offset is given twice.
            log.roll_at(log.end_offset, now_ms)
        expired = log.segments[: min(count, len(log.segments) - 1)]
        if expired:
            yield from _secure(log, len(expired))
            yield from _remove(log, expired, now_ms)
        return len(expired)
    except SyncFailed as failure:
        log.fail(failure)
        raise
    finally:
        log.is_maintaining = False


def _count_expired(log: Log, now_ms: int, upto_offset: int) -> Steps[int]:
    """How many of the oldest segments may go: by start offset always, by size and time if the policy deletes."""
    segments, settings = list(log.segments), log.settings
    ends = [segment.base_offset for segment in segments[1:]] + [log.end_offset]
    # An empty active segment stays, and so does everything that readers have not been shown.
    limit = sum(1 for end, s in zip(ends, segments, strict=True) if end <= upto_offset and (s.sealed or s.size_bytes))
    count = 0
    while count < min(limit, len(segments) - 1) and ends[count] <= log.start_offset:
        count += 1
    if "delete" not in settings.cleanup_policy:
        return count
    if settings.retention_bytes >= 0:
        excess = sum(segment.size_bytes for segment in segments[count:]) - settings.retention_bytes
        while count < limit and excess >= segments[count].size_bytes:
            excess -= segments[count].size_bytes
            count += 1
    if settings.retention_ms >= 0:
        while count < limit and now_ms - (yield from _newest_ms(log, segments[count])) > settings.retention_ms:
            count += 1
    return count


def _secure(log: Log, count: int) -> Steps[None]:
    """What is to go may be all that knows of the producers, and of where the log goes on: that must last first."""
    first_offset = log.segments[count].base_offset
    if log.synced_offset < first_offset or any(offset <= first_offset for offset in log.pending_snapshots):
        try:
            yield from flush(log)
        except SyncFailed:
            raise
        except FileFailure:
            # On a full disk nothing helps but to go on: removing is what makes room.
            pass
    if count + 1 == len(log.segments):
        yield from anchor(log)


def anchor(log: Log) -> Steps[None]:
    """Make sure of the active segment's file: its name may soon be all that says where an empty log goes on."""
    yield Append(log.active.log, b"")
    yield from sync_folder(log.dir)


def _newest_ms(log: Log, segment: Segment) -> Steps[int]:
    """The time of a segment's newest record; of the segment itself where its records have none."""
    timestamp = yield from largest_timestamp(log, segment)
    return timestamp if timestamp >= 0 else segment.created_ms


def _remove(log: Log, expired: list[Segment], now_ms: int) -> Steps[None]:
    """Take segments out of the log at once, and their files away one after the other, so that whatever a power loss
    leaves of this is the log from some segment on, without a hole."""
    del log.segments[: len(expired)]
    first_offset = log.segments[0].base_offset
    move_start(log, first_offset)
    for segment in expired:
        segment.removed = True
    for segment in expired:
        yield from set_aside(log, segment, now_ms)
        yield from sync_folder(log.dir)
    for offset in [offset for offset in log.snapshot_offsets if offset < first_offset]:
        log.snapshot_offsets.remove(offset)
        yield from snapshots.remove(log.dir, offset)


def set_aside(log: Log, segment: Segment, now_ms: int) -> Steps[None]:
    """Rename a removed segment's files; readers that still hold them go on until the delay is over. Where there is no
    room for another name they go at once: those that are open can still be read, and removing is what makes room."""
    for index in segment.indexes():
        yield from index.settle()
        log.context.index_cache.drop(index)
    for file in segment.files():
        try:
            yield Rename(file, path_of_removed(file.path, log.trash))
        except FileFailure as failure:
            if failure.lacks_room:
                yield from remove(file)
            elif failure.errno != errno.ENOENT:
                raise
        else:
            log.trash[file.path] = now_ms + log.settings.file_delete_delay_ms, file


def purge(log: Log, now_ms: int) -> Steps[None]:
    """Unlink what was set aside long enough ago; a big file takes a while, so others get their turn between two."""
    due = [file for time_ms, file in log.trash.values() if time_ms <= now_ms]
    for file in due:
        path = file.path
        yield from remove(file)
        log.trash.pop(path, None)
        yield Pause()


def remove(file: File) -> Steps[None]:
    """Unlink a file that somebody may still read, perhaps by its name: that will be another's, and must not lead to
    it."""
    yield Unlink(file)
    file.path = NOWHERE
