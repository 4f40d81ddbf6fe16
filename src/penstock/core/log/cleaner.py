"""Compaction's plan: what is worth cleaning, which segments become one, and how far a log is clean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.core.base.ports import FileFailure, Job, RunJob, Steps
from penstock.core.log.compaction import KnownProducer, Plan, Result, compact_segments
from penstock.core.log.flushing import flush
from penstock.core.log.packing import packing_of
from penstock.core.log.producers import Producer
from penstock.core.log.reader import aborted_transactions
from penstock.core.log.rewriting import Unreadable
from penstock.core.log.segment import RELATIVE_OFFSET_MAX, Segment
from penstock.core.log.swapping import install, source_of
from penstock.core.records.errors import CorruptBatch

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
    is_cleanable = "compact" in settings.cleanup_policy and not _is_uncleanable(log)
    return found._replace(is_due=is_cleanable and is_due)


def _is_too_young(segment: Segment, youngest_ms: int) -> Steps[bool]:
    largest_ms = yield from segment.load_largest_timestamp()
    return largest_ms > youngest_ms


def clean(log: Log, now_ms: int, upto_offset: int, keys_max: int) -> Steps[Cleaned | None]:
    """One round of compaction; None where other maintenance is under way, or there is nothing to do."""
    if log.is_maintaining or log.is_cleaning or log.is_packing or log.blocked is not None or _is_uncleanable(log):
        return None
    log.is_cleaning = True
    # Taken now, while nothing is in doubt: what producers append from here on is above all that is cleaned.
    producers = {producer_id: _known(producer) for producer_id, producer in log.producers.items()}
    try:
        found = yield from dirtiness(log, now_ms, upto_offset)
        if not found.dirty_bytes:
            return None
        if log.synced_offset < found.end_offset:
            yield from flush(log)
        groups = group_segments(log, found.end_offset)
        plan = yield from _plan(log, groups, found, now_ms, keys_max, producers)
        result: Result | Unreadable = yield RunJob(Job(compact_segments, (plan,)))
        if isinstance(result, Unreadable):
            _leave(log, result)
            return None
        if not (yield from install(log, groups, result.segments, now_ms)):
            return None
        log.cleaned_offset = result.end_offset
        return Cleaned(result.end_offset, result.bytes_read, result.bytes_written)
    except FileFailure:
        if log.is_gone:
            return None
        raise
    finally:
        log.is_cleaning = False


def _is_uncleanable(log: Log) -> bool:
    return any(segment.uncleanable for segment in log.segments)


def _leave(log: Log, damage: Unreadable) -> None:
    """Nothing is decided by bytes that are not what was written. The log is left as it is until the damaged segment is
    gone, or the node is started again."""
    segments = (segment for segment in reversed(log.segments) if segment.base_offset <= damage.offset)
    next(segments, log.segments[0]).uncleanable = True
    log.context.on_corrupt(log, CorruptBatch(damage.why, offset=damage.offset), damage.offset)


def _known(producer: Producer) -> KnownProducer:
    return KnownProducer(tuple(mark.last_offset for mark in producer.marks), producer.epoch)


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
    producers: dict[int, KnownProducer],
) -> Steps[Plan]:
    aborted = yield from aborted_transactions(log, groups[0][0].base_offset, found.end_offset)
    return Plan(
        folder=log.dir,
        groups=tuple(tuple(map(source_of, group)) for group in groups),
        first_dirty_offset=found.first_dirty_offset,
        now_ms=now_ms,
        delete_retention_ms=log.settings.delete_retention_ms,
        index_interval_bytes=log.settings.index_interval_bytes,
        producers=producers,
        aborted=tuple(aborted),
        keys_max=keys_max,
        packing=packing_of(log.settings),
    )
