"""The controllers' quorum as its leader describes it, and who belongs to the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from penstock.client.blocking import Client
from penstock.client.errors import ClientError, check
from penstock.client.metadata import NO_NODE
from penstock.core.wire.api.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from penstock.core.wire.api.add_raft_voter import Listener as VoterListener
from penstock.core.wire.api.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from penstock.core.wire.api.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    ReplicaState,
    RequestPartitionData,
    RequestTopicData,
)
from penstock.core.wire.api.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from penstock.core.wire.api.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse

METADATA_TOPIC: Final = "__cluster_metadata"
QUORUM_SECONDS_MAX: Final = 3.0
"""A controller that leads answers in milliseconds, and another one is elected in less."""
FENCED_SINCE: Final = 2
"""The version of DescribeCluster that tells of brokers that are not let in."""


class Member(NamedTuple):
    """A voter or an observer of the metadata log; times are the leader's, -1 where it has not heard of it."""

    node_id: int
    directory_id: bytes
    end_offset: int
    fetched_ms: int
    caught_up_ms: int
    addresses: tuple[str, ...] = ()
    listeners: tuple[str, ...] = ()
    """The names of the listeners at these addresses."""


class Quorum(NamedTuple):
    leader: int
    epoch: int
    high_watermark: int
    voters: tuple[Member, ...]
    observers: tuple[Member, ...]

    @property
    def now_ms(self) -> int:
        """The leader's clock: it has always just caught up with itself."""
        return max((member.caught_up_ms for member in (*self.voters, *self.observers)), default=-1)

    @property
    def end_offset(self) -> int:
        """Of the leader's log."""
        return max((member.end_offset for member in self.voters), default=0)

    def lag(self, member: Member) -> int:
        """How many records a member lacks."""
        return max(self.end_offset - member.end_offset, 0)

    def behind_ms(self, member: Member) -> int | None:
        """How long ago it had everything; None where it never had."""
        return None if member.caught_up_ms < 0 else max(self.now_ms - member.caught_up_ms, 0)


class Registered(NamedTuple):
    """A broker of the cluster, whether it is let in or not."""

    node_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"


def describe_quorum(client: Client) -> Quorum:
    partition = RequestPartitionData(partition_index=0)
    request = DescribeQuorumRequest(topics=[RequestTopicData(topic_name=METADATA_TOPIC, partitions=[partition])])

    def attempt() -> Quorum:
        answer = client.ask(request, DescribeQuorumResponse)
        check(answer.error_code, "the quorum", answer.error_message)
        found = answer.topics[0].partitions[0]
        check(found.error_code, "the quorum", found.error_message)
        nodes = {node.node_id: node.listeners for node in answer.nodes}
        return Quorum(
            found.leader_id,
            found.leader_epoch,
            found.high_watermark,
            _members(found.current_voters, nodes),
            _members(found.observers, nodes),
        )

    return client.retry(attempt)


def known_quorum(client: Client) -> Quorum:
    """The same, or nobody and nothing where no controller answers soon: that nobody does is worth knowing too."""
    try:
        with client.within(min(client.timeout / 2, QUORUM_SECONDS_MAX)):
            return describe_quorum(client)
    except ClientError as failure:
        if not failure.is_absence:
            raise
        return Quorum(NO_NODE, NO_NODE, NO_NODE, (), ())


def _members(states: Sequence[ReplicaState], nodes: Mapping[int, Sequence[Listener]]) -> tuple[Member, ...]:
    return tuple(
        sorted(
            Member(
                state.replica_id,
                state.replica_directory_id,
                state.log_end_offset,
                state.last_fetch_timestamp,
                state.last_caught_up_timestamp,
                tuple(f"{point.host}:{point.port}" for point in nodes.get(state.replica_id, ())),
                tuple(point.name for point in nodes.get(state.replica_id, ())),
            )
            for state in states
        )
    )


def registered_brokers(client: Client) -> list[Registered]:
    """Everybody, by id; a broker that is too old to tell of fenced ones tells of the others."""

    def attempt() -> list[Registered]:
        newest = client.link().versions.pick(DescribeClusterRequest)
        request = DescribeClusterRequest(include_fenced_brokers=newest >= FENCED_SINCE)
        answer = client.ask(request, DescribeClusterResponse)
        check(answer.error_code, "the cluster", answer.error_message)
        return sorted(
            Registered(broker.broker_id, broker.host, broker.port, broker.rack, broker.is_fenced)
            for broker in answer.brokers
        )

    return client.retry(attempt)


def unregister_broker(client: Client, node_id: int) -> None:
    """Forget a broker that has stopped for good."""

    def attempt() -> None:
        answer = client.ask(UnregisterBrokerRequest(broker_id=node_id), UnregisterBrokerResponse)
        check(answer.error_code, f"broker {node_id}", answer.error_message)

    client.retry(attempt)


def remove_voter(client: Client, cluster_id: str, member: Member) -> None:
    """Take a voter out of a quorum whose voters can change."""
    request = RemoveRaftVoterRequest(
        cluster_id=cluster_id, voter_id=member.node_id, voter_directory_id=member.directory_id
    )

    def attempt() -> None:
        answer = client.ask(request, RemoveRaftVoterResponse)
        check(answer.error_code, f"voter {member.node_id}", answer.error_message)

    client.retry(attempt)


def add_voter(client: Client, cluster_id: str, member: Member, listener: Listener) -> None:
    """Let a member that follows vote, once it has caught up."""
    request = AddRaftVoterRequest(
        cluster_id=cluster_id,
        timeout_ms=int(client.timeout * 1000),
        voter_id=member.node_id,
        voter_directory_id=member.directory_id,
        listeners=[VoterListener(name=listener.name, host=listener.host, port=listener.port)],
    )

    def attempt() -> None:
        answer = client.ask(request, AddRaftVoterResponse)
        check(answer.error_code, f"voter {member.node_id}", answer.error_message)

    client.retry(attempt)
