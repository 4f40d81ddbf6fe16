"""How much a follower may read: limits and throttle, for every way in which it is answered.

A follower is served in four ways: it has all there is and waits; one partition has more for it, and a template is
filled in; all that has news is looked at; or the disk is asked. Who may read is decided by `CachedPartition.admit` in
all of them, and how much here.
"""

from __future__ import annotations

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Later, Slice, Steps
from penstock.core.node.replication.replication import Replication
from penstock.core.partition.partition import Partition
from penstock.core.partition.readers import REPLICA
from penstock.core.partition.replicated import ReplicatedLeader


class FollowerReads:
    """What followers may read on a node."""

    def __init__(self, replication: Replication) -> None:
        self._replication = replication

    def read_cached(
        self, leader: ReplicatedLeader, replica_id: int, offset: int, room_bytes: int, first: bool
    ) -> Slice | Later | None:
        """All there is, committed or not, as far as it fits. None also while the throttle is closed: its follower is
        looked at again after its wait."""
        if room_bytes <= 0 and not first:
            return None
        slowed = self._replication.throttling.slows_sending(leader, replica_id)
        if slowed and not self._is_open():
            return None
        piece = leader.read_cached(offset, max(room_bytes, 0), REPLICA, first)
        if slowed and isinstance(piece, Slice):
            self._sent(piece)
        return piece

    def read(
        self, leader: Partition, replica_id: int, offset: int, room_bytes: int, first: bool
    ) -> Steps[Slice | None]:
        """The slow twin. Others were read since this was looked at: the replica may not lead any more, and the throttle
        may have been closed."""
        if not isinstance(leader, ReplicatedLeader):
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        slowed = self._replication.throttling.slows_sending(leader, replica_id)
        if (room_bytes <= 0 and not first) or (slowed and not self._is_open()):
            return None
        piece = yield from leader.read(offset, max(room_bytes, 0), REPLICA, first)
        if slowed and piece is not None:
            self._sent(piece)
        return piece

    def _is_open(self) -> bool:
        return self._replication.throttling.sending.is_open(self._replication.clock())

    def _sent(self, piece: Slice) -> None:
        self._replication.throttling.sending.passed(piece.length, self._replication.clock())
