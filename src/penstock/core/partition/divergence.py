"""Where two logs part: found by leader epochs, from the last epoch that a follower has (KIP-101, 279, 595)."""

from __future__ import annotations

from typing import NamedTuple

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.log.log import Log
from penstock.core.partition.partition import Partition

NO_EPOCH = -1


class EpochEnd(NamedTuple):
    """An epoch, and the offset at which it ends in the leader's log."""

    epoch: int
    end_offset: int


def find_divergence(log: Log, offset: int, last_epoch: int) -> EpochEnd | None:
    """Whether a follower whose log ends at `offset` in `last_epoch` has something that the leader's log has not."""
    return None if last_epoch == NO_EPOCH else _compare(log, offset, last_epoch, log.epoch_end(last_epoch))


def find_readers_divergence(partition: Partition, offset: int, last_epoch: int) -> EpochEnd | None:
    """Whether a reader that has come to `offset` in `last_epoch` has read something that is not in this log."""
    if last_epoch == NO_EPOCH:
        return None
    return _compare(partition.log, offset, last_epoch, end_of_epoch(partition, last_epoch))


def end_of_epoch(partition: Partition, epoch: int) -> tuple[int, int]:
    """The leader's own epoch has begun, though a log without followers knows of it only by its first record. Who reads
    at the end was told that epoch, and would begin anew if nobody knew it."""
    log = partition.log
    if partition.leads and epoch == partition.leader_epoch:
        return epoch, log.end_offset
    if partition.leads and log.epochs.latest < epoch < partition.leader_epoch:
        return log.epochs.latest if log.epochs.latest >= 0 else epoch, log.end_offset
    return log.epoch_end(epoch)


def _compare(log: Log, offset: int, last_epoch: int, end: tuple[int, int]) -> EpochEnd | None:
    epoch, end_offset = end
    if epoch == NO_EPOCH or offset < log.start_offset:
        raise ApiError(
            ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset} of epoch {last_epoch} is not known in {log.start_offset}.."
        )
    if epoch < last_epoch or end_offset < offset:
        return EpochEnd(epoch, end_offset)
    return None


def truncation_offset(log: Log, leader: EpochEnd) -> int:
    """How much a follower may keep, hearing where the leader's epoch ends. If it does not know that epoch itself, what
    it keeps is still too much, and the next fetch tells more."""
    epoch, end_offset = log.epoch_end(leader.epoch)
    if epoch == NO_EPOCH:
        return min(leader.end_offset, log.end_offset)
    if epoch != leader.epoch:
        return min(end_offset, log.end_offset)
    return min(end_offset, leader.end_offset, log.end_offset)
