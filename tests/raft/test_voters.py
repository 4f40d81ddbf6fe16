"""The voters: sets of them, their history, and changing them."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.raft.election import ElectionState
from penstock.core.raft.history import VoterHistory
from penstock.core.raft.ids import ReplicaKey, SnapshotId
from penstock.core.raft.leader import LeaderState
from penstock.core.raft.roles import Follower, Prospective, Resigned
from penstock.core.raft.settings import RaftSettings
from penstock.core.raft.voters import Voter, VoterSet, static_voters
from penstock.core.records.batch import read_header, stamp
from penstock.core.records.control import ControlType, build_control_batch
from penstock.core.wire.api import add_raft_voter, update_raft_voter
from penstock.core.wire.api.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from penstock.core.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse, SupportedFeatureKey
from penstock.core.wire.api.fetch import FetchResponse
from penstock.core.wire.api.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from penstock.core.wire.api.update_raft_voter import UpdateRaftVoterRequest, UpdateRaftVoterResponse
from tests.raft.alone import SETTINGS, Alone, fetch_request, fetched
from tests.raft.memory import MemoryLog
from tests.raft.node import LISTENER, key_of, voter_of


def some(*ids: int) -> VoterSet:
    return VoterSet(map(voter_of, ids))


def voters_batch(voters: VoterSet, offset: int, epoch: int = 1) -> bytearray:
    data = build_control_batch(ControlType.KRAFT_VOTERS, voters.to_record().encode(0), 0)
    stamp(data, offset, epoch)
    return data


class TestSets:
    def test_a_set_survives_its_record(self) -> None:
        record = some(1, 2).to_record()
        assert VoterSet.from_record(type(record).decode(record.encode(0), 0)) == some(1, 2)

    @pytest.mark.parametrize(("count", "majority"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
    def test_a_majority_is_more_than_half(self, count: int, majority: int) -> None:
        assert some(*range(count)).majority == majority

    def test_changes_that_do_not_apply_give_nothing(self) -> None:
        assert some(1, 2).with_added(voter_of(2)) is None
        assert some(1, 2).with_removed(key_of(3)) is None
        assert some(1, 2).with_removed(ReplicaKey(2, b"x" * 16)) is None
        assert some(1).with_removed(key_of(1)) is None, "nobody could ever add another"
        assert some(1, 2).with_updated(voter_of(3)) is None
        assert some(1, 2).with_updated(Voter(ReplicaKey(2, b"x" * 16), ())) is None

    def test_a_voter_of_unknown_directory_is_known_by_its_id(self) -> None:
        voters = static_voters(LISTENER, {1: ("host-1", 9001)})
        assert voters.is_voter(key_of(1))
        assert not some(1).is_voter(ReplicaKey(1, b"x" * 16))


class TestHistory:
    def test_a_cut_takes_changes_back(self) -> None:
        history = VoterHistory(some(1))
        history.fold(voters_batch(some(1, 2), 5))
        history.fold(voters_batch(some(1, 2, 3), 9))
        assert history.last == some(1, 2, 3)
        assert history.previous == some(1, 2)
        history.truncate(9)
        assert (history.last, history.last_offset) == (some(1, 2), 5)
        history.truncate(5)
        assert (history.last, history.last_offset) == (some(1), -1)

    def test_the_voters_of_any_time_can_be_told(self) -> None:
        history = VoterHistory(some(1))
        history.fold(voters_batch(some(1, 2), 5))
        assert history.at(5) == (0, some(1))
        assert history.at(6) == (0, some(1, 2))

    def test_what_a_snapshot_stands_for_is_forgotten_but_for_the_last(self) -> None:
        history = VoterHistory(some(1))
        for offset in (2, 5, 9):
            history.fold(voters_batch(some(*range(offset)), offset))
        history.forget_before(7)
        assert history.at(7) == (0, some(*range(5)))
        assert history.last == some(*range(9))
        history.forget_before(9)
        assert history.at(9) == (0, some(*range(5))), "the record at 9 is not below 9"


def leader_of(voters: int = 3, settings: RaftSettings = SETTINGS) -> Alone:
    """A leader of dynamic voters that has committed something."""
    alone = Alone(voters, dynamic=True, settings=settings)
    alone.become_leader()
    catch_up(alone, 2)
    assert alone.raft.leads_epoch == 1
    return alone


def catch_up(alone: Alone, *replicas: int) -> None:
    for replica in replicas:
        alone.ask(fetch_request(replica, alone.raft.election.epoch, alone.log.end_offset, 1), FetchResponse)


def adding(node_id: int, *, cluster_id: str = "cluster", when_committed: bool = True) -> AddRaftVoterRequest:
    key, (endpoint,) = key_of(node_id), voter_of(node_id).endpoints
    return AddRaftVoterRequest(
        cluster_id=cluster_id,
        timeout_ms=1_000,
        voter_id=key.id,
        voter_directory_id=key.directory_id,
        listeners=[add_raft_voter.Listener(name=endpoint.name, host=endpoint.host, port=endpoint.port)],
        ack_when_committed=when_committed,
    )


def removing(node_id: int) -> RemoveRaftVoterRequest:
    key = key_of(node_id)
    return RemoveRaftVoterRequest(cluster_id="cluster", voter_id=key.id, voter_directory_id=key.directory_id)


def updating(node_id: int, epoch: int = 1, *, highest: int = 1, port: int = 7777) -> UpdateRaftVoterRequest:
    key = key_of(node_id)
    return UpdateRaftVoterRequest(
        cluster_id="cluster",
        current_leader_epoch=epoch,
        voter_id=key.id,
        voter_directory_id=key.directory_id,
        listeners=[update_raft_voter.Listener(name=LISTENER, host="moved", port=port)],
        k_raft_version_feature=update_raft_voter.KRaftVersionFeature(
            min_supported_version=0, max_supported_version=highest
        ),
    )


def versions(highest: int = 1) -> ApiVersionsResponse:
    feature = SupportedFeatureKey(name="kraft.version", min_version=0, max_version=highest)
    return ApiVersionsResponse(supported_features=[feature])


class TestAdding:
    def begin(self, alone: Alone, request: AddRaftVoterRequest) -> None:
        alone.raft.handle("add", request, 1, alone.now_ms)
        alone.settle()

    def reply_versions(self, alone: Alone, response: ApiVersionsResponse | None) -> None:
        ((send, _),) = alone.sent(ApiVersionsRequest)
        alone.reply(send, response)

    def test_the_first_leader_moves_the_first_voters_into_the_log(self) -> None:
        alone = leader_of()
        assert alone.raft.voters.last == some(1, 2, 3)
        assert alone.raft.voters.last_offset == 2

    def test_a_new_voter_counts_at_once_and_is_told_when_that_is_committed(self) -> None:
        alone = leader_of()
        catch_up(alone, 4)
        self.begin(alone, adding(4))
        self.reply_versions(alone, versions())
        assert alone.raft.voters.last == some(1, 2, 3, 4)
        assert alone.answers == []
        catch_up(alone, 2)
        assert alone.answers == []
        assert alone.raft.high_watermark == 3, "two of four are no majority"
        catch_up(alone, 4)
        assert alone.answered(AddRaftVoterResponse).error_code == 0

    def test_whoever_cannot_wait_is_answered_before(self) -> None:
        alone = leader_of()
        catch_up(alone, 4)
        self.begin(alone, adding(4, when_committed=False))
        self.reply_versions(alone, versions())
        assert alone.answered(AddRaftVoterResponse).error_code == 0
        assert alone.raft.high_watermark == 3

    def test_no_change_is_begun_that_the_log_cannot_take(self) -> None:
        alone = leader_of()
        catch_up(alone, 4)
        self.begin(alone, adding(4))
        alone.log.is_blocked = True
        self.reply_versions(alone, versions())
        assert alone.answered(AddRaftVoterResponse).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert alone.ask(adding(4), AddRaftVoterResponse).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert alone.ask(removing(2), RemoveRaftVoterResponse).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert alone.ask(updating(2), UpdateRaftVoterResponse).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert alone.raft.voters.last == some(1, 2, 3)

    def test_one_change_at_a_time(self) -> None:
        alone = leader_of()
        catch_up(alone, 4)
        self.begin(alone, adding(4, when_committed=False))
        assert alone.ask(adding(5), AddRaftVoterResponse).error_code == ErrorCode.REQUEST_TIMED_OUT
        self.reply_versions(alone, versions())
        assert alone.ask(removing(2), RemoveRaftVoterResponse).error_code == ErrorCode.REQUEST_TIMED_OUT
        answer = alone.ask(updating(2), UpdateRaftVoterResponse)
        assert answer.error_code == ErrorCode.REQUEST_TIMED_OUT

    def test_a_change_that_an_earlier_leader_left_must_be_committed_first(self) -> None:
        alone = Alone(dynamic=True)
        alone.become_leader()
        assert alone.ask(removing(2), RemoveRaftVoterResponse).error_code == ErrorCode.REQUEST_TIMED_OUT

    @pytest.mark.parametrize(
        ("response", "code"),
        [
            (None, ErrorCode.REQUEST_TIMED_OUT),
            (ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION), ErrorCode.REQUEST_TIMED_OUT),
            (versions(0), ErrorCode.INVALID_REQUEST),
            (ApiVersionsResponse(), ErrorCode.INVALID_REQUEST),
        ],
    )
    def test_a_voter_that_does_not_fit_is_not_added(
        self, response: ApiVersionsResponse | None, code: ErrorCode
    ) -> None:
        alone = leader_of()
        catch_up(alone, 4)
        self.begin(alone, adding(4))
        self.reply_versions(alone, response)
        assert alone.answered(AddRaftVoterResponse).error_code == code
        assert alone.raft.voters.last == some(1, 2, 3)

    def test_a_voter_that_lags_is_not_added(self) -> None:
        alone = leader_of()
        self.begin(alone, adding(4))
        self.reply_versions(alone, versions())
        assert alone.answered(AddRaftVoterResponse).error_code == ErrorCode.REQUEST_TIMED_OUT

    def test_a_change_that_takes_too_long_is_given_up(self) -> None:
        alone = leader_of(settings=RaftSettings(request_timeout_ms=500))
        self.begin(alone, adding(4))
        alone.pass_time(500)
        assert alone.answered(AddRaftVoterResponse).error_code == ErrorCode.REQUEST_TIMED_OUT

    def test_refusals(self) -> None:
        alone = leader_of()
        nobody = adding(4)
        nobody.voter_directory_id = bytes(16)
        elsewhere = adding(4)
        elsewhere.listeners = []
        for request, code in (
            (adding(4, cluster_id="another"), ErrorCode.INCONSISTENT_CLUSTER_ID),
            (adding(3), ErrorCode.DUPLICATE_VOTER),
            (nobody, ErrorCode.INVALID_REQUEST),
            (elsewhere, ErrorCode.INVALID_REQUEST),
        ):
            assert alone.ask(request, AddRaftVoterResponse).error_code == code

    def test_who_does_not_lead_says_so(self) -> None:
        answer = Alone(dynamic=True).ask(adding(4), AddRaftVoterResponse)
        assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert answer.error_message is not None

    def test_static_voters_stay(self) -> None:
        alone = Alone()
        alone.become_leader()
        catch_up(alone, 2)
        assert alone.ask(adding(4), AddRaftVoterResponse).error_code == ErrorCode.UNSUPPORTED_VERSION


class TestRemoving:
    def test_a_removed_voter_counts_no_more(self) -> None:
        alone = leader_of()
        alone.raft.handle("remove", removing(3), 0, alone.now_ms)
        alone.settle()
        assert alone.raft.voters.last == some(1, 2)
        catch_up(alone, 3)
        assert alone.raft.high_watermark == 3
        catch_up(alone, 2)
        assert alone.raft.high_watermark == 4
        assert alone.answered(RemoveRaftVoterResponse).error_code == 0

    def test_a_leader_that_removed_itself_leads_until_that_is_committed(self) -> None:
        alone = leader_of()
        alone.raft.handle("remove", removing(1), 0, alone.now_ms)
        alone.settle()
        catch_up(alone, 2)
        assert isinstance(alone.raft.role, LeaderState)
        assert alone.raft.high_watermark == 3, "its own log counts no more"
        catch_up(alone, 3)
        assert isinstance(alone.raft.role, Resigned)

    def test_who_is_not_there_cannot_be_removed(self) -> None:
        assert leader_of().ask(removing(9), RemoveRaftVoterResponse).error_code == ErrorCode.VOTER_NOT_FOUND

    def test_who_was_removed_still_runs_while_that_is_not_committed(self) -> None:
        """The other voters may need the longer log that it has."""
        log = MemoryLog()
        for voters in (some(1, 2), some(2)):
            data = voters_batch(voters, log.end_offset)
            log.append(data, read_header(data), 1, 0)
        log.sync(list(log.batches))
        alone = Alone(log=log, saved=ElectionState(1))
        alone.pass_time(SETTINGS.election_timeout_ms)
        assert isinstance(alone.raft.role, Prospective)
        after = Alone(log=log, saved=ElectionState(1))
        after.reply(after.follow(2, 2), fetched(2, 2, high_watermark=2))
        after.pass_time(SETTINGS.fetch_timeout_ms * 2)
        assert isinstance(after.raft.role, Follower), "now it is committed, and it is an observer"


class TestUpdating:
    def test_a_voter_that_moved_is_found_where_it_is(self) -> None:
        alone = leader_of()
        assert alone.ask(updating(2), UpdateRaftVoterResponse).error_code == 0
        assert alone.raft.voters.last.destination(2, LISTENER) == (2, "moved", 7777)

    def test_refusals(self) -> None:
        alone = leader_of()
        nowhere = updating(2)
        nowhere.listeners = []
        for request, code in (
            (updating(2, epoch=0), ErrorCode.FENCED_LEADER_EPOCH),
            (updating(2, epoch=2), ErrorCode.UNKNOWN_LEADER_EPOCH),
            (updating(2, highest=0), ErrorCode.INVALID_REQUEST),
            (updating(2, highest=-1), ErrorCode.INVALID_REQUEST),
            (nowhere, ErrorCode.INVALID_REQUEST),
            (updating(9), ErrorCode.VOTER_NOT_FOUND),
        ):
            answer = alone.ask(request, UpdateRaftVoterResponse)
            assert answer.error_code == code
            assert answer.current_leader is not None
            assert answer.current_leader.leader_id == 1
            assert (answer.current_leader.host, answer.current_leader.port) == ("host-1", 9001)

    def test_a_follower_tells_the_leader_where_it_is(self) -> None:
        alone = Alone()
        alone.reply(alone.follow(2, 5), fetched(2, 5))
        send, _ = alone.fetch_sent()
        alone.pass_time(SETTINGS.fetch_timeout_ms - 1)
        alone.reply(send, fetched(2, 5))
        alone.reply(alone.fetch_sent()[0], fetched(2, 5))
        alone.pass_time(1)
        alone.reply(alone.fetch_sent()[0], fetched(2, 5))
        ((_, request),) = alone.sent(UpdateRaftVoterRequest)
        assert request.voter_directory_id == key_of(1).directory_id

    @pytest.mark.parametrize("moved", [False, True])
    def test_a_voter_in_the_log_tells_only_what_is_not_there(self, moved: bool) -> None:
        alone = Alone(dynamic=True)
        before = Voter(key_of(1), voter_of(2 if moved else 1).endpoints, voter_of(1).kraft_versions)
        alone.history.fold(voters_batch(VoterSet([before, *some(2, 3)]), 0))
        alone.reply(alone.follow(2, 5), fetched(2, 5))
        alone.pass_time(SETTINGS.fetch_timeout_ms - 1)
        alone.reply(alone.fetch_sent()[0], fetched(2, 5))
        alone.pass_time(1)
        alone.reply(alone.fetch_sent()[0], fetched(2, 5))
        assert len(alone.sent(UpdateRaftVoterRequest)) == moved


class TestUpgrading:
    def test_static_voters_move_into_the_log_when_all_have_told_their_directory(self) -> None:
        alone = Alone()
        alone.become_leader()
        catch_up(alone, 2)
        alone.ask(updating(2), UpdateRaftVoterResponse)
        assert alone.raft.upgrade_voters(alone.now_ms) is ErrorCode.INVALID_UPDATE_VERSION
        alone.ask(updating(3), UpdateRaftVoterResponse)
        assert alone.raft.upgrade_voters(alone.now_ms) is ErrorCode.NONE
        assert alone.raft.voters.is_dynamic
        assert [voter.key for voter in alone.raft.voters.last] == [key_of(1), key_of(2), key_of(3)]
        assert alone.raft.upgrade_voters(alone.now_ms) is ErrorCode.NONE

    def test_only_a_leader_does_that(self) -> None:
        alone = Alone()
        assert alone.raft.upgrade_voters(alone.now_ms) is ErrorCode.NOT_LEADER_OR_FOLLOWER


class TestJoining:
    def test_an_observer_joins_by_itself_if_it_should(self) -> None:
        alone = Alone(own_id=4, dynamic=True, settings=RaftSettings(auto_join=True))
        alone.reply(alone.follow(2, 5), fetched(2, 5))
        alone.pass_time(SETTINGS.fetch_timeout_ms)
        ((send, request),) = alone.sent(AddRaftVoterRequest)
        assert (request.voter_id, request.ack_when_committed) == (4, False)
        alone.reply(send, AddRaftVoterResponse(error_code=ErrorCode.REQUEST_TIMED_OUT))
        assert isinstance(alone.raft.role, Follower)
        assert alone.sent(AddRaftVoterRequest) == [], "it asks once per fetch timeout"

    def test_a_node_with_a_new_disk_removes_the_voter_it_was(self) -> None:
        alone = Alone(own_id=4, dynamic=True, settings=RaftSettings(auto_join=True))
        replaced = Voter(ReplicaKey(4, b"x" * 16), voter_of(4).endpoints, (0, 1))
        alone.history.fold(voters_batch(VoterSet([*some(1, 2, 3), replaced]), 0))
        alone.reply(alone.follow(2, 5), fetched(2, 5))
        alone.pass_time(SETTINGS.fetch_timeout_ms)
        ((_, request),) = alone.sent(RemoveRaftVoterRequest)
        assert (request.voter_id, request.voter_directory_id) == (4, b"x" * 16)


def test_the_bootstrap_snapshot_is_where_dynamic_voters_come_from() -> None:
    alone = Alone(dynamic=True)
    assert alone.raft.voters.kraft_version == 1
    assert alone.raft.voters.last_offset == -1
    assert SnapshotId(0, 0) < SnapshotId(1, 0)
