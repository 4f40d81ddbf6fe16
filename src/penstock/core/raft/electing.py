"""Elections: asking for votes, giving them, and the messages with which an epoch begins and ends."""

from __future__ import annotations

from typing import Final

from penstock.core.base.endpoints import Endpoint
from penstock.core.base.errors import ErrorCode
from penstock.core.raft import answers, requests
from penstock.core.raft.ids import NOBODY, TOPIC, Endpoints, LogEnd, ReplicaKey
from penstock.core.raft.leading import Leading
from penstock.core.raft.member import Member
from penstock.core.raft.rebuilding import LOST
from penstock.core.raft.roles import Candidate, Follower, Prospective, Resigned, Unattached, can_grant
from penstock.core.raft.steering import hear_of, is_contradicted, settle, told_by_election
from penstock.core.wire.api.begin_quorum_epoch import BeginQuorumEpochRequest, BeginQuorumEpochResponse, LeaderEndpoint
from penstock.core.wire.api.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse
from penstock.core.wire.api.end_quorum_epoch import LeaderEndpoint as EndLeaderEndpoint
from penstock.core.wire.api.end_quorum_epoch import RequestPartitionData as EndPartition
from penstock.core.wire.api.vote import RequestPartitionData as VotePartition
from penstock.core.wire.api.vote import VoteRequest, VoteResponse
from penstock.core.wire.fields import ZERO_UUID

EPOCH_JUMP_MAX: Final = 1 << 20
"""How many epochs a request may be ahead: months of elections. What it says is saved, and can never be taken back: one
that came with the last epoch there is would leave none in which anybody could lead. Who was away for longer learns the
epoch from those that it asks itself."""


