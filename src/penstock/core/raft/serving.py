"""What a leader answers to replicas that fetch the log or a snapshot. Fetches that find nothing new wait for it."""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.raft import answers
from penstock.core.raft.decisions import Answer, LogRange, SnapshotRange, Ticket
from penstock.core.raft.ids import TOPIC, TOPIC_ID, LogEnd, ReplicaKey, SnapshotId
from penstock.core.raft.leader import LeaderState, ParkedFetch
from penstock.core.raft.leading import Leading
from penstock.core.raft.member import Member
from penstock.core.raft.snapshots import Judgement, judge
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchResponse
from penstock.core.wire.api.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RequestPartitionSnapshot,
)


def leader_refusal(member: Member, epoch: int) -> ErrorCode:
    """Why a request to the leader of an epoch cannot be served here."""
    if epoch < member.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if epoch > member.epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    return ErrorCode.NONE if isinstance(member.role, LeaderState) else ErrorCode.NOT_LEADER_OR_FOLLOWER


class Serving:
    """Fetch and FetchSnapshot."""

    def __init__(self, member: Member, leading: Leading) -> None:
        self._member = member
        self._leading = leading

    def fetch(self, ticket: Ticket, request: FetchRequest, now_ms: int, line: object = None) -> None:
        member = self._member
        if request.cluster_id not in (None, member.local.cluster_id):
            member.answer(ticket, FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID))
            return
        if not _names_our_log(request):
            member.answer(ticket, FetchResponse(error_code=ErrorCode.INVALID_REQUEST))
            return
        partition = request.topics[0].partitions[0]
        key = ReplicaKey(_replica_id(request), partition.replica_directory_id)
        code = self._fetch_refusal(request, partition, key)
        leader = member.role
        if code is not ErrorCode.NONE or not isinstance(leader, LeaderState):
            member.answer(ticket, answers.fetch(member, code))
            return
        expires_ms = now_ms + request.max_wait_ms
        waiting = ParkedFetch(ticket, key, partition, request.max_bytes, expires_ms, partition.high_watermark, line)
        self._serve(leader, waiting, now_ms)

    def _fetch_refusal(self, request: FetchRequest, partition: FetchPartition, key: ReplicaKey) -> ErrorCode:
        if request.max_wait_ms < 0 or partition.fetch_offset < 0 or key.id == self._member.local.key.id:
            return ErrorCode.INVALID_REQUEST
        if not 0 <= partition.last_fetched_epoch <= partition.current_leader_epoch:
            return ErrorCode.INVALID_REQUEST
        return leader_refusal(self._member, partition.current_leader_epoch)

    def _serve(self, leader: LeaderState, fetch: ParkedFetch, now_ms: int) -> None:
        """Answer now if there is anything to say, or once there is."""
        partition, member = fetch.partition, self._member
        judgement = self._judge(partition)
        if judgement.is_valid and fetch.key.id >= 0:
            end_offset = member.log.end_offset
            if leader.replica_fetched(fetch.key, partition.fetch_offset, end_offset, now_ms, fetch.line):
                self._leading.advanced(leader)
        has_news = not judgement.is_valid or self._has_news(leader, fetch)
        if has_news or now_ms >= fetch.expires_ms or len(leader.parked) >= member.settings.parked_fetches_max:
            self._answer(leader, fetch, judgement, now_ms)
        else:
            fetch.seen_high_watermark = leader.high_watermark
            leader.parked.append(fetch)

    def _judge(self, partition: FetchPartition) -> Judgement:
        member = self._member
        end = LogEnd(partition.last_fetched_epoch, partition.fetch_offset)
        return judge(member.log, member.snapshots, member.last_epoch, end)

    def _has_news(self, leader: LeaderState, fetch: ParkedFetch) -> bool:
        is_behind = fetch.partition.fetch_offset < self._member.log.end_offset
        return is_behind or fetch.seen_high_watermark < leader.high_watermark

    def _answer(self, leader: LeaderState, fetch: ParkedFetch, judgement: Judgement, now_ms: int) -> None:
        leader.answered(fetch.key, now_ms, fetch.line)
        member, offset = self._member, fetch.partition.fetch_offset
        response = answers.fetch(member, ErrorCode.NONE, leader.high_watermark, judgement)
        has_records = judgement.is_valid and offset < member.log.end_offset
        body = LogRange(offset, min(fetch.bytes_max, member.settings.fetch_bytes_max)) if has_records else None
        member.out.answer(Answer(fetch.ticket, response, body))

    def wake(self, leader: LeaderState, now_ms: int) -> None:
        """Answer the parked fetches that there is news for, and those that have waited long enough."""
        still_parked: list[ParkedFetch] = []
        for fetch in leader.parked:
            if self._has_news(leader, fetch) or now_ms >= fetch.expires_ms:
                self._answer(leader, fetch, self._judge(fetch.partition), now_ms)
            else:
                still_parked.append(fetch)
        leader.parked = still_parked

    def fetch_snapshot(self, ticket: Ticket, request: FetchSnapshotRequest, now_ms: int) -> None:
        member = self._member
        if request.cluster_id not in (None, member.local.cluster_id):
            member.answer(ticket, FetchSnapshotResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID))
            return
        if len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
            member.answer(ticket, FetchSnapshotResponse(error_code=ErrorCode.INVALID_REQUEST))
            return
        partition = request.topics[0].partitions[0]
        if request.topics[0].name != TOPIC or partition.partition != 0:
            member.answer(ticket, answers.fetch_snapshot(member, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, partition))
            return
        self._serve_snapshot(ticket, request, partition, now_ms)

    def _serve_snapshot(
        self, ticket: Ticket, request: FetchSnapshotRequest, partition: RequestPartitionSnapshot, now_ms: int
    ) -> None:
        member, leader = self._member, self._member.role
        asked = SnapshotId(partition.snapshot_id.end_offset, partition.snapshot_id.epoch)
        snapshot = member.snapshots.get(asked)
        code = leader_refusal(member, partition.current_leader_epoch)
        if code is ErrorCode.NONE and (snapshot is None or asked.end_offset == 0):
            # The snapshot that a cluster is formatted with is every node's own.
            code = ErrorCode.SNAPSHOT_NOT_FOUND
        elif code is ErrorCode.NONE and snapshot and not 0 <= partition.position < snapshot.size_bytes:
            code = ErrorCode.POSITION_OUT_OF_RANGE
        if code is not ErrorCode.NONE or snapshot is None or not isinstance(leader, LeaderState):
            member.answer(ticket, answers.fetch_snapshot(member, code, partition))
            return
        leader.heard_from(ReplicaKey(request.replica_id, partition.replica_directory_id), now_ms)
        size_bytes = min(request.max_bytes, member.settings.snapshot_chunk_bytes_max)
        body = SnapshotRange(asked, partition.position, size_bytes)
        member.out.answer(Answer(ticket, answers.fetch_snapshot(member, code, partition, snapshot.size_bytes), body))


def _replica_id(request: FetchRequest) -> int:
    """Versions before 15 have it as a field, later ones as a tag."""
    state = request.replica_state
    return state.replica_id if state is not None and state.replica_id >= 0 else request.replica_id


def _names_our_log(request: FetchRequest) -> bool:
    if len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
        return False
    topic = request.topics[0]
    return (topic.topic == TOPIC or topic.topic_id == TOPIC_ID) and topic.partitions[0].partition == 0
