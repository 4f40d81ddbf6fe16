"""The snapshots that this replica has, and where a log stands that somebody else describes."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from typing import NamedTuple

from penstock.core.raft.ids import LogEnd, Snapshot, SnapshotId
from penstock.core.raft.ports import RaftLog


class Snapshots:
    """Complete snapshots, oldest first. The log begins at the oldest one's end, or at 0."""

    __slots__ = ("_by_id",)

    def __init__(self, snapshots: Iterable[Snapshot] = ()) -> None:
        self._by_id = {snapshot.id: snapshot for snapshot in sorted(snapshots)}

    @property
    def latest(self) -> Snapshot | None:
        return next(reversed(self._by_id.values()), None)

    @property
    def earliest(self) -> Snapshot | None:
        return next(iter(self._by_id.values()), None)

    def get(self, snapshot_id: SnapshotId) -> Snapshot | None:
        return self._by_id.get(snapshot_id)

    def add(self, snapshot: Snapshot) -> None:
        latest = self.latest
        assert latest is None or snapshot.id > latest.id, "snapshots are made in order"
        self._by_id[snapshot.id] = snapshot

    def keep(self, count: int) -> SnapshotId | None:
        """Forget all but the newest; gives the oldest that is left if some were forgotten."""
        surplus = list(self._by_id)[:-count]
        for snapshot_id in surplus:
            del self._by_id[snapshot_id]
        return next(iter(self._by_id)) if surplus else None


class Verdict(Enum):
    """How another log, by its end, relates to this one."""

    VALID = auto()
    DIVERGING = auto()
    BEHIND = auto()


class Judgement(NamedTuple):
    """The verdict; for a diverging log, where this one's part of that epoch ends."""

    verdict: Verdict
    end: LogEnd | None = None

    @property
    def is_valid(self) -> bool:
        return self.verdict is Verdict.VALID

    @property
    def needs_snapshot(self) -> bool:
        return self.verdict is Verdict.BEHIND


def judge(log: RaftLog, snapshots: Snapshots, last_epoch: int, other: LogEnd) -> Judgement:
    """Whether a replica whose log ends there can go on from there, must cut its log, or needs a snapshot."""
    epoch, offset = other
    latest, earliest = snapshots.latest, snapshots.earliest
    if offset == 0 and (latest is None or latest.id.end_offset == 0) and log.start_offset == 0:
        return Judgement(Verdict.VALID)
    if latest is not None and latest.id.end_offset > 0 and offset == 0:
        return Judgement(Verdict.BEHIND)
    if earliest is not None and earliest.id.end_offset > 0 and _is_before(log.start_offset, earliest.id, other):
        return Judgement(Verdict.BEHIND)
    end = end_of_epoch(log, snapshots, last_epoch, epoch)
    if end.epoch != epoch or end.offset < offset:
        return Judgement(Verdict.DIVERGING, end)
    return Judgement(Verdict.VALID)


def _is_before(start_offset: int, earliest: SnapshotId, other: LogEnd) -> bool:
    return (
        other.offset < start_offset
        or (other.offset == start_offset and start_offset > 0 and other.epoch != earliest.epoch)
        or other.epoch < earliest.epoch
    )


def end_of_epoch(log: RaftLog, snapshots: Snapshots, last_epoch: int, epoch: int) -> LogEnd:
    """Where this log's part of an epoch, or of the last one before it, ends."""
    found, end_offset = log.epoch_end(epoch)
    if found < 0:
        return LogEnd(last_epoch, log.end_offset)
    earliest = snapshots.earliest
    if earliest is not None and end_offset == earliest.id.end_offset and found == epoch:
        # Nothing is left of that epoch but what the snapshot holds.
        return LogEnd(earliest.id.epoch, end_offset)
    return LogEnd(found, end_offset)


def truncation_offset(log: RaftLog, snapshots: Snapshots, last_epoch: int, leader_end: LogEnd) -> int:
    """Where to cut a log so that it ends where the leader's has the same."""
    if leader_end.epoch == 0:
        return min(leader_end.offset, log.end_offset)
    own = end_of_epoch(log, snapshots, last_epoch, leader_end.epoch)
    return min(own.offset, leader_end.offset) if own.epoch == leader_end.epoch else own.offset