class Electing:
    """A voter between leaders, and what every replica answers to those."""

    def __init__(self, member: Member, leading: Leading) -> None:
        self._member = member
        self._leading = leading

    # Requests

    def vote(self, request: VoteRequest, now_ms: int) -> VoteResponse:
        member = self._member
        if (misdirected := _misdirected(member, request)) is not ErrorCode.NONE:
            return VoteResponse(error_code=misdirected)
        asked = request.topics[0].partitions[0]
        if (code := self._vote_refusal(asked)) is not ErrorCode.NONE:
            return answers.vote(member, code)
        if asked.replica_epoch > member.epoch:
            member.become_unattached(asked.replica_epoch, now_ms)
        if not self._is_meant(request.voter_id, asked.voter_directory_id):
            return answers.vote(member, ErrorCode.INVALID_VOTER_KEY)
        if member.is_rebuilding:
            # What this replica had, and so what a candidate must have, is lost.
            return answers.vote(member, LOST if member.has_lost_election else ErrorCode.NONE)
        return answers.vote(member, ErrorCode.NONE, granted=self._grant(asked, now_ms))

    def _vote_refusal(self, asked: VotePartition) -> ErrorCode:
        last_epoch_max = asked.replica_epoch if asked.pre_vote else asked.replica_epoch - 1
        if asked.last_offset < 0 or not 0 <= asked.last_offset_epoch <= last_epoch_max:
            return ErrorCode.INVALID_REQUEST
        return self._epoch_refusal(asked.replica_id, asked.replica_epoch)

    def _grant(self, asked: VotePartition, now_ms: int) -> bool:
        """Decide, and remember a vote before anybody hears of it."""
        member = self._member
        candidate = ReplicaKey(asked.replica_id, asked.replica_directory_id)
        is_current = LogEnd(asked.last_offset_epoch, asked.last_offset) >= member.log_end
        granted = can_grant(member.role, member.election, candidate, is_current=is_current, pre_vote=asked.pre_vote)
        if granted and not asked.pre_vote and member.election.voted is None:
            member.vote_for(candidate, now_ms)
        return granted

    def begin_epoch(self, request: BeginQuorumEpochRequest, now_ms: int) -> BeginQuorumEpochResponse:
        member = self._member
        if (misdirected := _misdirected(member, request)) is not ErrorCode.NONE:
            return BeginQuorumEpochResponse(error_code=misdirected)
        told = request.topics[0].partitions[0]
        code = self._hear_leader(told.leader_id, told.leader_epoch, _endpoints(request.leader_endpoints), now_ms)
        if code is not ErrorCode.NONE:
            return answers.begin_epoch(member, code)
        if not self._is_meant(request.voter_id, told.voter_directory_id):
            return answers.begin_epoch(member, ErrorCode.INVALID_VOTER_KEY)
        return answers.begin_epoch(member, ErrorCode.NONE)

    def end_epoch(self, request: EndQuorumEpochRequest, now_ms: int) -> EndQuorumEpochResponse:
        member = self._member
        if (misdirected := _misdirected(member, request)) is not ErrorCode.NONE:
            return EndQuorumEpochResponse(error_code=misdirected)
        told = request.topics[0].partitions[0]
        code = self._hear_leader(told.leader_id, told.leader_epoch, _endpoints(request.leader_endpoints), now_ms)
        if code is not ErrorCode.NONE:
            return answers.end_epoch(member, code)
        role = member.role
        if isinstance(role, Follower) and role.leader_id == told.leader_id:
            role.is_counting = True
            role.deadline_ms = now_ms + self._succession_delay(told)
        return answers.end_epoch(member, ErrorCode.NONE)

    def _succession_delay(self, told: EndPartition) -> int:
        """The first successor runs at once, each further one waits twice as long, so that one of them wins."""
        member = self._member
        successors = [(each.candidate_id, each.candidate_directory_id) for each in told.preferred_candidates]
        successors = successors or [(replica_id, ZERO_UUID) for replica_id in told.preferred_successors]
        own = member.local.key
        names = ((own.id, ZERO_UUID), (own.id, own.directory_id))
        place = next((at for at, successor in enumerate(successors) if successor in names), len(successors))
        longest_ms = member.settings.election_backoff_ms_max
        if place == 0:
            return 0
        if place >= len(successors):
            return longest_ms
        return min(longest_ms, (longest_ms >> (len(successors) - 1)) << (place - 1))

    def _epoch_refusal(self, sender_id: int, epoch: int) -> ErrorCode:
        if epoch < self._member.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        is_possible = sender_id >= 0 and epoch - self._member.epoch <= EPOCH_JUMP_MAX
        return ErrorCode.NONE if is_possible else ErrorCode.INVALID_REQUEST

    def _hear_leader(self, leader_id: int, epoch: int, endpoints: Endpoints, now_ms: int) -> ErrorCode:
        """Take in who leads, or refuse what cannot be."""
        code = self._epoch_refusal(leader_id, epoch)
        if code is not ErrorCode.NONE:
            return code
        if is_contradicted(self._member, leader_id, epoch):
            return ErrorCode.INVALID_REQUEST
        hear_of(self._member, leader_id, epoch, endpoints, now_ms)
        return ErrorCode.NONE

    def _is_meant(self, voter_id: int, directory_id: bytes) -> bool:
        """Whether a request was for this replica: another may have had this address, or this node another disk."""
        key = self._member.local.key
        return voter_id == NOBODY or (voter_id == key.id and directory_id in (ZERO_UUID, key.directory_id))

    # Replies

    def on_vote(self, voter_id: int, response: VoteResponse, now_ms: int) -> bool:
        """Count a vote; whether the reply was in order."""
        member = self._member
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION and isinstance(member.role, Prospective):
            # The voter knows no pre-vote. To run without asking first is all that is left.
            member.become_candidate(now_ms)
            return True
        told = None if response.error_code else told_by_election(response, member.local.listener)
        if told is None:
            return False
        outcome = settle(member, told, now_ms)
        if member.rebuilding is not None and member.epoch >= told.epoch:
            member.rebuilding.told(voter_id, told.code)
        if outcome is not None:
            return outcome
        if told.code == ErrorCode.NONE and isinstance(member.role, Prospective | Candidate):
            is_granted = response.topics[0].partitions[0].vote_granted
            member.role.tally.record(voter_id, granted=is_granted)
            if not is_granted:
                member.refused_ms = now_ms
        return told.code == ErrorCode.NONE

    def on_epoch_reply(
        self, voter_id: int, response: BeginQuorumEpochResponse | EndQuorumEpochResponse, now_ms: int
    ) -> bool:
        member = self._member
        told = None if response.error_code else told_by_election(response, member.local.listener)
        if told is None:
            return False
        outcome = settle(member, told, now_ms)
        if outcome is not None:
            return outcome
        if told.code == ErrorCode.NONE and isinstance(member.role, Resigned):
            member.role.unacknowledged.discard(voter_id)
        return told.code == ErrorCode.NONE

    # What is due

    def ask_for_epochs(self, now_ms: int) -> None:
        """A replica that has lost its election state asks the others how far theirs have come. A question for a
        pre-vote binds nobody, and has the answer."""
        member = self._member
        if member.rebuilding is None or not member.has_lost_election:
            return
        for voter in member.history.last:
            to = member.destination(voter.key.id)
            is_unasked = voter.key.id in member.rebuilding.unasked(member.others)
            if is_unasked and to is not None and member.peers.is_ready(to, now_ms):
                member.send(to, requests.vote(member, voter.key, pre_vote=True), now_ms)

    def poll_unattached(self, role: Unattached, now_ms: int) -> bool:
        member = self._member
        if member.may_run and role.deadline_ms is not None and now_ms >= role.deadline_ms:
            member.become_prospective(now_ms)
            return True
        return False

    def poll_prospective(self, role: Prospective, now_ms: int) -> bool:
        member = self._member
        if role.tally.is_won:
            member.become_candidate(now_ms)
            return True
        if role.tally.is_lost or now_ms >= role.deadline_ms:
            self._stand_down(role, now_ms)
            return True
        self._ask_for_votes(role, now_ms, pre_vote=True)
        return False

    def _stand_down(self, role: Prospective, now_ms: int) -> None:
        member, leader_id = self._member, self._member.election.leader_id
        if leader_id is not None and role.leader_endpoints:
            member.become_follower(member.epoch, leader_id, role.leader_endpoints, now_ms)
        else:
            member.become_unattached(member.epoch, now_ms, leader_id)

    def poll_candidate(self, role: Candidate, now_ms: int) -> bool:
        member = self._member
        if role.tally.is_won and member.out.is_free_to_speak and not member.log.is_blocked:
            # A log that is ahead of the saved state looks as if that had been lost. Only who votes alone has to wait.
            self._leading.begin(now_ms)
            return True
        if role.tally.is_won and member.is_only_voter:
            # Nobody else can lead meanwhile.
            return False
        if now_ms >= role.deadline_ms:
            self._member.become_prospective(now_ms)
            return True
        if not role.tally.is_lost:
            self._ask_for_votes(role, now_ms, pre_vote=False)
        return False

    def _ask_for_votes(self, role: Prospective | Candidate, now_ms: int, *, pre_vote: bool) -> None:
        member = self._member
        for key in role.tally.unrecorded():
            to = role.tally.voters.destination(key.id, member.local.listener)
            if to is not None and member.peers.is_ready(to, now_ms):
                member.send(to, requests.vote(member, key, pre_vote=pre_vote), now_ms)

    def poll_resigned(self, role: Resigned, now_ms: int) -> bool:
        member = self._member
        if now_ms >= role.deadline_ms:
            member.become_unattached(member.epoch + 1, now_ms)
            return True
        for voter_id in sorted(role.unacknowledged):
            to = member.destination(voter_id)
            if to is not None and member.peers.is_ready(to, now_ms):
                member.send(to, requests.end_epoch(member, role.successors), now_ms)
        return False


def _misdirected(member: Member, request: VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest) -> ErrorCode:
    """What is wrong with a request for another cluster or another log."""
    if request.cluster_id not in (None, member.local.cluster_id):
        return ErrorCode.INCONSISTENT_CLUSTER_ID
    if len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
        return ErrorCode.INVALID_REQUEST
    ours = request.topics[0].topic_name == TOPIC and request.topics[0].partitions[0].partition_index == 0
    return ErrorCode.NONE if ours else ErrorCode.INVALID_REQUEST


def _endpoints(endpoints: list[LeaderEndpoint] | list[EndLeaderEndpoint]) -> Endpoints:
    return tuple(Endpoint(endpoint.name, endpoint.host, endpoint.port) for endpoint in endpoints)
