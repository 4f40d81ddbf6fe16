"""The log as Raft sees it. It never reads records: who performs an `Answer` does that."""

from __future__ import annotations

from typing import Protocol

from penstock.core.records.batch import BatchHeader


class RaftLog(Protocol):
    """Offsets, epochs and appends. Truncation and syncing take their time and are therefore decisions, not calls."""

    @property
    def start_offset(self) -> int: ...

    @property
    def end_offset(self) -> int: ...

    @property
    def synced_offset(self) -> int:
        """Everything below survives power loss."""
        ...

    @property
    def is_blocked(self) -> bool:
        """Whether nothing can be appended for a while, because what a failed write left is being undone."""
        ...

    @property
    def latest_epoch(self) -> int:
        """The epoch of the last record, -1 where there is none."""
        ...

    def epoch_end(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) of the largest epoch not above the one asked for, (-1, -1) above all epochs."""
        ...

    def epoch_at(self, offset: int) -> int:
        """The epoch that the record at an offset was written in."""
        ...

    def append(self, batch: bytearray | memoryview, header: BatchHeader, leader_epoch: int, now_ms: int) -> int:
        """Stamp the next offset and the epoch into a whole batch and append it; gives its base offset."""
        ...
