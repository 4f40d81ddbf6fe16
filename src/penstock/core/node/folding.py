"""Fold a log: every batch, oldest first, in slices that leave room for others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.core.base.ports import Pause, Read, Steps
from penstock.core.log.log import Log
from penstock.core.records.batch import BatchHeader, iterate_headers

SLICE_BYTES: Final = 64 * 1024
"""A few hundred records of coordinators or metadata: some milliseconds of work."""

Take = Callable[[bytes, int, BatchHeader], None]
"""(data, position of the batch in it, its header)"""


Batches = list[tuple[bytes, int, BatchHeader]]


def fold_log(log: Log, take: Take, since: int | None = None) -> Steps[int]:
    """Hand every batch that is in the log now to `take`, or every one since an offset; gives the offset after the last
    one."""
    offset, end = log.start_offset if since is None else since, log.end_offset
    while offset < end:
        batches = yield from read_slice(log, offset, end)
        if not batches:
            # Compaction may have taken the last records of a log.
            return end
        for data, position, header in batches:
            take(data, position, header)
            offset = header.next_offset
        if offset < end:
            yield Pause()
    return end


def read_slice(log: Log, offset: int, upto_offset: int) -> Steps[Batches]:
    """Some batches from the one with an offset on, at least one; none where there is nothing more."""
    piece = yield from log.read(offset, SLICE_BYTES, upto_offset, True)
    if piece is None:
        return []
    data: bytes = yield Read(piece.file, piece.position, piece.length)
    return [(data, position, header) for position, header in iterate_headers(data, partial_tail=True)]
