"""What any message says of the quorum - an epoch and perhaps its leader - and what a replica makes of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from penstock.core.base.endpoints import Endpoint
from penstock.core.base.errors import ErrorCode
from penstock.core.raft.ids import Endpoints
from penstock.core.raft.member import Member
from penstock.core.wire.api.begin_quorum_epoch import BeginQuorumEpochResponse
from penstock.core.wire.api.end_quorum_epoch import EndQuorumEpochResponse
from penstock.core.wire.api.fetch import FetchResponse
from penstock.core.wire.api.fetch import PartitionData as FetchPartitionData
from penstock.core.wire.api.fetch_snapshot import FetchSnapshotResponse, ResponsePartitionSnapshot
from penstock.core.wire.api.update_raft_voter import UpdateRaftVoterResponse
from penstock.core.wire.api.vote import VoteResponse

_LEADER_ELSEWHERE = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER)


class Told(NamedTuple):
    """A reply's words about the quorum."""

    code: int
    leader_id: int
    epoch: int
    endpoints: Endpoints = ()


def told_by_election(
    response: VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse, listener: str
) -> Told | None:
    """None where the reply speaks of another log, or of none."""
    if len(response.topics) != 1 or len(response.topics[0].partitions) != 1:
        return None
    partition = response.topics[0].partitions[0]
    endpoints = _of_node(response.node_endpoints, partition.leader_id, listener)
    return Told(partition.error_code, partition.leader_id, partition.leader_epoch, endpoints)


def _told_by_fetch(
    response: FetchResponse | FetchSnapshotResponse,
    partition: FetchPartitionData | ResponsePartitionSnapshot,
    listener: str,
) -> Told | None:
    current = partition.current_leader
    if current is None:
        return None
    endpoints = _of_node(response.node_endpoints, current.leader_id, listener)
    return Told(partition.error_code, current.leader_id, current.leader_epoch, endpoints)


def told_by_update(response: UpdateRaftVoterResponse, listener: str) -> Told | None:
    current = response.current_leader
    if current is None:
        return None
    endpoints = (Endpoint(listener, current.host, current.port),) if current.host else ()
    return Told(response.error_code, current.leader_id, current.leader_epoch, endpoints)


class _Node(Protocol):
    """Each API declares a struct of its own for the same three fields."""

    node_id: int
    host: str
    port: int


def _of_node(nodes: Sequence[_Node], node_id: int, listener: str) -> Endpoints:
    return tuple(Endpoint(listener, node.host, node.port) for node in nodes if node.node_id == node_id)


def is_contradicted(member: Member, leader_id: int, epoch: int) -> bool:
    """Whether a message names a leader for our epoch that cannot be."""
    if leader_id < 0:
        return False
    if leader_id == member.local.key.id:
        return epoch > member.epoch or (epoch == member.epoch and member.election.leader_id != leader_id)
    return epoch == member.epoch and member.election.leader_id not in (None, leader_id)


def hear_of(member: Member, leader_id: int, epoch: int, endpoints: Endpoints, now_ms: int) -> None:
    """Move on to a later epoch, or to a leader of this one that was not known."""
    if is_contradicted(member, leader_id, epoch) or epoch < member.epoch:
        return
    if leader_id < 0 or leader_id == member.local.key.id:
        if epoch > member.epoch:
            member.become_unattached(epoch, now_ms)
        return
    reachable = endpoints or member.history.last.endpoints_of(leader_id)
    if epoch > member.epoch:
        if reachable:
            member.become_follower(epoch, leader_id, reachable, now_ms)
        else:
            member.become_unattached(epoch, now_ms, leader_id)
    elif reachable and (member.election.leader_id is None or len(reachable) > len(member.leader_endpoints)):
        member.become_follower(epoch, leader_id, reachable, now_ms)


def settle(member: Member, told: Told, now_ms: int) -> bool | None:
    """Take from a reply what it says of the quorum. True: that was all it can say. False: it failed, ask again later.
    None: the rest of it, an error perhaps, is for the role that asked."""
    if is_contradicted(member, told.leader_id, told.epoch):
        return False
    if told.epoch < member.epoch or told.code == ErrorCode.UNKNOWN_LEADER_EPOCH:
        return True
    if told.epoch > member.epoch or told.code in _LEADER_ELSEWHERE:
        hear_of(member, told.leader_id, told.epoch, told.endpoints, now_ms)
        # Who knows no leader either is left in peace for a moment; asked at once, it would say the same.
        return told.leader_id >= 0
    if told.leader_id >= 0 and member.election.leader_id is None:
        hear_of(member, told.leader_id, told.epoch, told.endpoints, now_ms)
        return None if told.code == ErrorCode.NONE else True
    if told.code == ErrorCode.INVALID_VOTER_KEY:
        return True
    return False if told.code in (ErrorCode.BROKER_NOT_AVAILABLE, ErrorCode.INVALID_REQUEST) else None


def settle_fetched(
    member: Member,
    response: FetchResponse | FetchSnapshotResponse,
    partition: FetchPartitionData | ResponsePartitionSnapshot,
    now_ms: int,
) -> bool | None:
    """The same for what a fetch got, which has failed where it does not name the leader."""
    told = _told_by_fetch(response, partition, member.local.listener)
    return False if told is None else settle(member, told, now_ms)
