"""Fetching, from both ends: what a leader serves and counts, and what a follower makes of it."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.raft.decisions import Committed, Contradiction, LeaderIs, LogRange, NotLeader, Truncate
from penstock.core.raft.election import ElectionState
from penstock.core.raft.leader import LeaderState
from penstock.core.raft.raft import EVENTS_WAITING_MAX, STALL_MS
from penstock.core.raft.roles import Follower, Prospective, Resigned
from penstock.core.raft.settings import CHECK_QUORUM_FACTOR, OBSERVER_SESSION_MS
from penstock.core.wire.api.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    RequestPartitionData,
    RequestTopicData,
)
from penstock.core.wire.api.fetch import FetchRequest, FetchResponse, PartitionData
from penstock.core.wire.api.vote import VoteRequest
from tests.raft.alone import SETTINGS, Alone, batch, fetch_request, fetched, granted, log_of, vote_request
from tests.raft.node import key_of


def leading(*epochs: int, voters: int = 3) -> Alone:
    """A leader whose log has records of these epochs below its own."""
    alone = Alone(voters, log=log_of(*epochs), saved=ElectionState(max(epochs, default=0)))
    alone.become_leader()
    return alone


def fetch(alone: Alone, *arguments: int, **more: int) -> PartitionData:
    answer = alone.ask(fetch_request(*arguments, **more), FetchResponse)
    return answer.responses[0].partitions[0]


def take_over(alone: Alone) -> None:
    """The leader that is followed falls silent, and everybody else votes for this replica."""
    alone.pass_time(SETTINGS.fetch_timeout_ms)
    for _ in range(2):
        for send, _request in alone.sent(VoteRequest):
            alone.reply(send, granted(alone.raft.election.epoch))
    assert isinstance(alone.raft.role, LeaderState)


class TestServing:
    def test_epochs_are_checked_first(self) -> None:
        alone = leading(1, 1)
        assert alone.raft.election.epoch == 2
        assert fetch(alone, 2, 1, 0, 0).error_code == ErrorCode.FENCED_LEADER_EPOCH
        assert fetch(alone, 2, 3, 0, 0).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
        follower = Alone()
        follower.follow(3, 2)
        refused = fetch(follower, 2, 2, 0, 0)
        assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert refused.current_leader is not None
        assert refused.current_leader.leader_id == 3

    @pytest.mark.parametrize("arguments", [(2, 2, -1, 0), (2, 2, 0, -1), (2, 2, 0, 3), (1, 2, 0, 0)])
    def test_nonsense_is_refused(self, arguments: tuple[int, int, int, int]) -> None:
        assert fetch(leading(1), *arguments).error_code == ErrorCode.INVALID_REQUEST

    def test_a_log_that_continues_is_served(self) -> None:
        alone = leading(1, 1)
        alone.raft.handle("asked", fetch_request(2, 2, 1, 1), 17, alone.now_ms)
        alone.settle()
        answer = alone.answers.pop()
        assert answer.body == LogRange(1, SETTINGS.fetch_bytes_max)

    @pytest.mark.parametrize(
        ("offset", "last_epoch", "expected"),
        [(4, 1, (1, 2)), (2, 2, (1, 2)), (9, 3, (3, 4)), (4, 3, None), (2, 1, None), (1, 1, None)],
    )
    def test_divergence_is_seen_by_the_last_epoch(
        self, offset: int, last_epoch: int, expected: tuple[int, int] | None
    ) -> None:
        alone = leading(1, 1, 3, 3)
        answer = fetch(alone, 2, 4, offset, last_epoch)
        assert answer.diverging_epoch is not None
        found = answer.diverging_epoch.epoch, answer.diverging_epoch.end_offset
        assert found == (expected or (-1, -1))

    def test_a_fetch_that_finds_nothing_waits_for_an_append(self) -> None:
        alone = leading()
        alone.raft.handle("asked", fetch_request(2, 1, 1, 1, wait_ms=500), 17, alone.now_ms)
        alone.settle()
        assert alone.answers == []
        assert alone.raft.append([b"a"], 1, alone.now_ms) == 1
        assert [answer.body for answer in alone.step().answers] == [LogRange(1, SETTINGS.fetch_bytes_max)]

    def test_a_fetch_waits_no_longer_than_it_said(self) -> None:
        alone = leading()
        alone.raft.handle("asked", fetch_request(2, 1, 1, 1, wait_ms=500), 17, alone.now_ms)
        alone.pass_time(499)
        assert alone.answers == []
        alone.pass_time(1)
        assert alone.answered(FetchResponse).responses[0].partitions[0].error_code == 0

    def test_news_of_the_high_watermark_wakes_a_fetch(self) -> None:
        alone = leading(voters=5)
        for replica in (2, 3):
            request = fetch_request(replica, 1, 1, 1, wait_ms=500, high_watermark=-1)
            alone.raft.handle(replica, request, 18, alone.now_ms)
        alone.settle()
        assert [answer.ticket for answer in alone.answers] == [3, 2], "the second of them committed, and has it first"
        assert alone.raft.high_watermark == 1

    def test_who_leads_no_longer_sends_the_waiting_away(self) -> None:
        alone = leading()
        alone.raft.handle("asked", fetch_request(2, 1, 1, 1, wait_ms=500), 17, alone.now_ms)
        alone.raft.handle("vote", vote_request(3, 9), 2, alone.now_ms)
        alone.settle()
        refused = next(answer.response for answer in alone.answers if answer.ticket == "asked")
        assert isinstance(refused, FetchResponse)
        partition = refused.responses[0].partitions[0]
        assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert partition.current_leader is not None
        assert partition.current_leader.leader_id == -1


class TestCounting:
    def test_a_majority_commits(self) -> None:
        alone = leading(voters=5)
        alone.raft.append([b"a", b"b"], 1, alone.now_ms)
        alone.settle()
        fetch(alone, 2, 1, 3, 1)
        assert alone.raft.high_watermark == -1
        fetch(alone, 3, 1, 2, 1)
        assert alone.raft.high_watermark == 2
        assert alone.news[-2:] == [Committed(2), LeaderIs(1, 1)]

    def test_what_earlier_leaders_wrote_is_not_counted_alone(self) -> None:
        alone = leading(1, 1)
        fetch(alone, 2, 2, 2, 1)
        assert alone.raft.high_watermark == -1
        assert alone.raft.leads_epoch is None, "it may not decide before it knows what is committed"
        fetch(alone, 2, 2, 3, 2)
        assert alone.raft.high_watermark == 3
        assert alone.raft.leads_epoch == 2

    def test_the_leader_counts_only_what_it_has_synced(self) -> None:
        alone = leading()
        alone.raft.append([b"a"], 1, alone.now_ms)
        ready = alone.step()
        assert ready.flush
        fetch_before = fetch_request(2, 1, 2, 1)
        alone.raft.handle("asked", fetch_before, 17, alone.now_ms)
        assert alone.raft.high_watermark == 1
        alone.sync()
        assert alone.raft.high_watermark == 2

    def test_one_flush_at_a_time(self) -> None:
        alone = leading()
        alone.raft.append([b"a"], 1, alone.now_ms)
        assert alone.step().flush
        alone.raft.append([b"b"], 1, alone.now_ms)
        assert not alone.step().flush
        alone.log.sync(alone.log.batches[:2])
        alone.raft.on_synced(alone.now_ms)
        assert alone.step().flush

    def test_observers_are_served_and_not_counted(self) -> None:
        alone = leading()
        for observer in (7, 8):
            assert fetch(alone, observer, 1, 1, 1).error_code == 0
        assert alone.raft.high_watermark == -1

    def test_the_high_watermark_does_not_move_back(self) -> None:
        alone = leading()
        fetch(alone, 2, 1, 1, 1)
        fetch(alone, 2, 1, 0, 0)
        assert alone.raft.high_watermark == 1
        role = alone.raft.role
        assert isinstance(role, LeaderState)
        assert role.high_watermark == 1

    def test_only_the_leader_of_that_epoch_appends(self) -> None:
        alone = leading()
        assert alone.raft.append([b"a"], 0, alone.now_ms) == NotLeader(1, 1)
        follower = Alone()
        follower.follow(3, 2)
        assert follower.raft.append([b"a"], 2, follower.now_ms) == NotLeader(3, 2)


class TestKeepingAQuorum:
    LIMIT_MS = int(SETTINGS.fetch_timeout_ms * CHECK_QUORUM_FACTOR)

    def test_a_leader_without_followers_resigns(self) -> None:
        alone = leading(voters=5)
        fetch(alone, 2, 1, 1, 1)
        alone.pass_time(self.LIMIT_MS - 1)
        assert isinstance(alone.raft.role, LeaderState)
        alone.pass_time(1)
        assert isinstance(alone.raft.role, Resigned)

    def test_a_majority_that_fetches_keeps_it(self) -> None:
        alone = leading(voters=5)
        for _ in range(4):
            alone.pass_time(self.LIMIT_MS - 100)
            fetch(alone, 2, 1, 1, 1)
            fetch(alone, 3, 1, 1, 1)
        assert isinstance(alone.raft.role, LeaderState)

    def test_a_fetch_is_as_old_as_the_answer_to_the_one_before(self) -> None:
        """It may have lain in a socket for as long as this process did not run."""
        alone = leading()
        began_ms = alone.now_ms
        alone.pass_time(300)
        fetch(alone, 2, 1, 1, 1)
        assert alone.raft.majority_ms(alone.now_ms) == began_ms, "it was sent after this epoch began, that is all"
        answered_ms = alone.now_ms
        alone.pass_time(400)
        fetch(alone, 3, 1, 1, 1)
        assert alone.raft.majority_ms(alone.now_ms) == began_ms
        fetch(alone, 2, 1, 1, 1)
        assert alone.raft.majority_ms(alone.now_ms) == answered_ms

    def test_a_fetch_over_another_line_may_be_older_than_the_answer_to_the_one_before(self) -> None:
        """Both were sent, and the first was given up, while this process did not run."""
        alone = leading()
        began_ms = alone.now_ms
        alone.pass_time(300)
        for line in ("first", "second"):
            alone.raft.handle("asked", fetch_request(2, 1, 1, 1), 17, alone.now_ms, line)
            assert alone.raft.majority_ms(alone.now_ms) == began_ms
        answered_ms = alone.now_ms
        alone.pass_time(100)
        alone.raft.handle("asked", fetch_request(2, 1, 1, 1), 17, alone.now_ms, "second")
        assert alone.raft.majority_ms(alone.now_ms) == answered_ms

    def test_a_leader_knows_who_decided_before_it_if_it_followed_that_one_to_the_end(self) -> None:
        alone = Alone()
        alone.reply(alone.follow(2, 5), fetched(2, 5, records=batch(0, 5, b"a"), high_watermark=1))
        assert alone.raft.predecessor is None
        take_over(alone)
        assert alone.raft.predecessor == 2
        other = Alone()
        other.reply(other.follow(2, 5), fetched(2, 5, records=batch(0, 4, b"a"), high_watermark=1))
        take_over(other)
        assert other.raft.predecessor is None, "2 has written nothing that is here: somebody else may have decided"

    def test_a_leader_that_was_away_reads_first_who_follows(self) -> None:
        alone = leading()
        alone.now_ms += 10 * self.LIMIT_MS
        alone.raft.on_stall(alone.now_ms)
        alone.raft.on_timer(alone.now_ms)
        alone.settle()
        assert isinstance(alone.raft.role, LeaderState)
        alone.pass_time(STALL_MS)
        assert isinstance(alone.raft.role, Resigned)

    def test_one_follower_that_fetches_often_is_one_follower(self) -> None:
        alone = leading(voters=5)
        for _ in range(10):
            alone.pass_time(self.LIMIT_MS // 10)
            if isinstance(alone.raft.role, LeaderState):
                fetch(alone, 2, 1, 1, 1)
        assert isinstance(alone.raft.role, Resigned)

    def test_a_resigned_leader_moves_on_to_the_next_epoch(self) -> None:
        alone = leading()
        alone.pass_time(self.LIMIT_MS)
        assert alone.raft.election == ElectionState(1, 1, key_of(1))
        alone.pass_time(SETTINGS.election_timeout_ms)
        assert alone.raft.election == ElectionState(2)


class TestFollowing:
    def test_the_next_fetch_waits_for_the_sync_of_what_came(self) -> None:
        alone = Alone()
        send = alone.follow(2, 5)
        response = fetched(2, 5, records=batch(0, 5, b"a", b"b"), high_watermark=0)
        alone.raft.on_reply(send.to, send.correlation, response, alone.now_ms)
        ready = alone.step()
        assert ready.flush
        assert ready.sends == []
        alone.sync()
        alone.step()
        _, request = alone.fetch_sent()
        partition = request.topics[0].partitions[0]
        assert (partition.fetch_offset, partition.last_fetched_epoch) == (2, 5)

    def test_while_its_own_disk_is_busy_a_follower_blames_nobody(self) -> None:
        alone = Alone()
        send = alone.follow(2, 5)
        response = fetched(2, 5, records=batch(0, 5, b"a"), high_watermark=0)
        alone.raft.on_reply(send.to, send.correlation, response, alone.now_ms)
        alone.step()
        alone.now_ms += 3 * SETTINGS.fetch_timeout_ms
        alone.raft.on_timer(alone.now_ms)
        assert isinstance(alone.raft.role, Follower)
        alone.sync()
        alone.settle()
        assert isinstance(alone.raft.role, Follower), "only now has it asked"
        alone.pass_time(SETTINGS.fetch_timeout_ms - 1)
        assert isinstance(alone.raft.role, Follower)
        alone.pass_time(1)
        assert isinstance(alone.raft.role, Prospective)

    def test_a_follower_that_was_away_reads_first_what_its_leader_said(self) -> None:
        alone = Alone()
        send = alone.follow(2, 5)
        alone.now_ms += 3 * SETTINGS.fetch_timeout_ms
        alone.raft.on_stall(alone.now_ms)
        alone.raft.on_timer(alone.now_ms)
        alone.settle()
        assert isinstance(alone.raft.role, Follower)
        alone.now_ms += STALL_MS
        alone.raft.on_timer(alone.now_ms)
        assert isinstance(alone.raft.role, Prospective)
        assert send.to.id == 2

    def test_a_restarted_log_is_synced_before_anything_is_fetched(self) -> None:
        alone = Alone(log=log_of(1, 1, synced=False), saved=ElectionState(1, 2))
        assert alone.log.synced_offset == 2
        assert alone.fetch_sent()[1].topics[0].partitions[0].fetch_offset == 2

    def test_the_high_watermark_comes_from_the_leader_as_far_as_the_log_reaches(self) -> None:
        alone = Alone()
        alone.reply(alone.follow(2, 5), fetched(2, 5, records=batch(0, 5, b"a", b"b"), high_watermark=9))
        assert alone.raft.high_watermark == 2
        assert Committed(2) in alone.news

    def test_a_diverging_log_is_cut_and_everything_waits_for_that(self) -> None:
        alone = Alone(log=log_of(1, 2, 2), saved=ElectionState(2))
        send = alone.follow(2, 5)
        alone.raft.on_reply(send.to, send.correlation, fetched(2, 5, diverging=(1, 1)), alone.now_ms)
        ready = alone.step()
        assert ready.storage == [Truncate(1)]
        assert alone.raft.deadline_ms is None
        alone.raft.handle("vote", vote_request(3, 7, last_epoch=1, last_offset=1), 2, alone.now_ms)
        assert alone.step().answers == []
        alone.log.truncate(1)
        alone.raft.on_truncated(alone.now_ms)
        alone.settle()
        assert [answer.ticket for answer in alone.answers] == ["vote"]
        assert alone.raft.election == ElectionState(7, None, key_of(3)), "it is as current as the log that is left"

    def test_of_what_waits_for_a_cut_only_the_newest_is_kept(self) -> None:
        alone = Alone(log=log_of(1, 2, 2), saved=ElectionState(2))
        send = alone.follow(2, 5)
        alone.raft.on_reply(send.to, send.correlation, fetched(2, 5, diverging=(1, 1)), alone.now_ms)
        alone.step()
        for number in range(EVENTS_WAITING_MAX + 5):
            alone.raft.handle(number, vote_request(3, 4), 2, alone.now_ms)
        alone.log.truncate(1)
        alone.raft.on_truncated(alone.now_ms)
        alone.settle()
        assert [answer.ticket for answer in alone.answers] == list(range(5, EVENTS_WAITING_MAX + 5))

    @pytest.mark.parametrize(
        ("diverging", "expected"), [((2, 2), 2), ((2, 9), 3), ((1, 5), 1), ((1, 0), 0), ((0, 0), 0)]
    )
    def test_where_to_cut(self, diverging: tuple[int, int], expected: int) -> None:
        alone = Alone(log=log_of(1, 2, 2), saved=ElectionState(2))
        alone.reply(alone.follow(2, 5), fetched(2, 5, diverging=diverging))
        assert alone.storage == [Truncate(expected)]

    def test_nothing_committed_is_ever_cut(self) -> None:
        alone = Alone()
        alone.reply(alone.follow(2, 5), fetched(2, 5, records=batch(0, 5, b"a", b"b"), high_watermark=2))
        send, _ = alone.fetch_sent()
        with pytest.raises(Contradiction):
            alone.raft.on_reply(send.to, send.correlation, fetched(2, 5, diverging=(5, 1)), alone.now_ms)

    @pytest.mark.parametrize(
        "records",
        [
            batch(1, 5),
            batch(0, 6),
            batch(0, 5)[:-1] + b"?",
            b"\x00" * 70,
            batch(0, 5) + batch(0, 5),
        ],
    )
    def test_batches_that_do_not_continue_the_log_are_not_taken(self, records: bytes) -> None:
        alone = Alone()
        alone.reply(alone.follow(2, 5), fetched(2, 5, records=records))
        assert alone.log.end_offset in (0, 1)
        role = alone.raft.role
        assert isinstance(role, Follower)
        assert not role.has_fetched

    def test_a_cut_off_batch_is_fetched_again(self) -> None:
        alone = Alone()
        alone.reply(alone.follow(2, 5), fetched(2, 5, records=batch(0, 5) + batch(1, 5)[:30]))
        assert alone.log.end_offset == 1
        assert alone.fetch_sent()[1].topics[0].partitions[0].fetch_offset == 1

    def test_a_silent_leader_is_given_up(self) -> None:
        alone = Alone()
        alone.reply(alone.follow(2, 5), fetched(2, 5))
        alone.pass_time(SETTINGS.fetch_timeout_ms)
        assert isinstance(alone.raft.role, Prospective)
        assert alone.raft.election.epoch == 5

    def test_who_cannot_reach_the_leader_asks_around(self) -> None:
        alone = Alone()
        alone.reply(alone.follow(2, 5), None)
        send, _ = alone.fetch_sent()
        assert send.to.id < 0, "one of the servers that are known by address"
        alone.reply(send, fetched(3, 6, code=ErrorCode.FENCED_LEADER_EPOCH))
        assert alone.raft.election == ElectionState(6, 3)

    def test_a_reply_that_was_given_up_is_not_taken(self) -> None:
        alone = Alone()
        send = alone.follow(2, 5)
        alone.pass_time(SETTINGS.request_timeout_ms)
        alone.reply(send, fetched(2, 5, records=batch(0, 5)))
        assert alone.log.end_offset == 0


class TestDescribing:
    REQUEST = DescribeQuorumRequest(
        topics=[RequestTopicData(topic_name="__cluster_metadata", partitions=[RequestPartitionData(partition_index=0)])]
    )

    def test_the_leader_tells_how_far_everyone_is(self) -> None:
        alone = leading()
        fetch(alone, 2, 1, 1, 1)
        alone.pass_time(100)
        fetch(alone, 7, 1, 0, 0)
        answer = alone.ask(self.REQUEST, DescribeQuorumResponse, 2)
        (partition,) = answer.topics[0].partitions
        assert (partition.leader_id, partition.leader_epoch, partition.high_watermark) == (1, 1, 1)
        voters = {state.replica_id: state for state in partition.current_voters}
        assert [voters[voter].log_end_offset for voter in (1, 2, 3)] == [1, 1, -1]
        assert voters[2].last_caught_up_timestamp == alone.now_ms - 100
        assert voters[1].last_fetch_timestamp == alone.now_ms
        assert [(each.replica_id, each.replica_directory_id) for each in partition.observers] == [
            (7, key_of(7).directory_id)
        ]
        assert [node.node_id for node in answer.nodes] == [1, 2, 3]
        answer.encode(2)

    def test_earlier_versions_can_be_encoded(self) -> None:
        alone = leading()
        fetch(alone, 7, 1, 0, 0)
        for version in (0, 1):
            alone.ask(self.REQUEST, DescribeQuorumResponse, version).encode(version)

    def test_an_observer_that_went_is_forgotten(self) -> None:
        alone = leading()
        fetch(alone, 7, 1, 0, 0)
        role = alone.raft.role
        assert isinstance(role, LeaderState)
        role.forget_silent_observers(alone.now_ms + OBSERVER_SESSION_MS)
        assert role.observers == {}

    def test_observers_that_come_and_go_do_not_pile_up(self) -> None:
        alone = leading(voters=1)
        fetch(alone, 7, 1, 0, 0)
        alone.pass_time(OBSERVER_SESSION_MS + SETTINGS.fetch_timeout_ms)
        role = alone.raft.role
        assert isinstance(role, LeaderState)
        assert role.observers == {}

    def test_refusals(self) -> None:
        follower = Alone()
        answer = follower.ask(self.REQUEST, DescribeQuorumResponse)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        topic = RequestTopicData(topic_name="orders", partitions=[RequestPartitionData(partition_index=0)])
        answer = leading().ask(DescribeQuorumRequest(topics=[topic]), DescribeQuorumResponse)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_old_fetch_versions_name_the_replica_and_the_log_otherwise() -> None:
    alone = leading()
    request = fetch_request(2, 1, 1, 1)
    request.replica_state, request.replica_id = None, 2
    request.topics[0].topic, request.topics[0].topic_id = "__cluster_metadata", bytes(16)
    alone.ask(FetchRequest.decode(request.encode(12), 12), FetchResponse)
    assert alone.raft.high_watermark == 1
