"""The swap: segments that a job has rewritten take the place of those they were made from.

It survives a crash at any point because the names say how far it got: `.cleaned` is nothing yet, a `.log.swap` is
complete and replaces all it covers, and each step is on the disk before the next begins. `leftovers` reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.core.base.ports import File, FileFailure, Pause, Rename, Steps, Unlink
from penstock.core.log import snapshots
from penstock.core.log.durable import sync_folder
from penstock.core.log.names import CLEANED, INDEX, LOG, SEGMENT_KINDS, SWAP, TIME_INDEX, TXN_INDEX, path_of
from penstock.core.log.retention import set_aside
from penstock.core.log.rewriting import Rewritten, Source
from penstock.core.log.segment import Segment

if TYPE_CHECKING:
    from penstock.core.log.log import Log


def source_of(segment: Segment) -> Source:
    """A sealed segment as a job is told of it."""
    return Source(segment.base_offset, segment.end_offset, segment.size_bytes, segment.log.path)


def install(log: Log, groups: Sequence[Sequence[Segment]], rewritten: Sequence[Rewritten], now_ms: int) -> Steps[bool]:
    """Swap in what a job made of the first groups. False, and nothing is left of it, if the log has changed or gone
    meanwhile: then what was made is of no use."""
    while log.is_maintaining:
        yield Pause()
    if log.is_gone:
        # What was made goes with its folder, which has another name by now; its own name may be another log's.
        return False
    changed = any(segment.removed or segment not in log.segments for group in groups for segment in group)
    if changed or log.blocked is not None:
        yield from _discard(log, rewritten)
        return False
    log.is_maintaining = True
    try:
        for group, made in zip(groups, rewritten, strict=False):
            yield from _swap(log, group, made, now_ms)
    except FileFailure as failure:
        # Half of a swap is finished by the next start, not by us.
        log.fail(failure)
        raise
    finally:
        log.is_maintaining = False
    return True


def _discard(log: Log, rewritten: Sequence[Rewritten]) -> Steps[None]:
    for made in rewritten:
        for kind in SEGMENT_KINDS:
            yield Unlink(File(path_of(log.dir, made.base_offset, kind, CLEANED)))


def _swap(log: Log, group: Sequence[Segment], made: Rewritten, now_ms: int) -> Steps[None]:
    """Put a rewritten segment in the place of those it was made from."""
    segment = _segment_of(log, made, group[-1].created_ms)
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


def _segment_of(log: Log, made: Rewritten, created_ms: int) -> Segment:
    base_offset = made.base_offset
    segment = Segment(log.dir, base_offset, log.context.index_cache, created_ms)
    segment.log = File(path_of(log.dir, base_offset, LOG, CLEANED))
    segment.size_bytes = segment.synced_bytes = made.size_bytes
    segment.sealed = True
    segment.end_offset = made.end_offset
    segment.max_timestamp = made.max_timestamp
    segment.max_timestamp_offset = made.max_timestamp_offset
    for index, kind, size_bytes in zip(
        segment.indexes(), (INDEX, TIME_INDEX, TXN_INDEX), made.index_bytes, strict=True
    ):
        index.file = File(path_of(log.dir, base_offset, kind, CLEANED))
        index.stored_bytes = size_bytes
        index.synced = True
    return segment
