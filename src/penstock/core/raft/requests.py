"""Requests to other replicas, as this replica's state has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from penstock.core.raft.ids import NOBODY, TOPIC, TOPIC_ID, LogEnd, ReplicaKey
from penstock.core.raft.rebuilding import PROBED_OFFSET
from penstock.core.wire.api import (
    add_raft_voter,
    api_versions,
    begin_quorum_epoch,
    end_quorum_epoch,
    remove_raft_voter,
    update_raft_voter,
)
from penstock.core.wire.api import fetch as fetch_api
from penstock.core.wire.api import fetch_snapshot as snapshot_api
from penstock.core.wire.api import vote as vote_api

if TYPE_CHECKING:
    from penstock.core.raft.member import Member
    from penstock.core.raft.roles import SnapshotFetch

Listener = TypeVar("Listener")


def vote(member: Member, voter: ReplicaKey, *, pre_vote: bool) -> vote_api.VoteRequest:
    end = member.log_end
    partition = vote_api.RequestPartitionData(
        partition_index=0,
        replica_epoch=member.epoch,
        replica_id=member.local.key.id,
        replica_directory_id=member.local.key.directory_id,
        voter_directory_id=voter.directory_id,
        last_offset_epoch=end.epoch,
        last_offset=end.offset,
        pre_vote=pre_vote,
    )
    return vote_api.VoteRequest(
        cluster_id=member.local.cluster_id,
        voter_id=voter.id,
        topics=[vote_api.RequestTopicData(topic_name=TOPIC, partitions=[partition])],
    )


def begin_epoch(member: Member, voter: ReplicaKey) -> begin_quorum_epoch.BeginQuorumEpochRequest:
    api = begin_quorum_epoch
    partition = api.RequestPartitionData(
        partition_index=0,
        voter_directory_id=voter.directory_id,
        leader_id=member.local.key.id,
        leader_epoch=member.epoch,
    )
    return api.BeginQuorumEpochRequest(
        cluster_id=member.local.cluster_id,
        voter_id=voter.id,
        topics=[api.RequestTopicData(topic_name=TOPIC, partitions=[partition])],
        leader_endpoints=_endpoints(member, api.LeaderEndpoint),
    )


def end_epoch(member: Member, successors: list[ReplicaKey]) -> end_quorum_epoch.EndQuorumEpochRequest:
    api = end_quorum_epoch
    partition = api.RequestPartitionData(
        partition_index=0,
        leader_id=member.local.key.id,
        leader_epoch=member.epoch,
        preferred_successors=[key.id for key in successors],
        preferred_candidates=[
            api.ReplicaInfo(candidate_id=key.id, candidate_directory_id=key.directory_id) for key in successors
        ],
    )
    return api.EndQuorumEpochRequest(
        cluster_id=member.local.cluster_id,
        topics=[api.RequestTopicData(topic_name=TOPIC, partitions=[partition])],
        leader_endpoints=_endpoints(member, api.LeaderEndpoint),
    )


def fetch(member: Member) -> fetch_api.FetchRequest:
    return _fetch(member, member.log_end)


def probe(member: Member) -> fetch_api.FetchRequest:
    """Ask the leader where its log ends."""
    return _fetch(member, LogEnd(member.epoch, PROBED_OFFSET))


def _fetch(member: Member, end: LogEnd) -> fetch_api.FetchRequest:
    partition = fetch_api.FetchPartition(
        partition=0,
        current_leader_epoch=member.epoch,
        fetch_offset=end.offset,
        last_fetched_epoch=end.epoch,
        partition_max_bytes=member.settings.fetch_bytes_max,
        replica_directory_id=member.local.key.directory_id,
        high_watermark=member.high_watermark,
    )
    return fetch_api.FetchRequest(
        cluster_id=member.local.cluster_id,
        replica_state=fetch_api.ReplicaState(replica_id=_counted_id(member)),
        max_wait_ms=member.settings.fetch_wait_ms_max,
        min_bytes=0,
        max_bytes=member.settings.fetch_bytes_max,
        topics=[fetch_api.FetchTopic(topic=TOPIC, topic_id=TOPIC_ID, partitions=[partition])],
    )


def fetch_snapshot(member: Member, snapshot: SnapshotFetch) -> snapshot_api.FetchSnapshotRequest:
    partition = snapshot_api.RequestPartitionSnapshot(
        partition=0,
        current_leader_epoch=member.epoch,
        snapshot_id=snapshot_api.RequestSnapshotId(end_offset=snapshot.id.end_offset, epoch=snapshot.id.epoch),
        position=snapshot.size_bytes,
        replica_directory_id=member.local.key.directory_id,
    )
    return snapshot_api.FetchSnapshotRequest(
        cluster_id=member.local.cluster_id,
        replica_id=_counted_id(member),
        max_bytes=member.settings.snapshot_chunk_bytes_max,
        topics=[snapshot_api.RequestTopicSnapshot(name=TOPIC, partitions=[partition])],
    )


def _counted_id(member: Member) -> int:
    """As whom to fetch: a leader counts what a voter has, and must not while that is being rebuilt."""
    return NOBODY if member.is_rebuilding else member.local.key.id


def versions() -> api_versions.ApiVersionsRequest:
    """Ask a replica what it can live with; who does not say what it is gets no answer."""
    return api_versions.ApiVersionsRequest(client_software_name="penstock", client_software_version="0")


def add_voter(member: Member) -> add_raft_voter.AddRaftVoterRequest:
    """Ask to become a voter; the answer need not wait for the commit, which this replica will see."""
    api = add_raft_voter
    return api.AddRaftVoterRequest(
        cluster_id=member.local.cluster_id,
        timeout_ms=member.settings.request_timeout_ms,
        voter_id=member.local.key.id,
        voter_directory_id=member.local.key.directory_id,
        listeners=_endpoints(member, api.Listener),
        ack_when_committed=False,
    )


def remove_voter(member: Member, old: ReplicaKey) -> remove_raft_voter.RemoveRaftVoterRequest:
    return remove_raft_voter.RemoveRaftVoterRequest(
        cluster_id=member.local.cluster_id, voter_id=old.id, voter_directory_id=old.directory_id
    )


def update_voter(member: Member) -> update_raft_voter.UpdateRaftVoterRequest:
    api = update_raft_voter
    lowest, highest = member.local.kraft_versions
    return api.UpdateRaftVoterRequest(
        cluster_id=member.local.cluster_id,
        current_leader_epoch=member.epoch,
        voter_id=member.local.key.id,
        voter_directory_id=member.local.key.directory_id,
        listeners=_endpoints(member, api.Listener),
        k_raft_version_feature=api.KRaftVersionFeature(min_supported_version=lowest, max_supported_version=highest),
    )


def _endpoints(member: Member, make: Callable[..., Listener]) -> list[Listener]:
    """Each API declares a struct of its own for a listener."""
    return [make(name=name, host=host, port=port) for name, host, port, _ in member.local.endpoints]
