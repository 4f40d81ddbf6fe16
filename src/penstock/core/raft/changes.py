"""Changing the voters: one at a time, so that any two sets that count at once share a majority.

A change waits for the one before it to be committed, and for the leader to have committed something of its own epoch,
which fences changes that an earlier leader left unfinished.
"""

from __future__ import annotations

from penstock.core.base.endpoints import Endpoint
from penstock.core.base.errors import ErrorCode
from penstock.core.raft import answers, requests
from penstock.core.raft.decisions import Ticket
from penstock.core.raft.ids import UNKNOWN_OFFSET, Destination, ReplicaKey, address
from penstock.core.raft.leader import LeaderState, PendingChange
from penstock.core.raft.leading import Leading
from penstock.core.raft.member import Member
from penstock.core.raft.serving import leader_refusal
from penstock.core.raft.voters import Voter, VoterSet
from penstock.core.records.control import ControlType
from penstock.core.wire.api.add_raft_voter import AddRaftVoterRequest
from penstock.core.wire.api.api_versions import ApiVersionsResponse
from penstock.core.wire.api.remove_raft_voter import RemoveRaftVoterRequest
from penstock.core.wire.api.update_raft_voter import UpdateRaftVoterRequest, UpdateRaftVoterResponse
from penstock.core.wire.fields import ZERO_UUID
from penstock.core.wire.stored.quorum import KRaftVersionRecord

CAUGHT_UP_MS_MAX = 3_600_000
"""A new voter must have caught up with the leader and fetched within the last hour, as Kafka has it."""

_BLOCKED = "the leader's disk has failed to write, perhaps because it is full"


