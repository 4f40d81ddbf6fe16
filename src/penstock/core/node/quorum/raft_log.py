"""A partition's log as Raft sees it."""

from __future__ import annotations

from penstock.core.log.log import Log
from penstock.core.records.batch import BatchHeader

_NO_EPOCH = (-1, -1)


class MetadataLog:
    """Offsets and epochs of the metadata log, and appends that a failing disk may take back."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._appended = log.end_offset

    @property
    def start_offset(self) -> int:
        return self._log.start_offset

    @property
    def end_offset(self) -> int:
        return self._log.end_offset

    @property
    def synced_offset(self) -> int:
        return self._log.synced_offset

    @property
    def is_blocked(self) -> bool:
        return self._log.blocked is not None

    @property
    def latest_epoch(self) -> int:
        return self._log.epochs.latest if self._has_records else -1

    def epoch_end(self, epoch: int) -> tuple[int, int]:
        return self._log.epoch_end(epoch) if self._has_records else _NO_EPOCH

    def epoch_at(self, offset: int) -> int:
        return self._log.epoch_at(offset)

    def append(self, batch: bytearray | memoryview, header: BatchHeader, leader_epoch: int, now_ms: int) -> int:
        base_offset = self._log.append(batch, header, leader_epoch, now_ms)
        self._appended = self._log.end_offset
        return base_offset

    def take_losses(self) -> bool:
        """Whether the disk has failed to write some of what was appended, since this was asked last."""
        has_lost = self._log.end_offset < self._appended
        self._appended = self._log.end_offset
        return has_lost

    @property
    def _has_records(self) -> bool:
        """The epoch of what a snapshot has replaced may still be known to the log, but is the snapshot's to tell."""
        return self._log.end_offset > self._log.start_offset
