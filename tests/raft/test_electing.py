"""Elections, one rule at a time."""

from __future__ import annotations

import pytest

from penstock.core.base.endpoints import Endpoint
from penstock.core.base.errors import ErrorCode
from penstock.core.raft.electing import EPOCH_JUMP_MAX
from penstock.core.raft.election import ElectionState, Tally
from penstock.core.raft.ids import ReplicaKey
from penstock.core.raft.leader import LeaderState
from penstock.core.raft.outbox import MESSAGES_HELD_MAX
from penstock.core.raft.roles import MAY_FOLLOW, Candidate, Follower, Prospective, Resigned, Unattached
from penstock.core.raft.voters import VoterSet
from penstock.core.records.control import ControlType, decode_key
from penstock.core.records.record import iterate
from penstock.core.wire.api.begin_quorum_epoch import BeginQuorumEpochRequest, BeginQuorumEpochResponse
from penstock.core.wire.api.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse
from penstock.core.wire.api.fetch import FetchRequest, FetchResponse
from penstock.core.wire.api.vote import VoteRequest, VoteResponse
from tests.raft.alone import (
    SETTINGS,
    Alone,
    begin_epoch,
    end_epoch,
    fetch_request,
    fetched,
    granted,
    log_of,
    vote_request,
)
from tests.raft.node import key_of, voter_of


def vote(alone: Alone, request: VoteRequest) -> tuple[ErrorCode, bool]:
    answer = alone.ask(request, VoteResponse)
    if answer.error_code:
        return ErrorCode(answer.error_code), False
    partition = answer.topics[0].partitions[0]
    return ErrorCode(partition.error_code), partition.vote_granted


class TestRunning:
    def test_a_voter_without_a_leader_asks_before_it_disturbs_anybody(self) -> None:
        alone = Alone()
        alone.pass_time(SETTINGS.election_timeout_ms)
        asked = alone.sent(VoteRequest)
        assert [send.to.id for send, _ in asked] == [2, 3]
        assert all(request.topics[0].partitions[0].pre_vote for _, request in asked)
        assert isinstance(alone.raft.role, Prospective)
        assert alone.raft.election == ElectionState(0)
        assert alone.saves == []

    def test_voters_that_know_no_leader_either_are_left_in_peace_for_a_moment(self) -> None:
        alone = Alone()
        for _ in range(2):
            ((send, _),) = alone.sent(FetchRequest)
            alone.reply(send, fetched(-1, 0, code=ErrorCode.NOT_LEADER_OR_FOLLOWER))
        assert alone.sent(FetchRequest) == []
        alone.pass_time(SETTINGS.retry_backoff_ms)
        assert len(alone.sent(FetchRequest)) == 1

    def test_a_candidate_saves_its_own_vote_before_it_asks_for_others(self) -> None:
        alone = Alone()
        alone.pass_time(SETTINGS.election_timeout_ms)
        send, _ = alone.sent(VoteRequest)[0]
        alone.raft.on_reply(send.to, send.correlation, granted(0), alone.now_ms)
        ready = alone.step()
        assert ready.save == ElectionState(1, None, key_of(1))
        assert ready.sends == []
        alone.raft.on_saved(alone.now_ms)
        ready = alone.step()
        assert [send.to.id for send in ready.sends] == [2, 3]
        assert isinstance(alone.raft.role, Candidate)

    def test_a_majority_makes_a_leader_that_opens_its_epoch_with_a_record(self) -> None:
        alone = Alone()
        alone.become_leader()
        assert isinstance(alone.raft.role, LeaderState)
        (opening,) = alone.log.batches
        assert decode_key(next(iterate(opening.data)).key) is ControlType.LEADER_CHANGE
        assert opening.epoch == 1
        assert [send.to.id for send, _ in alone.sent(BeginQuorumEpochRequest)] == [2, 3]

    def test_one_refusal_of_two_does_not_lose_and_two_do(self) -> None:
        alone = Alone()
        alone.pass_time(SETTINGS.election_timeout_ms)
        first, second = alone.sent(VoteRequest)
        alone.reply(first[0], granted(0, yes=False))
        assert isinstance(alone.raft.role, Prospective)
        alone.reply(second[0], granted(0, yes=False))
        assert isinstance(alone.raft.role, Unattached)

    def test_a_voter_that_knows_no_pre_vote_is_asked_for_a_real_one(self) -> None:
        alone = Alone()
        alone.pass_time(SETTINGS.election_timeout_ms)
        send, _ = alone.sent(VoteRequest)[0]
        alone.reply(send, VoteResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))
        assert isinstance(alone.raft.role, Candidate)

    def test_a_reply_to_an_earlier_question_is_not_counted(self) -> None:
        alone = Alone()
        alone.pass_time(SETTINGS.election_timeout_ms)
        first, second = alone.sent(VoteRequest)
        alone.reply(first[0], granted(0))
        assert isinstance(alone.raft.role, Candidate)
        alone.reply(second[0], granted(1))
        assert isinstance(alone.raft.role, Candidate), "that was the answer to a pre-vote"

    def test_a_voter_that_is_epochs_ahead_is_caught_up_with(self) -> None:
        alone = Alone()
        alone.pass_time(SETTINGS.election_timeout_ms)
        alone.reply(alone.sent(VoteRequest)[0][0], granted(9, yes=False))
        assert alone.raft.election == ElectionState(9)
        assert isinstance(alone.raft.role, Unattached)

    def test_a_candidate_that_does_not_win_in_time_asks_anew(self) -> None:
        alone = Alone()
        alone.pass_time(SETTINGS.election_timeout_ms)
        alone.reply(alone.sent(VoteRequest)[0][0], granted(0))
        alone.pass_time(SETTINGS.election_timeout_ms)
        assert isinstance(alone.raft.role, Prospective)
        assert alone.raft.election.epoch == 1

    def test_who_is_alone_leads_at_once(self) -> None:
        alone = Alone(1)
        assert isinstance(alone.raft.role, LeaderState)
        assert alone.raft.leads_epoch == 1
        assert alone.raft.high_watermark == 1

    def test_an_observer_never_runs(self) -> None:
        alone = Alone(own_id=7)
        alone.pass_time(60_000)
        assert isinstance(alone.raft.role, Unattached)
        assert alone.sent(VoteRequest) == []
        assert alone.sent(FetchRequest) != []


