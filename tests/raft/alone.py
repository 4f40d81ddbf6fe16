"""One replica and a hand that plays everybody else: it completes what the replica asks of its disk, and counts."""

from __future__ import annotations

from typing import TypeVar

from penstock.core.raft.decisions import Answer, Committed, Install, LeaderIs, Ready, Send, Truncate, WriteChunk
from penstock.core.raft.election import ElectionState
from penstock.core.raft.history import VoterHistory
from penstock.core.raft.ids import TOPIC, TOPIC_ID, Destination, ReplicaKey, Snapshot, SnapshotId
from penstock.core.raft.raft import Raft
from penstock.core.raft.settings import Local, RaftSettings
from penstock.core.raft.voters import VoterSet, static_voters
from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch
from penstock.core.wire.api import begin_quorum_epoch, end_quorum_epoch
from penstock.core.wire.api import fetch as fetch_api
from penstock.core.wire.api import vote as vote_api
from penstock.core.wire.fields import ZERO_UUID
from penstock.core.wire.schema import Request, Response
from tests.raft.bootstrap import bootstrap_snapshot
from tests.raft.memory import MemoryLog
from tests.raft.node import LISTENER, key_of, voter_of

R = TypeVar("R", bound=Response)
Q = TypeVar("Q", bound=Request)
SETTINGS = RaftSettings()


class Alone:
    """Replica 1 of a few voters."""

    def __init__(
        self,
        voters: int = 3,
        *,
        own_id: int = 1,
        dynamic: bool = False,
        log: MemoryLog | None = None,
        saved: ElectionState | None = None,
        settings: RaftSettings = SETTINGS,
        snapshots: tuple[Snapshot, ...] = (),
    ) -> None:
        ids = range(1, voters + 1)
        self.now_ms = 1_000
        self.log = log or MemoryLog()
        self.history = VoterHistory(
            VoterSet() if dynamic else static_voters(LISTENER, {node: (f"host-{node}", 9000 + node) for node in ids})
        )
        if dynamic:
            self.history.load_snapshot(0, bootstrap_snapshot(VoterSet(map(voter_of, ids)), SnapshotId(0, 0)))
        for batch in self.log.batches:
            self.history.fold(batch.data)
        bootstrap = tuple(Destination(-1 - node, f"host-{node}", 9000 + node) for node in ids if node != own_id)
        local = Local("cluster", key_of(own_id), LISTENER, voter_of(own_id).endpoints, bootstrap)
        self.raft = Raft(
            local,
            settings,
            self.log,
            self.history,
            lambda bound: 0,
            self.now_ms,
            snapshots=snapshots,
            saved=saved,
        )
        self.sends: list[Send] = []
        self.answers: list[Answer] = []
        self.news: list[LeaderIs | Committed] = []
        self.storage: list[Truncate | WriteChunk | Install] = []
        self.dropped: list[SnapshotId] = []
        self.saves: list[ElectionState] = []
        self.settle()

    # The disk

    def step(self) -> Ready:
        """Take what is decided and perform none of it."""
        ready = self.raft.ready()
        self.sends += ready.sends
        self.answers += ready.answers
        self.news += ready.news
        self.storage += ready.storage
        if ready.save is not None:
            self.saves.append(ready.save)
        if ready.drop_before is not None:
            self.dropped.append(ready.drop_before)
            self.log.drop_before(ready.drop_before)
        return ready

    def settle(self) -> None:
        """Perform everything at once, until nothing is left to do."""
        while True:
            ready = self.step()
            if ready.save is not None:
                self.raft.on_saved(self.now_ms)
            if ready.flush:
                self.sync()
            for operation in ready.storage:
                if isinstance(operation, Truncate):
                    self.log.truncate(operation.offset)
                    self.raft.on_truncated(self.now_ms)
            if ready.save is None and not ready.flush and not ready.storage and not ready.news:
                return

    def sync(self) -> None:
        self.log.sync(list(self.log.batches))
        self.raft.on_synced(self.now_ms)

    # The others

    def pass_time(self, ms: int) -> None:
        """Let time pass, from one deadline to the next."""
        end_ms = self.now_ms + ms
        while self.raft.deadline_ms is not None and self.raft.deadline_ms <= end_ms:
            self.now_ms = self.raft.deadline_ms
            self.raft.on_timer(self.now_ms)
            self.settle()
        self.now_ms = end_ms

    def sent(self, kind: type[Q]) -> list[tuple[Send, Q]]:
        """Take the requests of a kind that have left."""
        found = [(send, send.request) for send in self.sends if isinstance(send.request, kind)]
        self.sends = [send for send in self.sends if not isinstance(send.request, kind)]
        return found

    def reply(self, send: Send, response: Response | None) -> None:
        self.raft.on_reply(send.to, send.correlation, response, self.now_ms)
        self.settle()

    def ask(self, request: Request, kind: type[R], version: int | None = None) -> R:
        """Ask, and take the answer that must be there at once."""
        self.raft.handle("asked", request, type(request).VERSIONS[-1] if version is None else version, self.now_ms)
        self.settle()
        return self.answered(kind)

    def answered(self, kind: type[R]) -> R:
        """Take the newest answer of a kind."""
        for answer in reversed(self.answers):
            if isinstance(answer.response, kind):
                self.answers.remove(answer)
                return answer.response
        raise AssertionError(f"no {kind.__name__} among {self.answers}")

    # Ways to common places

    def become_leader(self) -> None:
        """Win an election with the votes of all others."""
        self.win_votes()
        assert self.raft.election.leader_id == 1

    def win_votes(self) -> None:
        self.pass_time(3_000)
        for pre_vote in (True, False):
            for send, request in self.sent(vote_api.VoteRequest):
                assert request.topics[0].partitions[0].pre_vote is pre_vote
                self.reply(send, granted(self.raft.election.epoch))

    def follow(self, leader_id: int = 2, epoch: int = 5) -> Send:
        """Hear of a leader; gives the first fetch."""
        self.sent(fetch_api.FetchRequest)
        answer = self.ask(begin_epoch(leader_id, epoch), begin_quorum_epoch.BeginQuorumEpochResponse)
        assert answer.topics[0].partitions[0].error_code == 0
        return self.fetch_sent()[0]

    def fetch_sent(self) -> tuple[Send, fetch_api.FetchRequest]:
        (only,) = self.sent(fetch_api.FetchRequest)
        return only


