"""Snapshots: who needs one, how it is served, and how it arrives."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.raft.checkpoint import snapshot_foot, snapshot_head
from penstock.core.raft.decisions import Answer, Committed, Install, SnapshotRange, WriteChunk
from penstock.core.raft.election import ElectionState
from penstock.core.raft.history import VoterHistory
from penstock.core.raft.ids import LogEnd, Snapshot, SnapshotId
from penstock.core.raft.roles import Follower
from penstock.core.raft.snapshots import Snapshots, Verdict, judge
from penstock.core.raft.voters import VoterSet
from penstock.core.records.batch import read_header
from penstock.core.records.control import ControlType, decode_key
from penstock.core.records.record import iterate
from penstock.core.wire.api import fetch_snapshot as api
from penstock.core.wire.api.fetch import FetchResponse
from penstock.core.wire.api.fetch import SnapshotId as SnapshotToFetch
from tests.raft.alone import Alone, fetch_request, fetched, log_of, vote_request
from tests.raft.bootstrap import bootstrap_snapshot
from tests.raft.node import voter_of

TOPIC = "__cluster_metadata"
BIG = Snapshot(SnapshotId(4, 2), 1_000)


def asking(
    epoch: int, *, end_offset: int = 4, of_epoch: int = 2, position: int = 0, bytes_max: int = 300, topic: str = TOPIC
) -> api.FetchSnapshotRequest:
    partition = api.RequestPartitionSnapshot(
        partition=0,
        current_leader_epoch=epoch,
        snapshot_id=api.RequestSnapshotId(end_offset=end_offset, epoch=of_epoch),
        position=position,
    )
    return api.FetchSnapshotRequest(
        cluster_id="cluster",
        replica_id=2,
        max_bytes=bytes_max,
        topics=[api.RequestTopicSnapshot(name=topic, partitions=[partition])],
    )


def chunk(
    data: bytes, *, position: int = 0, size: int = 10, of: SnapshotId = BIG.id, code: int = 0
) -> api.FetchSnapshotResponse:
    partition = api.ResponsePartitionSnapshot(
        index=0,
        error_code=code,
        snapshot_id=api.ResponseSnapshotId(end_offset=of.end_offset, epoch=of.epoch),
        current_leader=api.LeaderIdAndEpoch(leader_id=2, leader_epoch=5),
        size=size,
        position=position,
        unaligned_records=data,
    )
    return api.FetchSnapshotResponse(topics=[api.ResponseTopicSnapshot(name=TOPIC, partitions=[partition])])


class TestServing:
    def leader(self) -> Alone:
        alone = Alone(log=log_of(1, 1, 2, 2, 2), saved=ElectionState(2), snapshots=(BIG,))
        alone.become_leader()
        return alone

    def serve(self, alone: Alone, request: api.FetchSnapshotRequest) -> Answer:
        alone.raft.handle("asked", request, 1, alone.now_ms)
        alone.settle()
        return alone.answers.pop()

    def test_a_chunk_is_named_and_not_read(self) -> None:
        answer = self.serve(self.leader(), asking(3, position=600))
        assert answer.body == SnapshotRange(BIG.id, 600, 300)
        assert isinstance(answer.response, api.FetchSnapshotResponse)
        partition = answer.response.topics[0].partitions[0]
        assert (partition.size, partition.position, partition.error_code) == (1_000, 600, 0)

    @pytest.mark.parametrize(
        ("request_", "code"),
        [
            (asking(2), ErrorCode.FENCED_LEADER_EPOCH),
            (asking(4), ErrorCode.UNKNOWN_LEADER_EPOCH),
            (asking(3, end_offset=3), ErrorCode.SNAPSHOT_NOT_FOUND),
            (asking(3, of_epoch=1), ErrorCode.SNAPSHOT_NOT_FOUND),
            (asking(3, position=-1), ErrorCode.POSITION_OUT_OF_RANGE),
            (asking(3, position=1_000), ErrorCode.POSITION_OUT_OF_RANGE),
            (asking(3, topic="orders"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ],
    )
    def test_refusals(self, request_: api.FetchSnapshotRequest, code: ErrorCode) -> None:
        answer = self.serve(self.leader(), request_)
        assert answer.body is None
        assert isinstance(answer.response, api.FetchSnapshotResponse)
        assert answer.response.topics[0].partitions[0].error_code == code

    def test_whoever_is_not_led_by_us_is_told_so(self) -> None:
        alone = Alone()
        alone.follow(2, 5)
        answer = self.serve(alone, asking(5))
        assert isinstance(answer.response, api.FetchSnapshotResponse)
        partition = answer.response.topics[0].partitions[0]
        assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert partition.current_leader is not None
        assert partition.current_leader.leader_id == 2

    def test_another_cluster_s_replica_is_refused(self) -> None:
        request = asking(3)
        request.cluster_id = "another"
        answer = self.serve(self.leader(), request)
        assert isinstance(answer.response, api.FetchSnapshotResponse)
        assert answer.response.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID

    def test_an_empty_log_gets_the_snapshot_instead_of_everything(self) -> None:
        alone = self.leader()
        answer = alone.ask(fetch_request(2, 3, 0, 0), FetchResponse)
        assert answer.responses[0].partitions[0].snapshot_id == SnapshotToFetch(end_offset=4, epoch=2)


class TestJudging:
    """The log begins at 4, at the end of a snapshot of epoch 2, and has records of epochs 2 and 4."""

    @pytest.mark.parametrize(
        ("end", "expected"),
        [
            (LogEnd(0, 0), Verdict.BEHIND),
            (LogEnd(1, 3), Verdict.BEHIND),
            (LogEnd(1, 4), Verdict.BEHIND),
            (LogEnd(2, 4), Verdict.VALID),
            (LogEnd(2, 5), Verdict.VALID),
            (LogEnd(2, 6), Verdict.DIVERGING),
            (LogEnd(3, 5), Verdict.DIVERGING),
            (LogEnd(4, 6), Verdict.VALID),
            (LogEnd(4, 7), Verdict.DIVERGING),
            (LogEnd(5, 6), Verdict.DIVERGING),
            (LogEnd(1, 9), Verdict.BEHIND),
        ],
    )
    def test_verdicts(self, end: LogEnd, expected: Verdict) -> None:
        log = log_of(1, 1, 2, 2, 2, 4)
        log.drop_before(BIG.id)
        assert judge(log, Snapshots([BIG]), 4, end).verdict is expected

    def test_a_log_from_the_beginning_is_served_from_the_beginning(self) -> None:
        assert judge(log_of(1), Snapshots(), 1, LogEnd(0, 0)).is_valid
        bootstrap = Snapshots([Snapshot(SnapshotId(0, 0), 100)])
        assert judge(log_of(1), bootstrap, 1, LogEnd(0, 0)).is_valid


class TestArriving:
    def following(self) -> Alone:
        alone = Alone()
        alone.reply(alone.follow(2, 5), fetched(2, 5, snapshot=(4, 2)))
        return alone

    def test_chunks_are_asked_for_one_after_the_other_and_installed(self) -> None:
        alone = self.following()
        (send, request) = alone.sent(api.FetchSnapshotRequest)[0]
        assert request.topics[0].partitions[0].position == 0
        alone.reply(send, chunk(b"first "))
        (send, request) = alone.sent(api.FetchSnapshotRequest)[0]
        assert request.topics[0].partitions[0].position == 6
        alone.raft.on_reply(send.to, send.correlation, chunk(b"last", position=6), alone.now_ms)
        alone.step()
        assert alone.storage == [
            WriteChunk(BIG.id, 0, b"first "),
            WriteChunk(BIG.id, 6, b"last"),
            Install(BIG.id, 10),
        ]
        assert alone.step().sends == [], "everything waits for the installation"
        alone.log.replace(4)
        alone.raft.on_installed(b"", alone.now_ms)
        alone.settle()
        assert Committed(4) in alone.news
        assert alone.dropped == [BIG.id]
        _, fetch = alone.fetch_sent()
        partition = fetch.topics[0].partitions[0]
        assert (partition.fetch_offset, partition.last_fetched_epoch) == (4, 2)

    def test_the_voters_come_with_the_snapshot(self) -> None:
        alone = self.following()
        send = alone.sent(api.FetchSnapshotRequest)[0][0]
        alone.raft.on_reply(send.to, send.correlation, chunk(b"0123456789"), alone.now_ms)
        alone.step()
        alone.log.replace(4)
        voters = VoterSet(map(voter_of, (1, 2, 3, 4)))
        alone.raft.on_installed(bootstrap_snapshot(voters, BIG.id), alone.now_ms)
        assert alone.raft.voters.last == voters
        assert alone.raft.voters.is_dynamic

    @pytest.mark.parametrize(
        "bad",
        [
            chunk(b"first", position=1),
            chunk(b"first", of=SnapshotId(5, 2)),
            chunk(b"more than there is"),
            chunk(b""),
            chunk(b"", code=ErrorCode.POSITION_OUT_OF_RANGE),
            chunk(b"", code=ErrorCode.SNAPSHOT_NOT_FOUND),
        ],
    )
    def test_what_does_not_fit_is_dropped_and_the_leader_asked_again(self, bad: api.FetchSnapshotResponse) -> None:
        alone = self.following()
        alone.reply(alone.sent(api.FetchSnapshotRequest)[0][0], bad)
        assert alone.storage == []
        role = alone.raft.role
        assert isinstance(role, Follower)
        assert role.snapshot is None
        alone.pass_time(50)
        assert alone.fetch_sent()[1].topics[0].partitions[0].fetch_offset == 0

    def test_a_snapshot_that_would_take_something_back_is_refused(self) -> None:
        alone = Alone(log=log_of(1, 2, 2, 2, 2), saved=ElectionState(2), snapshots=(BIG,))
        alone.reply(alone.follow(2, 5), fetched(2, 5, snapshot=(3, 2)))
        role = alone.raft.role
        assert isinstance(role, Follower)
        assert role.snapshot is None


class TestMaking:
    def leader(self) -> Alone:
        alone = Alone(1)
        for _ in range(9):
            alone.raft.append([b"a"], 1, alone.now_ms)
            alone.settle()
        return alone

    def test_the_oldest_goes_when_there_are_enough(self) -> None:
        alone = self.leader()
        for end_offset in (3, 5, 8):
            snapshot_id = alone.raft.snapshot_id(end_offset)
            assert snapshot_id == SnapshotId(end_offset, 1)
            alone.raft.on_snapshot(Snapshot(snapshot_id, 100), alone.now_ms)
            alone.settle()
        assert alone.dropped == [SnapshotId(5, 1)]
        assert alone.log.start_offset == 5

    def test_one_that_was_overtaken_does_not_count(self) -> None:
        alone = self.leader()
        for end_offset in (5, 3, 5):
            alone.raft.on_snapshot(Snapshot(SnapshotId(end_offset, 1), 100), alone.now_ms)
            alone.settle()
        assert alone.dropped == []
        alone.raft.on_snapshot(Snapshot(SnapshotId(7, 1), 100), alone.now_ms)
        assert alone.dropped == [], "that is the second"

    def test_only_what_is_committed_can_be_kept(self) -> None:
        alone = self.leader()
        with pytest.raises(AssertionError):
            alone.raft.snapshot_id(11)

    def test_the_head_has_the_voters_of_its_time(self) -> None:
        first, later = VoterSet(map(voter_of, (1, 2, 3))), VoterSet(map(voter_of, (1, 2)))
        history = VoterHistory()
        history.load_snapshot(0, bootstrap_snapshot(first, SnapshotId(0, 0)))
        change = bytearray(bootstrap_snapshot(later, SnapshotId(0, 0)))
        log = log_of(1, 1, 1)
        log.append(change, read_header(change), 1, 0)
        history.fold(log.batches[-1].data)
        for end_offset, expected in ((3, first), (5, later)):
            head = snapshot_head(history, SnapshotId(end_offset, 1), 77, 88)
            kinds = [decode_key(record.key) for record in iterate(head)]
            assert kinds == [ControlType.SNAPSHOT_HEADER, ControlType.KRAFT_VERSION, ControlType.KRAFT_VOTERS]
            again = VoterHistory()
            again.load_snapshot(end_offset, head)
            assert again.last == expected
        foot = snapshot_foot(SnapshotId(5, 1), 3, 88)
        assert [decode_key(record.key) for record in iterate(foot)] == [ControlType.SNAPSHOT_FOOTER]


def test_events_that_come_while_a_snapshot_is_installed_wait() -> None:
    alone = TestArriving().following()
    send = alone.sent(api.FetchSnapshotRequest)[0][0]
    alone.raft.on_reply(send.to, send.correlation, chunk(b"0123456789"), alone.now_ms)
    alone.step()
    alone.raft.handle("vote", vote_request(3, 9, last_epoch=2, last_offset=4), 2, alone.now_ms)
    alone.raft.on_timer(alone.now_ms + 60_000)
    assert alone.step().answers == []
    assert alone.raft.deadline_ms is None
    alone.log.replace(4)
    alone.raft.on_installed(b"", alone.now_ms)
    alone.settle()
    assert [answer.ticket for answer in alone.answers] == ["vote"]
    assert alone.raft.election.epoch == 9
