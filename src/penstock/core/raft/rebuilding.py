"""A replica that has lost its log, and perhaps its vote, gets them back from the others before it counts again.

What it acknowledged and whom it voted for may be gone, and others still count on it. So it grants no vote, runs for
nothing, and fetches as nobody, until

- its epoch is not below any in which it acknowledged something: that is what its election state says, or, if that is
  lost too, what all the other voters say, of whom a majority must remember;
- it follows the leader of such an epoch, and has synced the whole log that this leader had after the loss. What it had
  acknowledged is part of that, or was never committed.

A leader was never elected by such a replica, so a majority of the voters is whole wherever there is one.
"""

from __future__ import annotations

from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.raft.ids import UNKNOWN_OFFSET, LogEnd

PROBED_OFFSET: Final = (1 << 63) - 1
"""No log reaches this: asked for it in its own epoch, a leader answers where its log ends."""

LOST: Final = ErrorCode.BROKER_NOT_AVAILABLE
"""Said by a voter that has lost its election state, when it is asked for a vote: it cannot even tell its epoch."""


class Rebuilding:
    """What a replica must still learn."""

    __slots__ = ("_told", "is_election_lost", "target")

    def __init__(self, *, is_election_lost: bool) -> None:
        self.is_election_lost = is_election_lost
        # Which other voters have told their epoch, and which have lost theirs too.
        self._told: dict[int, bool] = {}
        self.target: LogEnd | None = None
        """Where the log of an epoch's leader ended after the loss."""

    def told(self, voter_id: int, code: int) -> None:
        """A voter has answered a question for its vote; its epoch was heard of with that."""
        if code == LOST:
            self._told[voter_id] = False
        elif code in (ErrorCode.NONE, ErrorCode.FENCED_LEADER_EPOCH):
            self._told[voter_id] = True

    def unasked(self, others: set[int]) -> list[int]:
        """Which voters have yet to tell their epoch. Who has lost it is asked again: it may have it back."""
        return sorted(voter_id for voter_id in others if not self._told.get(voter_id))

    def knows_epoch(self, others: set[int], majority: int) -> bool:
        """Whether this replica's epoch is as high as any that it was in. Whoever led such an epoch, or ran for it, is
        among the others. One that has lost its election state will never lead there, as its log is gone too."""
        if not self.is_election_lost:
            return True
        remembering = sum(self._told.get(voter_id, False) for voter_id in others)
        return others <= self._told.keys() and remembering >= majority

    def is_probed(self, epoch: int) -> bool:
        return self.target is not None and self.target.epoch == epoch

    def has_caught_up(self, epoch: int, synced_offset: int, known: int, told: int) -> bool:
        """Whether everything is here that the leader of this epoch had, and all of it that it says is committed."""
        target = self.target
        if target is None or target.epoch != epoch or told == UNKNOWN_OFFSET:
            return False
        return synced_offset >= target.offset and known >= told
