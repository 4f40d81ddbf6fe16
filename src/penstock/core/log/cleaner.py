"""Compaction's plan and its outcome: what is worth cleaning, and the swap that puts the cleaned segments in place.

A swap survives a crash at any point because the names say how far it got: `.cleaned` is nothing yet, a `.log.swap` is
complete and replaces all it covers, and each step is on the disk before the next begins. `leftovers` reads them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.core.base.ports import File, FileFailure, Job, Pause, Rename, RunJob, Steps, Unlink
from penstock.core.log import snapshots
from penstock.core.log.compaction import CleanedSegment, Plan, Result, Source, compact_segments
from penstock.core.log.durable import sync_folder
from penstock.core.log.flushing import flush
from penstock.core.log.names import CLEANED, INDEX, LOG, SEGMENT_KINDS, SWAP, TIME_INDEX, TXN_INDEX, path_of
from penstock.core.log.reader import aborted_transactions
from penstock.core.log.retention import set_aside
from penstock.core.log.segment import RELATIVE_OFFSET_MAX, Segment

if TYPE_CHECKING:
    from penstock.core.log.log import Log

_NO_LAG_MS: Final = 0


class Dirtiness(NamedTuple):
    """How a log stands with compaction. Dirty and clean bytes count only what may be cleaned now."""

    first_dirty_offset: int
    end_offset: int
    clean_bytes: int
    dirty_bytes: int
    is_due: bool

    @property
    def ratio(self) -> float:
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0


class Cleaned(NamedTuple):
    """What one round did."""

    end_offset: int
    bytes_before: int
    bytes_after: int


def dirtiness(log: Log, now_ms: int, upto_offset: int) -> Steps[Dirtiness]:
    """What compaction would find below `upto_offset`, the last stable offset; never in the active segment."""
    first_dirty = log.start_offset if log.cleaned_offset is None else log.cleaned_offset
    if not log.start_offset <= first_dirty <= log.end_offset:
        first_dirty = log.start_offset
    settings = log.settings
    clean_bytes, dirty_bytes, end_offset, oldest_ms = 0, 0, first_dirty, now_ms
    for segment in log.segments[:-1]:
        if segment.end_offset <= first_dirty:
            clean_bytes += segment.size_bytes
            continue
        if segment.end_offset > upto_offset or (
            yield from _is_too_young(segment, now_ms - settings.min_compaction_lag_ms)
        ):
            break
        dirty_bytes += segment.size_bytes
        end_offset = segment.end_offset
        first_ms = yield from segment.load_first_timestamp()
        oldest_ms = min(oldest_ms, first_ms) if first_ms > 0 else oldest_ms
    found = Dirtiness(first_dirty, end_offset, clean_bytes, dirty_bytes, False)
    overdue = now_ms - oldest_ms > max(settings.max_compaction_lag_ms, _NO_LAG_MS)
    is_due = dirty_bytes > 0 and (overdue or found.ratio > settings.min_cleanable_dirty_ratio)
    return found._replace(is_due="compact" in settings.cleanup_policy and is_due)


def _is_too_young(segment: Segment, youngest_ms: int) -> Steps[bool]:
    largest_ms = yield from segment.load_largest_timestamp()
    return largest_ms > youngest_ms


def clean(log: Log, now_ms: int, upto_offset: int, keys_max: int) -> Steps[Cleaned | None]:
    """One round of compaction; None where other maintenance is under way, or there is nothing to do."""
    if log.is_maintaining or log.is_cleaning or log.blocked is not None:
        return None
    log.is_cleaning = True
    # Taken now, while nothing is in doubt: what producers append from here on is above all that is cleaned.
    producers = {producer_id: (known.last_offset, known.epoch) for producer_id, known in log.producers.items()}
    try:
        found = yield from dirtiness(log, now_ms, upto_offset)
        if not found.dirty_bytes:
            return None
        if log.synced_offset < found.end_offset:
            yield from flush(log)
        groups = group_segments(log, found.end_offset)
        plan = yield from _plan(log, groups, found, now_ms, keys_max, producers)
        result: Result = yield RunJob(Job(compact_segments, (plan,)))
        return (yield from _install(log, groups, result, now_ms))
    finally:
        log.is_cleaning = False


def group_segments(log: Log, end_offset: int) -> list[list[Segment]]:
    """Neighbours that fit into one segment together, so that compacted segments do not get ever smaller."""
    groups: list[list[Segment]] = []
    size_bytes = index_bytes = time_bytes = 0
    settings = log.settings
    for segment in (s for s in log.segments[:-1] if s.end_offset <= end_offset):
        size_bytes += segment.size_bytes
        index_bytes += segment.offsets.size_bytes
        time_bytes += segment.times.size_bytes
        fits = (
            groups
            and size_bytes <= settings.segment_bytes
            and max(index_bytes, time_bytes) <= settings.segment_index_bytes
            and segment.end_offset - groups[-1][0].base_offset <= RELATIVE_OFFSET_MAX
        )
        if fits:
            groups[-1].append(segment)
        else:
            groups.append([segment])
            size_bytes = segment.size_bytes
            index_bytes, time_bytes = segment.offsets.size_bytes, segment.times.size_bytes
    return groups


def _plan(
    log: Log,
    groups: list[list[Segment]],
    found: Dirtiness,
    now_ms: int,
    keys_max: int,
    producers: dict[int, tuple[int, int]],
) -> Steps[Plan]:
    aborted = yield from aborted_transactions(log, groups[0][0].base_offset, found.end_offset)
    return Plan(
        folder=log.dir,
        groups=tuple(
            tuple(Source(s.base_offset, s.end_offset, s.size_bytes, s.log.path) for s in group) for group in groups
        ),
        first_dirty_offset=found.first_dirty_offset,
        now_ms=now_ms,
        delete_retention_ms=log.settings.delete_retention_ms,
        index_interval_bytes=log.settings.index_interval_bytes,
        producers=producers,
        aborted=tuple(aborted),
        keys_max=keys_max,
    )


def _install(log: Log, groups: list[list[Segment]], result: Result, now_ms: int) -> Steps[Cleaned | None]:
    """Swap in what the job made, unless the log has changed under it."""
    while log.is_maintaining:
        yield Pause()
    changed = any(segment.removed or segment not in log.segments for group in groups for segment in group)
    if changed or log.is_gone or log.blocked is not None:
        yield from _discard(log, result)
        return None
    log.is_maintaining = True
    try:
        for group, cleaned in zip(groups, result.segments, strict=False):
            yield from _swap(log, group, cleaned, now_ms)
        log.cleaned_offset = result.end_offset
    except FileFailure as failure:
        # Half of a swap is finished by the next start, not by us.
        log.fail(failure)
        raise
    finally:
        log.is_maintaining = False
    return Cleaned(result.end_offset, result.bytes_read, result.bytes_written)


def _discard(log: Log, result: Result) -> Steps[None]:
    for cleaned in result.segments:
        for kind in SEGMENT_KINDS:
            yield Unlink(File(path_of(log.dir, cleaned.base_offset, kind, CLEANED)))


def _swap(log: Log, group: list[Segment], cleaned: CleanedSegment, now_ms: int) -> Steps[None]:
    """Put a cleaned segment in the place of those it was made from."""
    segment = _segment_of(log, cleaned, group[-1].created_ms)
    indexes = [index.file for index in segment.indexes() if index.stored_bytes or index is not segment.aborted]
    yield from _restage(log, [*indexes, segment.log], CLEANED, SWAP)
    first = log.segments.index(group[0])
    log.segments[first : first + len(group)] = [segment]
    for old in group:
        old.removed = True
    for old in group:
        yield from set_aside(log, old, now_ms)
    yield from sync_folder(log.dir)
    yield from _restage(log, [*indexes, segment.log], SWAP, "")
    for old in group[1:]:
        if old.base_offset in log.snapshot_offsets:
            log.snapshot_offsets.remove(old.base_offset)
            yield from snapshots.remove(log.dir, old.base_offset)


def _restage(log: Log, files: list[File], old: str, new: str) -> Steps[None]:
    """Give files their next name, indexes first: where the log has it, all of them have it."""
    for file in files[:-1]:
        yield Rename(file, file.path.removesuffix(old) + new)
    yield from sync_folder(log.dir)
    yield Rename(files[-1], files[-1].path.removesuffix(old) + new)
    yield from sync_folder(log.dir)


def _segment_of(log: Log, cleaned: CleanedSegment, created_ms: int) -> Segment:
    base_offset = cleaned.base_offset
    segment = Segment(log.dir, base_offset, log.context.index_cache, created_ms)
    segment.log = File(path_of(log.dir, base_offset, LOG, CLEANED))
    segment.size_bytes = segment.synced_bytes = cleaned.size_bytes
    segment.sealed = True
    segment.end_offset = cleaned.end_offset
    segment.max_timestamp = cleaned.max_timestamp
    segment.max_timestamp_offset = cleaned.max_timestamp_offset
    for index, kind, size_bytes in zip(
        segment.indexes(), (INDEX, TIME_INDEX, TXN_INDEX), cleaned.index_bytes, strict=True
    ):
        index.file = File(path_of(log.dir, base_offset, kind, CLEANED))
        index.stored_bytes = size_bytes
        index.synced = True
    return segment