class TestVoting:
    def test_a_vote_is_told_only_when_it_is_saved(self) -> None:
        alone = Alone()
        alone.raft.handle("asked", vote_request(2, 3), 2, alone.now_ms)
        ready = alone.step()
        assert ready.save == ElectionState(3, None, key_of(2))
        assert ready.answers == []
        alone.raft.on_saved(alone.now_ms)
        alone.step()
        assert alone.answered(VoteResponse).topics[0].partitions[0].vote_granted

    def test_what_changes_while_it_is_saved_is_saved_too_before_anything_is_told(self) -> None:
        alone = Alone()
        alone.raft.handle("first", vote_request(2, 3), 2, alone.now_ms)
        assert alone.step().save == ElectionState(3, None, key_of(2))
        alone.raft.handle("second", vote_request(3, 4), 2, alone.now_ms)
        assert alone.step().save is None, "one save at a time"
        alone.raft.on_saved(alone.now_ms)
        ready = alone.step()
        assert ready.save == ElectionState(4, None, key_of(3))
        assert ready.answers == []
        alone.raft.on_saved(alone.now_ms)
        assert [answer.ticket for answer in alone.step().answers] == ["first", "second"]

    def test_of_what_is_held_back_only_the_newest_is_kept(self) -> None:
        alone = Alone()
        for number in range(MESSAGES_HELD_MAX + 5):
            alone.raft.handle(number, vote_request(2, 3 + number), 2, alone.now_ms)
            alone.step()
        while alone.raft.election != alone.saves[-1]:
            alone.raft.on_saved(alone.now_ms)
            alone.step()
        alone.raft.on_saved(alone.now_ms)
        assert [answer.ticket for answer in alone.step().answers] == list(range(5, MESSAGES_HELD_MAX + 5))

    def test_one_vote_an_epoch(self) -> None:
        alone = Alone()
        assert vote(alone, vote_request(2, 3)) == (ErrorCode.NONE, True)
        assert vote(alone, vote_request(3, 3)) == (ErrorCode.NONE, False)
        assert vote(alone, vote_request(2, 3)) == (ErrorCode.NONE, True)
        assert vote(alone, vote_request(3, 4)) == (ErrorCode.NONE, True)

    def test_a_pre_vote_binds_nobody(self) -> None:
        alone = Alone()
        assert vote(alone, vote_request(2, 0, pre_vote=True)) == (ErrorCode.NONE, True)
        assert vote(alone, vote_request(3, 0, pre_vote=True)) == (ErrorCode.NONE, True)
        assert alone.saves == []

    @pytest.mark.parametrize(
        ("last_epoch", "last_offset", "expected"),
        [(2, 3, True), (2, 4, True), (3, 0, True), (2, 2, False), (1, 9, False)],
    )
    def test_only_a_log_as_current_as_ours_wins(self, last_epoch: int, last_offset: int, expected: bool) -> None:
        alone = Alone(log=log_of(1, 1, 2))
        request = vote_request(2, 5, last_epoch=last_epoch, last_offset=last_offset)
        assert vote(alone, request) == (ErrorCode.NONE, expected)
        assert alone.raft.election.epoch == 5, "the epoch counts even where the log does not"

    def test_who_follows_a_living_leader_grants_nothing(self) -> None:
        alone = Alone()
        send = alone.follow(2, 5)
        pre_vote = vote_request(3, 5, pre_vote=True, last_epoch=5)
        assert vote(alone, pre_vote) == (ErrorCode.NONE, True), "it has not heard from the leader itself"
        alone.reply(send, fetched(2, 5))
        assert vote(alone, pre_vote) == (ErrorCode.NONE, False)
        assert vote(alone, vote_request(3, 5)) == (ErrorCode.NONE, False)

    @pytest.mark.parametrize(
        ("request_", "code"),
        [
            (vote_request(2, 4), ErrorCode.FENCED_LEADER_EPOCH),
            (vote_request(-1, 6), ErrorCode.INVALID_REQUEST),
            (vote_request(2, 6, last_offset=-1), ErrorCode.INVALID_REQUEST),
            (vote_request(2, 6, last_epoch=6), ErrorCode.INVALID_REQUEST),
            (vote_request(2, 6, voter=ReplicaKey(9)), ErrorCode.INVALID_VOTER_KEY),
            (vote_request(2, 6, voter=ReplicaKey(1, b"x" * 16)), ErrorCode.INVALID_VOTER_KEY),
            (vote_request(2, 6, cluster_id="another"), ErrorCode.INCONSISTENT_CLUSTER_ID),
            (VoteRequest(cluster_id="cluster"), ErrorCode.INVALID_REQUEST),
        ],
    )
    def test_refusals(self, request_: VoteRequest, code: ErrorCode) -> None:
        alone = Alone(saved=ElectionState(5))
        assert vote(alone, request_) == (code, False)


