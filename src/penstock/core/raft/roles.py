"""The roles of a replica, which may follow which, and whether a replica in a role grants a vote.

A replica that voted is unattached (or prospective) with a vote in its election state; there is no role of its own.
"""

from __future__ import annotations

from typing import Final

from penstock.core.base.values import fresh, mutable
from penstock.core.raft.election import ElectionState, Tally
from penstock.core.raft.ids import Endpoints, ReplicaKey, SnapshotId
from penstock.core.raft.leader import LeaderState
from penstock.core.wire.fields import ZERO_UUID


@mutable
class Unattached:
    """Knows of no leader to follow. A voter runs for election at its deadline; an observer has none."""

    deadline_ms: int | None


@mutable
class Prospective:
    """Asks whether it would win (pre-vote), without disturbing anybody's epoch."""

    tally: Tally
    deadline_ms: int
    leader_endpoints: Endpoints = ()


@mutable
class Candidate:
    """Asks for votes in an epoch of its own."""

    tally: Tally
    deadline_ms: int


@mutable
class SnapshotFetch:
    """A snapshot that arrives in chunks."""

    id: SnapshotId
    size_bytes: int = 0


@mutable
class Follower:
    """Fetches from a leader until the leader is silent for too long. Its silence counts from when it could be asked:
    while this replica's own disk is busy, it is this replica that is silent."""

    leader_id: int
    leader_endpoints: Endpoints
    deadline_ms: int
    update_voter_ms: int
    is_counting: bool = False
    has_fetched: bool = False
    has_updated_voter: bool = False
    snapshot: SnapshotFetch | None = None


@mutable
class Resigned:
    """Led this epoch, does so no more, and tells the voters who may take over first."""

    deadline_ms: int
    unacknowledged: set[int]
    successors: list[ReplicaKey] = fresh(default_factory=list)


Role = Unattached | Prospective | Candidate | Follower | LeaderState | Resigned

# From each role to those that may follow it; a role may follow itself with another epoch or leader.
MAY_FOLLOW: Final[dict[type[Role], tuple[type[Role], ...]]] = {
    Unattached: (Unattached, Prospective, Follower),
    Prospective: (Unattached, Candidate, Follower),
    Candidate: (Unattached, Prospective, LeaderState, Follower),
    Follower: (Unattached, Prospective, Follower),
    LeaderState: (Unattached, Resigned, Follower),
    Resigned: (Unattached, Follower),
}


def can_grant(role: Role, election: ElectionState, candidate: ReplicaKey, *, is_current: bool, pre_vote: bool) -> bool:
    """Whether to vote for a candidate whose log is as current as ours, or is not.

    A pre-vote binds nobody; it is refused only where a leader is known to be alive.
    """
    if pre_vote:
        leads = isinstance(role, LeaderState) or (isinstance(role, Follower) and role.has_fetched)
        return is_current and not leads
    if not isinstance(role, Unattached | Prospective):
        return False
    if election.voted is not None:
        voted = election.voted
        return voted.id == candidate.id and voted.directory_id in (ZERO_UUID, candidate.directory_id)
    return is_current and election.leader_id is None
