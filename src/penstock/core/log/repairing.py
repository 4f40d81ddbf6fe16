"""Taking the damaged batches out of a partition that nobody writes to; what is taken out is kept beside it.

All good batches stay, those behind the damage too: the log gets a gap, as compaction leaves them. Its end stays where
it was, as far as that is known, so that no offset is given twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from penstock.core.base.ports import Append, File, Read, Rename, Steps, Unlink
from penstock.core.log.checkpoints import read_offsets, write_offsets
from penstock.core.log.damage import unmark
from penstock.core.log.durable import sync_file, sync_folder, write_anew
from penstock.core.log.names import CLEANED, INDEX, LOG, RECOVERY_POINTS_FILE, TIME_INDEX, path_of
from penstock.core.log.verifying import Bad, SegmentCheck

KEPT: Final = ".damaged"
COPY_BYTES: Final = 1 << 20


def repair(root: str, key: tuple[str, int], checks: Sequence[SegmentCheck]) -> Steps[list[str]]:
    """Take out what the checks found; gives the files in which it is kept."""
    folder = f"{root}/{key[0]}-{key[1]}"
    kept: list[str] = []
    points = yield from read_offsets(f"{root}/{RECOVERY_POINTS_FILE}")
    for check in checks:
        if check.bad:
            kept += yield from _take_out(folder, check)
        else:
            yield from sync_file(File(path_of(folder, check.base_offset, LOG)))
    end_offset = max([points.get(key, 0), *(check.next_offset for check in checks)])
    if checks and _ends_with_loss(checks[-1], end_offset):
        yield Append(File(path_of(folder, end_offset, LOG)), b"")
    yield from unmark(folder)
    yield from sync_folder(folder)
    # Every byte of it was read, and lasts.
    yield from write_offsets(f"{root}/{RECOVERY_POINTS_FILE}", {**points, key: end_offset})
    yield from sync_folder(root)
    return kept


def _ends_with_loss(last: SegmentCheck, end_offset: int) -> bool:
    """Whether the last good batch is not where the log ended. A segment that is empty now goes on as it is."""
    if end_offset == last.base_offset:
        return False
    is_cut = bool(last.bad) and last.bad[-1].position + last.bad[-1].size_bytes == last.size_bytes
    return is_cut or last.next_offset < end_offset


def _take_out(folder: str, check: SegmentCheck) -> Steps[list[str]]:
    path = path_of(folder, check.base_offset, LOG)
    kept = []
    for bad in check.bad:
        kept.append(f"{path}.{bad.position}{KEPT}")
        yield from _copy(path, kept[-1], [(bad.position, bad.position + bad.size_bytes)])
    whole = path_of(folder, check.base_offset, LOG, CLEANED)
    yield from _copy(path, whole, _good_ranges(check))
    yield from sync_folder(folder)
    for kind in (INDEX, TIME_INDEX):
        # Made anew by the next start.
        yield Unlink(File(path_of(folder, check.base_offset, kind)))
    yield Rename(File(whole), path)
    return kept


def _good_ranges(check: SegmentCheck) -> Iterable[tuple[int, int]]:
    start = 0
    bad: Bad
    for bad in check.bad:
        yield start, bad.position
        start = bad.position + bad.size_bytes
    yield start, check.size_bytes


def _copy(path: str, target: str, ranges: Iterable[tuple[int, int]]) -> Steps[None]:
    source, file = File(path), File(target)
    yield from write_anew(file, b"")
    for start, end in ranges:
        while start < end:
            data: bytes = yield Read(source, start, min(COPY_BYTES, end - start))
            if not data:
                break
            yield Append(file, data)
            start += len(data)
    yield from sync_file(file)
