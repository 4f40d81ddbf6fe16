"""A follower that sees to its own place among the voters: its addresses are kept current, and it joins if it should."""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.raft import requests
from penstock.core.raft.member import Member
from penstock.core.raft.roles import Follower
from penstock.core.raft.steering import settle, told_by_update
from penstock.core.wire.api.add_raft_voter import AddRaftVoterResponse
from penstock.core.wire.api.remove_raft_voter import RemoveRaftVoterResponse
from penstock.core.wire.api.update_raft_voter import UpdateRaftVoterResponse
from penstock.core.wire.schema import Request

_IN_ORDER = (ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.DUPLICATE_VOTER, ErrorCode.VOTER_NOT_FOUND)
"""Answers that a later look at the voters makes good."""


def join(member: Member, role: Follower, now_ms: int) -> bool:
    """Once per fetch timeout, say what the voters do not have right; whether a request took the place of a fetch."""
    if member.is_rebuilding or now_ms < role.update_voter_ms:
        return False
    leader = member.destination(role.leader_id, role.leader_endpoints)
    request = _wish(member, role)
    if request is not None and (leader is None or not member.peers.is_ready(leader, now_ms)):
        return False
    role.update_voter_ms = now_ms + member.settings.fetch_timeout_ms
    if request is None or leader is None:
        return False
    member.send(leader, request, now_ms)
    return True


def _wish(member: Member, role: Follower) -> Request | None:
    voters, is_dynamic = member.history.last, member.history.is_dynamic
    if member.is_voter:
        outdated = voters.needs_update(member.as_voter) if is_dynamic else not role.has_updated_voter
        return requests.update_voter(member) if outdated else None
    if not (is_dynamic and member.local.can_vote and member.settings.auto_join):
        return None
    same_id = voters.get(member.local.key.id)
    if same_id is not None:
        # Our disk was replaced: the voter that we were must go before we can come.
        return requests.remove_voter(member, same_id.key)
    return requests.add_voter(member)


def on_joined(
    member: Member,
    response: UpdateRaftVoterResponse | AddRaftVoterResponse | RemoveRaftVoterResponse,
    now_ms: int,
) -> bool:
    """Whether the reply was in order."""
    if not isinstance(response, UpdateRaftVoterResponse):
        return response.error_code in _IN_ORDER
    told = told_by_update(response, member.local.listener)
    if told is None:
        return False
    outcome = settle(member, told, now_ms)
    if outcome is not None:
        return outcome
    if isinstance(member.role, Follower) and told.code in (ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION):
        member.role.has_updated_voter = True
        member.role.is_counting = False
        member.role.has_fetched = True
        return True
    return False
