"""What a leader knows of another replica, all of it from that replica's fetches."""

from __future__ import annotations

from typing import Final

UNKNOWN: Final = -1
LONG_AGO_MS: Final = -(2**62)


class ReplicaState:
    """Where another replica's log ends, and when it last had everything.

    It had everything at the time of a fetch that asked for our end. A busy leader always has more by the time a fetch
    comes; so a fetch that asks for what was our end at the fetch before shows that it had everything back then.
    """

    __slots__ = (
        "_last_end_offset",
        "_last_fetch_ms",
        "broker_epoch",
        "caught_up_ms",
        "end_offset",
        "id",
        "start_offset",
    )

    def __init__(self, replica_id: int, caught_up_ms: int) -> None:
        self.id = replica_id
        self.caught_up_ms = caught_up_ms
        self.end_offset = UNKNOWN
        self.start_offset = UNKNOWN
        self.broker_epoch = UNKNOWN
        self._last_end_offset = UNKNOWN
        self._last_fetch_ms = LONG_AGO_MS

    def __repr__(self) -> str:
        return f"ReplicaState({self.id}, ..{self.end_offset}, caught up at {self.caught_up_ms})"

    def is_outlived(self, broker_epoch: int) -> bool:
        """Whether a fetch comes from an earlier life of the broker than one that has fetched already (KIP-903)."""
        return broker_epoch != UNKNOWN and broker_epoch < self.broker_epoch

    def fetched(self, offset: int, start_offset: int, broker_epoch: int, leader_end: int, now_ms: int) -> None:
        """It asks for `offset`, so everything below is there."""
        if offset >= leader_end:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif self._last_end_offset != UNKNOWN and offset >= self._last_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, self._last_fetch_ms)
        self.end_offset = offset
        self.start_offset = start_offset
        self.broker_epoch = broker_epoch
        self.answered(leader_end, now_ms)

    def answered(self, leader_end: int, now_ms: int) -> None:
        """It hears of everything up to our end, and will have had everything at this time if it asks for that next."""
        self._last_end_offset = leader_end
        self._last_fetch_ms = now_ms

    def outgrown(self, leader_end: int, now_ms: int) -> None:
        """The leader is about to append. A replica that was there has had everything until now: a partition that was
        quiet for long asks nobody to say so again and again."""
        if self.end_offset >= leader_end:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)

    def is_caught_up(self, leader_end: int, now_ms: int, lag_ms_max: int) -> bool:
        return self.end_offset >= leader_end or now_ms - self.caught_up_ms <= lag_ms_max

    def left(self) -> None:
        """It is not in sync any more. That it was caught up not long ago says nothing about it now, or it would be
        waited for all the same, as one that is about to join."""
        self.caught_up_ms = LONG_AGO_MS

    def forgive(self, late_ms: int) -> None:
        """The leader itself did nothing for a while: that is not the replica's lag."""
        if self.caught_up_ms != LONG_AGO_MS:
            self.caught_up_ms += late_ms