class TestRestart:
    def test_a_leader_comes_back_resigned(self) -> None:
        alone = Alone(saved=ElectionState(4, 1))
        assert isinstance(alone.raft.role, Resigned)
        assert {send.to.id for send, _ in alone.sent(EndQuorumEpochRequest)} == {2, 3}
        alone.pass_time(SETTINGS.election_timeout_ms)
        assert alone.raft.election.epoch == 5

    def test_who_voted_for_itself_does_not_run_in_that_epoch_again(self) -> None:
        alone = Alone(saved=ElectionState(4, None, key_of(1)))
        assert isinstance(alone.raft.role, Unattached)
        assert vote(alone, vote_request(2, 4)) == (ErrorCode.NONE, False)
        alone.become_leader()
        assert alone.raft.election.epoch == 5

    def test_a_vote_is_remembered(self) -> None:
        alone = Alone(saved=ElectionState(4, None, key_of(2)))
        assert vote(alone, vote_request(3, 4)) == (ErrorCode.NONE, False)
        assert vote(alone, vote_request(2, 4)) == (ErrorCode.NONE, True)

    def test_a_follower_goes_on_following(self) -> None:
        alone = Alone(saved=ElectionState(4, 2))
        assert isinstance(alone.raft.role, Follower)
        assert alone.fetch_sent()[0].to.id == 2

    def test_the_log_may_know_a_later_epoch_than_the_file(self) -> None:
        alone = Alone(saved=ElectionState(2, 2), log=log_of(1, 3))
        assert alone.raft.election == ElectionState(3)


