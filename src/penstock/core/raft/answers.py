"""Answers to the requests of a quorum, each with what its sender needs to find the leader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from penstock.core.base.endpoints import Endpoint
from penstock.core.base.errors import ErrorCode
from penstock.core.raft.election import ElectionState
from penstock.core.raft.ids import NOBODY, TOPIC, TOPIC_ID, UNKNOWN_OFFSET, Endpoints, address
from penstock.core.raft.ports import RaftLog
from penstock.core.raft.settings import Local
from penstock.core.raft.snapshots import Judgement, Snapshots
from penstock.core.wire.api import add_raft_voter, begin_quorum_epoch, end_quorum_epoch, remove_raft_voter
from penstock.core.wire.api import fetch as fetch_api
from penstock.core.wire.api import fetch_snapshot as snapshot_api
from penstock.core.wire.api import update_raft_voter as update_api
from penstock.core.wire.api import vote as vote_api

Node = TypeVar("Node")


class Replica(Protocol):
    """What an answer tells of the replica that gives it."""

    local: Local
    election: ElectionState
    snapshots: Snapshots

    @property
    def log(self) -> RaftLog: ...

    @property
    def epoch(self) -> int: ...

    @property
    def leader_endpoints(self) -> Endpoints: ...


def leader_id(replica: Replica) -> int:
    return NOBODY if replica.election.leader_id is None else replica.election.leader_id


def leader_endpoint(replica: Replica) -> Endpoint | None:
    """Where the leader listens, if it is known who and where it is."""
    if replica.election.leader_id is None:
        return None
    return address(replica.leader_endpoints, replica.local.listener)


def _leader_node(replica: Replica, make: Callable[..., Node]) -> list[Node]:
    """Each API declares a struct of its own for a node and its address."""
    endpoint = leader_endpoint(replica)
    return [] if endpoint is None else [make(node_id=leader_id(replica), host=endpoint.host, port=endpoint.port)]


def vote(replica: Replica, code: ErrorCode, *, granted: bool = False) -> vote_api.VoteResponse:
    partition = vote_api.ResponsePartitionData(
        partition_index=0,
        error_code=code,
        leader_id=leader_id(replica),
        leader_epoch=replica.epoch,
        vote_granted=granted,
    )
    return vote_api.VoteResponse(
        topics=[vote_api.ResponseTopicData(topic_name=TOPIC, partitions=[partition])],
        node_endpoints=_leader_node(replica, vote_api.NodeEndpoint),
    )


def begin_epoch(replica: Replica, code: ErrorCode) -> begin_quorum_epoch.BeginQuorumEpochResponse:
    api = begin_quorum_epoch
    partition = api.ResponsePartitionData(
        partition_index=0, error_code=code, leader_id=leader_id(replica), leader_epoch=replica.epoch
    )
    return api.BeginQuorumEpochResponse(
        topics=[api.ResponseTopicData(topic_name=TOPIC, partitions=[partition])],
        node_endpoints=_leader_node(replica, api.NodeEndpoint),
    )


def end_epoch(replica: Replica, code: ErrorCode) -> end_quorum_epoch.EndQuorumEpochResponse:
    api = end_quorum_epoch
    partition = api.ResponsePartitionData(
        partition_index=0, error_code=code, leader_id=leader_id(replica), leader_epoch=replica.epoch
    )
    return api.EndQuorumEpochResponse(
        topics=[api.ResponseTopicData(topic_name=TOPIC, partitions=[partition])],
        node_endpoints=_leader_node(replica, api.NodeEndpoint),
    )


def fetch(
    replica: Replica, code: ErrorCode, high_watermark: int = UNKNOWN_OFFSET, judgement: Judgement | None = None
) -> fetch_api.FetchResponse:
    """Without records: who performs the answer reads them from the log."""
    partition = fetch_api.PartitionData(
        partition_index=0,
        error_code=code,
        high_watermark=high_watermark,
        log_start_offset=replica.log.start_offset,
        diverging_epoch=_diverging(judgement),
        current_leader=fetch_api.LeaderIdAndEpoch(leader_id=leader_id(replica), leader_epoch=replica.epoch),
        snapshot_id=_snapshot_instead(replica, judgement),
        records=b"",
    )
    return fetch_api.FetchResponse(
        responses=[fetch_api.FetchableTopicResponse(topic=TOPIC, topic_id=TOPIC_ID, partitions=[partition])],
        node_endpoints=_leader_node(replica, fetch_api.NodeEndpoint),
    )


def _diverging(judgement: Judgement | None) -> fetch_api.EpochEndOffset:
    if judgement is None or judgement.end is None:
        return fetch_api.EpochEndOffset()
    return fetch_api.EpochEndOffset(epoch=judgement.end.epoch, end_offset=judgement.end.offset)


def _snapshot_instead(replica: Replica, judgement: Judgement | None) -> fetch_api.SnapshotId:
    latest = replica.snapshots.latest
    if judgement is None or not judgement.needs_snapshot or latest is None:
        return fetch_api.SnapshotId()
    return fetch_api.SnapshotId(end_offset=latest.id.end_offset, epoch=latest.id.epoch)


def fetch_snapshot(
    replica: Replica, code: ErrorCode, partition: snapshot_api.RequestPartitionSnapshot, size_bytes: int = 0
) -> snapshot_api.FetchSnapshotResponse:
    asked = partition.snapshot_id
    found = code is ErrorCode.NONE
    answer = snapshot_api.ResponsePartitionSnapshot(
        index=partition.partition,
        error_code=code,
        snapshot_id=snapshot_api.ResponseSnapshotId(
            end_offset=asked.end_offset if found else 0, epoch=asked.epoch if found else 0
        ),
        current_leader=snapshot_api.LeaderIdAndEpoch(leader_id=leader_id(replica), leader_epoch=replica.epoch),
        size=size_bytes,
        position=partition.position if found else 0,
        unaligned_records=b"",
    )
    return snapshot_api.FetchSnapshotResponse(
        topics=[snapshot_api.ResponseTopicSnapshot(name=TOPIC, partitions=[answer])],
        node_endpoints=_leader_node(replica, snapshot_api.NodeEndpoint),
    )


def voter_change(
    request: add_raft_voter.AddRaftVoterRequest | remove_raft_voter.RemoveRaftVoterRequest,
    code: ErrorCode,
    message: str | None = None,
) -> add_raft_voter.AddRaftVoterResponse | remove_raft_voter.RemoveRaftVoterResponse:
    """A refusal says something, if only the error's name."""
    if message is None and code is not ErrorCode.NONE:
        message = code.name
    if isinstance(request, add_raft_voter.AddRaftVoterRequest):
        return add_raft_voter.AddRaftVoterResponse(error_code=code, error_message=message)
    return remove_raft_voter.RemoveRaftVoterResponse(error_code=code, error_message=message)


def update_voter(replica: Replica, code: ErrorCode) -> update_api.UpdateRaftVoterResponse:
    leader = update_api.CurrentLeader(leader_id=leader_id(replica), leader_epoch=replica.epoch)
    if (endpoint := leader_endpoint(replica)) is not None:
        leader.host, leader.port = endpoint.host, endpoint.port
    return update_api.UpdateRaftVoterResponse(error_code=code, current_leader=leader)