class Changes:
    """AddRaftVoter, RemoveRaftVoter and UpdateRaftVoter, and the step from static voters to those in the log."""

    def __init__(self, member: Member, leading: Leading) -> None:
        self._member = member
        self._leading = leading

    def add(self, ticket: Ticket, request: AddRaftVoterRequest, now_ms: int) -> None:
        """First ask the new voter which versions it can live with; `on_versions` goes on."""
        member, leader = self._member, self._member.role
        code, message = self._refusal(request)
        if code is not ErrorCode.NONE or not isinstance(leader, LeaderState):
            member.answer(ticket, answers.voter_change(request, code, message))
            return
        endpoint = address(_endpoints(request), member.local.listener)
        if endpoint is None:
            message = f"the new voter has no listener {member.local.listener}"
            member.answer(ticket, answers.voter_change(request, ErrorCode.INVALID_REQUEST, message))
            return
        if request.voter_id in member.history.last.ids:
            message = f"{request.voter_id} is a voter already"
            member.answer(ticket, answers.voter_change(request, ErrorCode.DUPLICATE_VOTER, message))
            return
        to = Destination(request.voter_id, endpoint.host, endpoint.port)
        if not member.peers.is_ready(to, now_ms):
            message = "the new voter cannot be asked now"
            member.answer(ticket, answers.voter_change(request, ErrorCode.REQUEST_TIMED_OUT, message))
            return
        member.send(to, requests.versions(), now_ms)
        leader.change = PendingChange(ticket, request, now_ms + member.settings.request_timeout_ms)

    def on_versions(self, voter_id: int, response: ApiVersionsResponse | None, now_ms: int) -> bool:
        """The new voter has answered, or could not; whether that was in order."""
        leader = self._member.role
        change = leader.change if isinstance(leader, LeaderState) else None
        if not isinstance(leader, LeaderState) or change is None or not isinstance(change.request, AddRaftVoterRequest):
            return True
        if change.request.voter_id != voter_id or change.offset is not None:
            return True
        if response is None or response.error_code:
            self._finish(leader, ErrorCode.REQUEST_TIMED_OUT, "the new voter did not tell its versions")
            return False
        self._add(leader, change, change.request, response, now_ms)
        return True

    def _add(
        self,
        leader: LeaderState,
        change: PendingChange,
        request: AddRaftVoterRequest,
        response: ApiVersionsResponse,
        now_ms: int,
    ) -> None:
        history = self._member.history
        key = ReplicaKey(request.voter_id, request.voter_directory_id)
        voter = Voter(key, _endpoints(request), _kraft_versions(response))
        if self._member.log.is_blocked:
            self._finish(leader, ErrorCode.KAFKA_STORAGE_ERROR, _BLOCKED)
        elif not voter.supports(history.kraft_version):
            message = f"the new voter does not support kraft.version {history.kraft_version}"
            self._finish(leader, ErrorCode.INVALID_REQUEST, message)
        elif not _is_caught_up(leader, key, now_ms):
            self._finish(leader, ErrorCode.REQUEST_TIMED_OUT, "the new voter has not caught up")
        else:
            voters = history.last.with_added(voter)
            assert voters is not None, "that was looked at when the request came"
            change.offset = self._write(leader, voters, now_ms)
            if not request.ack_when_committed and change.ticket is not None:
                self._member.answer(change.ticket, answers.voter_change(request, ErrorCode.NONE))
                change.ticket = None

    def remove(self, ticket: Ticket, request: RemoveRaftVoterRequest, now_ms: int) -> None:
        member, leader = self._member, self._member.role
        code, message = self._refusal(request)
        if code is not ErrorCode.NONE or not isinstance(leader, LeaderState):
            member.answer(ticket, answers.voter_change(request, code, message))
            return
        voters = member.history.last.with_removed(ReplicaKey(request.voter_id, request.voter_directory_id))
        if voters is None:
            message = f"{request.voter_id} cannot be removed from {member.history.last}"
            member.answer(ticket, answers.voter_change(request, ErrorCode.VOTER_NOT_FOUND, message))
            return
        expires_ms = now_ms + member.settings.request_timeout_ms
        leader.change = PendingChange(ticket, request, expires_ms, self._write(leader, voters, now_ms))

    def update(self, request: UpdateRaftVoterRequest, now_ms: int) -> UpdateRaftVoterResponse:
        """A voter tells its addresses and versions anew. With static voters that is kept aside (`upgrade`)."""
        member, leader = self._member, self._member.role
        code = self._update_refusal(request)
        if code is not ErrorCode.NONE or not isinstance(leader, LeaderState):
            return answers.update_voter(member, code)
        feature = request.k_raft_version_feature
        key = ReplicaKey(request.voter_id, request.voter_directory_id)
        voter = Voter(key, _endpoints(request), (feature.min_supported_version, feature.max_supported_version))
        is_dynamic = member.history.is_dynamic
        before = member.history.last if is_dynamic else leader.unsaved_voters
        voters = before.with_updated(voter, any_directory=not is_dynamic)
        if voters is None:
            return answers.update_voter(member, ErrorCode.VOTER_NOT_FOUND)
        if is_dynamic:
            self._write(leader, voters, now_ms)
        else:
            leader.unsaved_voters = voters
        leader.heard_from(key, now_ms)
        return answers.update_voter(member, ErrorCode.NONE)

    def upgrade(self, now_ms: int) -> ErrorCode:
        """Move from static voters to voters in the log, once each of them has told its directory and versions."""
        member, leader = self._member, self._member.role
        if not isinstance(leader, LeaderState):
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if member.history.is_dynamic:
            return ErrorCode.NONE
        own = leader.unsaved_voters.with_updated(member.as_voter, any_directory=True)
        assert own is not None, "a leader is a voter"
        if any(voter.key.directory_id == ZERO_UUID or not voter.supports(1) for voter in own):
            return ErrorCode.INVALID_UPDATE_VERSION
        if member.log.is_blocked:
            return ErrorCode.KAFKA_STORAGE_ERROR
        version = KRaftVersionRecord(version=0, k_raft_version=1)
        controls = [(ControlType.KRAFT_VERSION, version), (ControlType.KRAFT_VOTERS, own.to_record())]
        self._leading.append_controls(leader, controls, now_ms)
        return ErrorCode.NONE

    def poll(self, leader: LeaderState, now_ms: int) -> None:
        """Finish a change that is committed, or give up waiting for it; the record stays where it is."""
        change = leader.change
        if change is None:
            return
        if change.offset is not None and leader.high_watermark > change.offset:
            self._finish(leader, ErrorCode.NONE)
        elif now_ms >= change.expires_ms:
            self._finish(leader, ErrorCode.REQUEST_TIMED_OUT)

    def _finish(self, leader: LeaderState, code: ErrorCode, message: str | None = None) -> None:
        change, leader.change = leader.change, None
        assert change is not None, "nothing is under way"
        if change.ticket is not None:
            self._member.answer(change.ticket, answers.voter_change(change.request, code, message))

    def _write(self, leader: LeaderState, voters: VoterSet, now_ms: int) -> int:
        controls = [(ControlType.KRAFT_VOTERS, voters.to_record())]
        return self._leading.append_controls(leader, list(controls), now_ms)

    def _refusal(self, request: AddRaftVoterRequest | RemoveRaftVoterRequest) -> tuple[ErrorCode, str | None]:
        member = self._member
        if request.cluster_id not in (None, member.local.cluster_id):
            return ErrorCode.INCONSISTENT_CLUSTER_ID, f"this is cluster {member.local.cluster_id}"
        if (code := leader_refusal(member, member.epoch)) is not ErrorCode.NONE:
            return code, None
        if request.voter_id < 0 or request.voter_directory_id == ZERO_UUID:
            return ErrorCode.INVALID_REQUEST, "a voter has an id and a directory id"
        if not self._is_settled():
            return ErrorCode.REQUEST_TIMED_OUT, "an earlier change of the voters is not committed"
        if not member.history.is_dynamic:
            return ErrorCode.UNSUPPORTED_VERSION, "the voters are static: kraft.version is 0"
        return (ErrorCode.KAFKA_STORAGE_ERROR, _BLOCKED) if member.log.is_blocked else (ErrorCode.NONE, None)

    def _update_refusal(self, request: UpdateRaftVoterRequest) -> ErrorCode:
        member, feature = self._member, request.k_raft_version_feature
        if request.cluster_id not in (None, member.local.cluster_id):
            return ErrorCode.INCONSISTENT_CLUSTER_ID
        if (code := leader_refusal(member, request.current_leader_epoch)) is not ErrorCode.NONE:
            return code
        if request.voter_id < 0 or request.voter_directory_id == ZERO_UUID:
            return ErrorCode.INVALID_REQUEST
        if address(_endpoints(request), member.local.listener) is None:
            return ErrorCode.INVALID_REQUEST
        if not 0 <= feature.min_supported_version <= feature.max_supported_version:
            return ErrorCode.INVALID_REQUEST
        if not self._is_settled():
            return ErrorCode.REQUEST_TIMED_OUT
        if member.log.is_blocked:
            return ErrorCode.KAFKA_STORAGE_ERROR
        supported = feature.min_supported_version <= member.history.kraft_version <= feature.max_supported_version
        return ErrorCode.NONE if supported else ErrorCode.INVALID_REQUEST

    def _is_settled(self) -> bool:
        """Whether a change may begin: none is under way, and the last one is committed, in this leader's epoch."""
        leader = self._member.role
        if not isinstance(leader, LeaderState) or leader.change is not None:
            return False
        return leader.high_watermark != UNKNOWN_OFFSET and self._member.history.last_offset < leader.high_watermark


def _endpoints(request: AddRaftVoterRequest | UpdateRaftVoterRequest) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(each.name, each.host, each.port) for each in request.listeners)


def _kraft_versions(response: ApiVersionsResponse) -> tuple[int, int]:
    for feature in response.supported_features:
        if feature.name == "kraft.version":
            return feature.min_version, feature.max_version
    return 0, 0


def _is_caught_up(leader: LeaderState, key: ReplicaKey, now_ms: int) -> bool:
    progress = leader.observers.get(key)
    if progress is None or progress.caught_up_ms < 0:
        return False
    return now_ms - progress.fetched_ms < CAUGHT_UP_MS_MAX