def granted(epoch: int, *, yes: bool = True) -> vote_api.VoteResponse:
    partition = vote_api.ResponsePartitionData(
        partition_index=0, error_code=0, leader_id=-1, leader_epoch=epoch, vote_granted=yes
    )
    return vote_api.VoteResponse(topics=[vote_api.ResponseTopicData(topic_name=TOPIC, partitions=[partition])])


def vote_request(
    candidate: int,
    epoch: int,
    *,
    last_epoch: int = 0,
    last_offset: int = 0,
    pre_vote: bool = False,
    voter: ReplicaKey | None = None,
    cluster_id: str = "cluster",
) -> vote_api.VoteRequest:
    asked = voter or ReplicaKey(-1)
    partition = vote_api.RequestPartitionData(
        partition_index=0,
        replica_epoch=epoch,
        replica_id=candidate,
        replica_directory_id=key_of(candidate).directory_id if candidate >= 0 else ZERO_UUID,
        voter_directory_id=asked.directory_id,
        last_offset_epoch=last_epoch,
        last_offset=last_offset,
        pre_vote=pre_vote,
    )
    return vote_api.VoteRequest(
        cluster_id=cluster_id,
        voter_id=asked.id,
        topics=[vote_api.RequestTopicData(topic_name=TOPIC, partitions=[partition])],
    )


def begin_epoch(leader_id: int, epoch: int) -> begin_quorum_epoch.BeginQuorumEpochRequest:
    api = begin_quorum_epoch
    partition = api.RequestPartitionData(partition_index=0, leader_id=leader_id, leader_epoch=epoch)
    return api.BeginQuorumEpochRequest(
        cluster_id="cluster", topics=[api.RequestTopicData(topic_name=TOPIC, partitions=[partition])]
    )


def end_epoch(leader_id: int, epoch: int, successors: list[int]) -> end_quorum_epoch.EndQuorumEpochRequest:
    api = end_quorum_epoch
    keys = [key_of(successor) for successor in successors]
    candidates = [api.ReplicaInfo(candidate_id=key.id, candidate_directory_id=key.directory_id) for key in keys]
    partition = api.RequestPartitionData(
        partition_index=0, leader_id=leader_id, leader_epoch=epoch, preferred_candidates=candidates
    )
    return api.EndQuorumEpochRequest(
        cluster_id="cluster", topics=[api.RequestTopicData(topic_name=TOPIC, partitions=[partition])]
    )


def fetch_request(
    replica: int, epoch: int, offset: int, last_epoch: int, *, wait_ms: int = 0, high_watermark: int = 1 << 62
) -> fetch_api.FetchRequest:
    partition = fetch_api.FetchPartition(
        partition=0,
        current_leader_epoch=epoch,
        fetch_offset=offset,
        last_fetched_epoch=last_epoch,
        partition_max_bytes=1 << 20,
        replica_directory_id=key_of(replica).directory_id,
        high_watermark=high_watermark,
    )
    return fetch_api.FetchRequest(
        cluster_id="cluster",
        replica_state=fetch_api.ReplicaState(replica_id=replica),
        max_wait_ms=wait_ms,
        min_bytes=0,
        topics=[fetch_api.FetchTopic(topic_id=TOPIC_ID, partitions=[partition])],
    )


def fetched(
    leader_id: int,
    epoch: int,
    *,
    records: bytes = b"",
    high_watermark: int = -1,
    diverging: tuple[int, int] = (-1, -1),
    snapshot: tuple[int, int] = (-1, -1),
    code: int = 0,
) -> fetch_api.FetchResponse:
    """A leader's answer; `diverging` is (epoch, end offset), `snapshot` is (end offset, epoch)."""
    partition = fetch_api.PartitionData(
        partition_index=0,
        error_code=code,
        high_watermark=high_watermark,
        diverging_epoch=fetch_api.EpochEndOffset(epoch=diverging[0], end_offset=diverging[1]),
        current_leader=fetch_api.LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=epoch),
        snapshot_id=fetch_api.SnapshotId(end_offset=snapshot[0], epoch=snapshot[1]),
        records=records,
    )
    return fetch_api.FetchResponse(
        responses=[fetch_api.FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[partition])]
    )


def batch(offset: int, epoch: int, *values: bytes) -> bytes:
    """A batch as a leader's log has it."""
    records = [(None, value, (), 0) for value in values or (b"value",)]
    return bytes(build_batch(records, base_offset=offset, leader_epoch=epoch))


def log_of(*epochs: int, synced: bool = True) -> MemoryLog:
    """A log with one record of each of these epochs."""
    log = MemoryLog()
    for offset, epoch in enumerate(epochs):
        data = bytearray(batch(offset, epoch, b"%d" % offset))
        log.append(data, read_header(data), epoch, 0)
    if synced:
        log.sync(list(log.batches))
    return log
