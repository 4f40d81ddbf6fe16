"""Planted bugs: mistakes that somebody could make in Raft, each switched on for a while. A world that catches none of
them proves nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from penstock.core.raft import electing, roles, serving, snapshots
from penstock.core.raft.changes import Changes
from penstock.core.raft.decisions import Ready
from penstock.core.raft.election import ElectionState
from penstock.core.raft.following import Following
from penstock.core.raft.ids import LogEnd, ReplicaKey
from penstock.core.raft.leader import LeaderState
from penstock.core.raft.leading import Leading
from penstock.core.raft.member import Member
from penstock.core.raft.outbox import Outbox
from penstock.core.raft.roles import Prospective, Role, Unattached
from penstock.core.raft.snapshots import Judgement, Verdict
from penstock.sim.planted import Patch, planting


def planted(name: str) -> AbstractContextManager[None]:
    """Let a bug be there for a while."""
    return planting([(BUGS | LOSING_BUGS)[name]()])


def _vote_not_saved_first() -> Patch:
    """Messages do not wait for the election state that they rest on."""
    honest = Outbox.take

    def take(self: Outbox, *, flush: bool) -> Ready:
        ready = honest(self, flush=flush)
        ready.sends += self.ready.sends
        ready.answers += self.ready.answers
        self.ready.sends, self.ready.answers = [], []
        return ready

    return Outbox, "take", take


def _two_votes() -> Patch:
    """Whoever asks first or later gets the vote."""

    def can_grant(
        role: Role, election: ElectionState, candidate: ReplicaKey, *, is_current: bool, pre_vote: bool
    ) -> bool:
        return is_current and isinstance(role, Unattached | Prospective)

    return electing, "can_grant", can_grant


def _any_log_wins() -> Patch:
    """Nobody looks at how far a candidate's log reaches."""
    honest = roles.can_grant

    def can_grant(
        role: Role, election: ElectionState, candidate: ReplicaKey, *, is_current: bool, pre_vote: bool
    ) -> bool:
        return honest(role, election, candidate, is_current=True, pre_vote=pre_vote)

    return electing, "can_grant", can_grant


def _older_epochs_count() -> Patch:
    """The high watermark counts what earlier leaders wrote."""

    def advance(self: LeaderState) -> bool:
        ends = sorted((progress.end_offset for progress in self.voters.values()), reverse=True)
        offset = ends[len(ends) // 2]
        if offset <= self.high_watermark:
            return False
        self.high_watermark = offset
        return True

    return LeaderState, "_advance", advance


def _nothing_truncated() -> Patch:
    """A follower keeps what its leader does not have."""

    def truncate(self: Following, leader_end: LogEnd) -> None:
        return None

    return Following, "_truncate", truncate


def _divergence_unnoticed() -> Patch:
    """The leader looks at a follower's offset and not at its epoch."""
    honest = snapshots.judge

    def judge(*arguments: Any) -> Judgement:
        judgement = honest(*arguments)
        is_within = arguments[-1].offset <= arguments[0].end_offset
        return Judgement(Verdict.VALID) if judgement.end is not None and is_within else judgement

    return serving, "judge", judge


def _leader_counts_unsynced() -> Patch:
    """The leader counts what it wrote, not what it synced."""

    def synced(self: Leading, leader: LeaderState) -> None:
        if leader.local_synced(self._member.log.end_offset):
            self.advanced(leader)

    return Leading, "synced", synced


def _follower_counts_unsynced() -> Patch:
    """A follower asks for more before it synced what it has."""

    def is_safe_to_fetch(self: Following) -> bool:
        return True

    return Following, "_is_safe_to_fetch", is_safe_to_fetch


def _changes_overlap() -> Patch:
    """A change of the voters does not wait for the one before it."""

    def is_settled(self: Changes) -> bool:
        return isinstance(self._member.role, LeaderState)

    return Changes, "_is_settled", is_settled


def _votes_without_its_log() -> Patch:
    """Who has lost its log grants votes, runs and counts as if nothing had been."""
    return Member, "is_rebuilding", property(lambda self: False)


LOSING_BUGS: dict[str, Callable[[], Patch]] = {
    "a voter votes without its log": _votes_without_its_log,
}
"""Found only where logs are lost."""

BUGS: dict[str, Callable[[], Patch]] = {
    "vote not saved before it is told": _vote_not_saved_first,
    "two votes in an epoch": _two_votes,
    "any log wins": _any_log_wins,
    "high watermark counts older epochs": _older_epochs_count,
    "truncation left out": _nothing_truncated,
    "divergence unnoticed": _divergence_unnoticed,
    "leader counts what it has not synced": _leader_counts_unsynced,
    "follower counts what it has not synced": _follower_counts_unsynced,
    "voter changes overlap": _changes_overlap,
}
