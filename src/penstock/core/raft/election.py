"""What a replica must never forget about elections, and the count of one election's votes."""

from __future__ import annotations

from typing import NamedTuple

from penstock.core.raft.ids import NOBODY, ReplicaKey
from penstock.core.raft.voters import VoterSet
from penstock.core.wire.stored.quorum import QuorumStateData


class ElectionState(NamedTuple):
    """The epoch, who leads it, and whom this replica voted for in it."""

    epoch: int = 0
    leader_id: int | None = None
    voted: ReplicaKey | None = None

    def to_record(self) -> QuorumStateData:
        """As `quorum-state` keeps it, in version 1."""
        voted = self.voted or ReplicaKey(NOBODY)
        return QuorumStateData(
            leader_id=NOBODY if self.leader_id is None else self.leader_id,
            leader_epoch=self.epoch,
            voted_id=voted.id,
            voted_directory_id=voted.directory_id,
        )

    @classmethod
    def from_record(cls, record: QuorumStateData) -> ElectionState:
        leader_id = None if record.leader_id < 0 else record.leader_id
        voted = None if record.voted_id < 0 else ReplicaKey(record.voted_id, record.voted_directory_id)
        return cls(record.leader_epoch, leader_id, voted)


class Tally:
    """The votes of one election, among the voters that were known when it began."""

    __slots__ = ("_granted", "_rejected", "voters")

    def __init__(self, voters: VoterSet, own_id: int) -> None:
        self.voters = voters
        self._granted = {own_id} & voters.ids
        self._rejected: set[int] = set()

    @property
    def granted(self) -> list[int]:
        return sorted(self._granted)

    def record(self, voter_id: int, *, granted: bool) -> None:
        """Count a vote once; what was granted is not taken back by a later refusal."""
        if voter_id in self.voters.ids and voter_id not in self._granted:
            (self._granted if granted else self._rejected).add(voter_id)
            if granted:
                self._rejected.discard(voter_id)

    @property
    def is_won(self) -> bool:
        return len(self._granted) >= self.voters.majority

    @property
    def is_lost(self) -> bool:
        """Whether too few voters are left to win."""
        return len(self.voters) - len(self._rejected) < self.voters.majority

    def unrecorded(self) -> list[ReplicaKey]:
        recorded = self._granted | self._rejected
        return [voter.key for voter in self.voters if voter.key.id not in recorded]
