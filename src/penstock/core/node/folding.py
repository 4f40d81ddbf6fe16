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


def fold_log(log: Log, take: Take) -> Steps[int]:
    """Hand every batch that is in the log now to `take`; gives the offset after the last one."""
    offset, end = log.start_offset, log.end_offset
    while offset < end:
        piece = yield from log.read(offset, SLICE_BYTES, end, True)
        if piece is None:
            # Compaction may have taken the last records of a log.
            return end
        data: bytes = yield Read(piece.file, piece.position, piece.length)
        for position, header in iterate_headers(data, partial_tail=True):
            take(data, position, header)
            offset = header.next_offset
        yield Pause()
    return end
