"""Which sealed segment is packed next, and the mark that says how far a log has come.

The mark is a small file in the log's folder with the offset below which every segment was packed or had nothing to
gain. If it is lost, or was written by another history of the log, segments are looked at again and found as they are.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.core.base.ports import FileFailure, Job, RunJob, Steps
from penstock.core.log import checkpoints
from penstock.core.log.names import PACKED_FILE
from penstock.core.log.packing import PackingPlan, pack_segment, packing_of
from penstock.core.log.rewriting import Rewritten, Unreadable
from penstock.core.log.segment import Segment
from penstock.core.log.swapping import install, source_of
from penstock.core.records.errors import CorruptBatch

if TYPE_CHECKING:
    from penstock.core.log.log import Log

NO_CODEC: Final = "none"


class Packed(NamedTuple):
    """What became of one segment."""

    end_offset: int
    bytes_before: int
    bytes_after: int


def is_wanted(log: Log) -> bool:
    """Whether segments are packed by themselves; in a compacted log compaction does it, which rewrites them anyway."""
    return log.settings.sealed_compression_type != NO_CODEC and "compact" not in log.settings.cleanup_policy


def next_segment(log: Log, upto_offset: int) -> Segment | None:
    """The oldest segment that is neither packed nor active, and that neither a power loss nor another leader can take
    back: all of it is synced, and below `upto_offset`, the high watermark."""
    done_offset = log.packed_offset if log.packed_offset <= log.end_offset else log.start_offset
    number = bisect_left(log.segments, done_offset, key=lambda segment: segment.base_offset)
    if number >= len(log.segments) - 1:
        return None
    segment = log.segments[number]
    return segment if segment.end_offset <= min(upto_offset, log.synced_offset) else None


def pack_next(log: Log, now_ms: int, upto_offset: int) -> Steps[Packed | None]:
    """Pack one segment; None where other maintenance is under way, or there is nothing to do. Retention goes on: a log
    may have much to pack, and a segment that went meanwhile is no loss."""
    if log.is_maintaining or log.is_cleaning or log.is_packing or log.blocked is not None or not is_wanted(log):
        return None
    segment = next_segment(log, upto_offset)
    if segment is None:
        return None
    log.is_packing = True
    try:
        return (yield from _pack(log, segment, now_ms))
    except FileFailure:
        if log.is_gone or (segment.removed and log.failure is None):
            return None
        raise
    finally:
        log.is_packing = False


def _pack(log: Log, segment: Segment, now_ms: int) -> Steps[Packed | None]:
    plan = yield from _plan(log, segment)
    rewritten: Rewritten | Unreadable | None = yield RunJob(Job(pack_segment, (plan,)))
    if isinstance(rewritten, Unreadable):
        log.context.on_corrupt(log, CorruptBatch(rewritten.why, offset=rewritten.offset), rewritten.offset)
        rewritten = None
    made = () if rewritten is None else (rewritten,)
    if not (yield from install(log, [[segment]], made, now_ms)):
        return None
    yield from _remember(log, segment.end_offset)
    return Packed(segment.end_offset, segment.size_bytes, made[0].size_bytes if made else segment.size_bytes)


def _plan(log: Log, segment: Segment) -> Steps[PackingPlan]:
    return PackingPlan(
        folder=log.dir,
        source=source_of(segment),
        packing=packing_of(log.settings),
        index_interval_bytes=log.settings.index_interval_bytes,
        aborted=(yield from segment.aborted.load()),
    )


def _remember(log: Log, offset: int) -> Steps[None]:
    """Store the mark, while nobody can take the folder away."""
    log.packed_offset = offset
    log.is_maintaining = True
    try:
        yield from checkpoints.write(f"{log.dir}/{PACKED_FILE}", [str(offset)])
    finally:
        log.is_maintaining = False


def read_mark(folder: str) -> Steps[int]:
    """The stored mark; 0 where there is none that can be read."""
    match (yield from checkpoints.read(f"{folder}/{PACKED_FILE}")):
        case [offset] if offset.isdecimal():
            return int(offset)
    return 0