class TestBeginAndEnd:
    def test_a_new_leader_is_followed(self) -> None:
        alone = Alone()
        send = alone.follow(3, 2)
        assert send.to.id == 3
        assert alone.raft.election == ElectionState(2, 3)

    def test_no_second_leader_is_believed_in_an_epoch(self) -> None:
        alone = Alone()
        alone.follow(3, 2)
        answer = alone.ask(begin_epoch(2, 2), BeginQuorumEpochResponse)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST
        assert alone.raft.election.leader_id == 3

    def test_an_old_leader_hears_who_leads_now(self) -> None:
        alone = Alone()
        alone.follow(3, 2)
        answer = alone.ask(begin_epoch(2, 1), BeginQuorumEpochResponse)
        partition = answer.topics[0].partitions[0]
        assert (partition.error_code, partition.leader_id, partition.leader_epoch) == (
            ErrorCode.FENCED_LEADER_EPOCH,
            3,
            2,
        )
        assert [(node.node_id, node.host, node.port) for node in answer.node_endpoints] == [(3, "host-3", 9003)]

    @pytest.mark.parametrize(
        ("successors", "delay_ms"),
        [([1, 2], 0), ([], 0), ([2, 1], 500), ([2, 3, 1], 500), ([2, 1, 3], 250), ([2, 3], 1_000)],
    )
    def test_successors_run_one_after_the_other(self, successors: list[int], delay_ms: int) -> None:
        alone = Alone()
        alone.reply(alone.follow(3, 2), fetched(3, 2))
        alone.ask(end_epoch(3, 2, successors), EndQuorumEpochResponse)
        role = alone.raft.role
        if delay_ms == 0:
            assert isinstance(role, Prospective)
        else:
            assert isinstance(role, Follower)
            assert role.deadline_ms == alone.now_ms + delay_ms

    def test_a_leader_that_resigns_names_who_is_furthest_first(self) -> None:
        alone = Alone()
        alone.become_leader()
        leader = alone.raft.role
        assert isinstance(leader, LeaderState)
        leader.progress_of(key_of(3)).end_offset = 7
        alone.raft.resign(alone.now_ms)
        alone.settle()
        (_, request), _ = alone.sent(EndQuorumEpochRequest)
        assert request.topics[0].partitions[0].preferred_successors == [3, 2]

    def test_voters_that_do_not_fetch_are_told_again(self) -> None:
        alone = Alone()
        alone.become_leader()
        alone.sent(BeginQuorumEpochRequest)
        alone.pass_time(SETTINGS.request_timeout_ms + SETTINGS.fetch_timeout_ms // 2)
        assert {send.to.id for send, _ in alone.sent(BeginQuorumEpochRequest)} == {2, 3}


def test_every_role_has_a_way_out() -> None:
    assert set(MAY_FOLLOW) == {Unattached, Prospective, Candidate, Follower, LeaderState, Resigned}
    assert {role for after in MAY_FOLLOW.values() for role in after} == set(MAY_FOLLOW)
    assert LeaderState not in MAY_FOLLOW[Prospective], "nobody leads without votes that are saved"


def test_a_tally_counts_each_voter_once() -> None:
    tally = Tally(VoterSet(map(voter_of, range(1, 6))), own_id=1)
    tally.record(2, granted=True)
    tally.record(2, granted=True)
    tally.record(9, granted=True)
    assert not tally.is_won
    tally.record(3, granted=False)
    tally.record(4, granted=False)
    assert not tally.is_lost
    tally.record(3, granted=True)
    assert tally.is_won
    assert [key.id for key in tally.unrecorded()] == [5]


def test_the_election_state_survives_its_file() -> None:
    nodes = (
        ElectionState(3, 2),
        ElectionState(4, None, key_of(3)),
        ElectionState(5, 0),
        ElectionState(6, None, key_of(0)),
    )
    for state in (ElectionState(), *nodes):
        assert ElectionState.from_record(type(state.to_record()).decode(state.to_record().encode(1), 1)) == state


def test_endpoints_are_found_by_name_in_any_case() -> None:
    voters = VoterSet([voter_of(4)])
    assert voters.destination(4, "controller") == (4, "host-4", 9004)
    assert voters.destination(4, "OTHER") is None
    assert voters.endpoints_of(4) == (Endpoint("CONTROLLER", "host-4", 9004),)


EPOCH_MAX = 2**31 - 1


@pytest.mark.parametrize("epoch", [EPOCH_MAX, 1 + EPOCH_JUMP_MAX + 1])
def test_an_epoch_from_far_ahead_is_neither_believed_nor_saved(epoch: int) -> None:
    """In the epoch after the last one nobody can be elected."""
    alone = Alone()
    alone.ask(begin_epoch(2, 1), BeginQuorumEpochResponse)
    saves = len(alone.saves)
    assert vote(alone, vote_request(2, epoch, last_epoch=0))[0] is ErrorCode.INVALID_REQUEST
    assert vote(alone, vote_request(2, epoch, pre_vote=True))[0] is ErrorCode.INVALID_REQUEST
    for request, response in (
        (begin_epoch(2, epoch), BeginQuorumEpochResponse),
        (end_epoch(2, epoch, [3]), EndQuorumEpochResponse),
    ):
        answer = alone.ask(request, response)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST
    alone.ask(fetch_request(2, epoch, 0, 0), FetchResponse)
    assert alone.raft.election.epoch == 1
    assert len(alone.saves) == saves


def test_an_epoch_from_some_way_ahead_is_believed() -> None:
    alone = Alone()
    assert vote(alone, vote_request(2, EPOCH_JUMP_MAX, last_epoch=0)) == (ErrorCode.NONE, True)


class Undisturbed(Alone):
    """Nothing is performed that it asks for."""

    def settle(self) -> None:
        return


def test_the_only_voter_writes_nothing_in_an_epoch_that_is_not_saved() -> None:
    """A crash between the two would leave a log that is ahead, and looks as if the saved state had been lost."""
    alone = Undisturbed(1, saved=ElectionState(3))
    alone.raft.on_timer(alone.now_ms)
    saved = alone.step().save
    assert saved is not None
    assert (saved.epoch, alone.log.end_offset) == (4, 0)
    alone.raft.on_saved(alone.now_ms)
    assert alone.log.end_offset > 0
