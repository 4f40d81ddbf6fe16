"""Who this node is in the quorum, as its settings say: its own place, the voters, and how patient everyone is."""

from __future__ import annotations

from typing import Final

from penstock.core.base.endpoints import Endpoint
from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.storage import Meta, uuid_bytes
from penstock.core.node.quorum.ports import Named
from penstock.core.raft.ids import Destination, Endpoints, ReplicaKey
from penstock.core.raft.settings import KRAFT_VERSIONS, Local, RaftSettings
from penstock.core.raft.voters import Voter, VoterSet, static_voters
from penstock.core.wire.fields import ZERO_UUID

FETCH_WAIT_MS_MAX: Final = 500
FETCHES_PER_TIMEOUT: Final = 5
"""A leader that has nothing to say is heard this often within the time after which it is given up."""
LOOPBACK: Final = "localhost"
_LOOPBACKS: Final = frozenset({LOOPBACK, "127.0.0.1", "::1"})

Addresses = dict[int, tuple[str, int]]


def local_of(node: Named, meta: Meta) -> Local:
    """This node's replica of the metadata log. One that is no controller observes, and never votes."""
    settings = node.settings
    return Local(
        meta.cluster_id,
        ReplicaKey(node.node_id, uuid_bytes(meta.directory_id) if meta.directory_id else ZERO_UUID),
        listener_of(settings),
        endpoints_of(settings, node.host_name),
        bootstrap_of(settings),
        can_vote=settings.is_controller,
    )


def endpoints_of(settings: BrokerSettings, host_name: str | None) -> Endpoints:
    """Where other controllers find this one; whoever listens everywhere is found by the name of its machine."""
    fixed = _fixed_voters(settings).get(settings.node_id)
    if fixed is not None:
        return (Endpoint(listener_of(settings), *fixed),)
    points = settings.listeners.advertised_controller
    return tuple(Endpoint(point.name, point.host or host_name or LOOPBACK, point.port) for point in points)


def voters_of(settings: BrokerSettings) -> VoterSet:
    """The voters that the settings name: those that count until the log says something of voters."""
    fixed = _fixed_voters(settings)
    if not fixed and is_founder(settings):
        own = settings.listeners.controller[0]
        fixed = {settings.node_id: (own.host or LOOPBACK, own.port)}
    return static_voters(listener_of(settings), fixed)


def founding_voters(settings: BrokerSettings, directory_id: bytes, host_name: str | None) -> VoterSet:
    """This node as the first voter of a cluster whose voters are kept in the log."""
    key = ReplicaKey(settings.node_id, directory_id)
    return VoterSet([Voter(key, endpoints_of(settings, host_name), KRAFT_VERSIONS)])


def is_founder(settings: BrokerSettings) -> bool:
    """Whether a controller knows of no other: its folder may become a new cluster's without anybody being asked."""
    if settings["controller.quorum.voters"] or not settings.is_controller:
        return False
    return all(_is_own(settings, server) for server in settings["controller.quorum.bootstrap.servers"])


def is_only_voter(settings: BrokerSettings) -> bool:
    """Whether the settings name this node as the one and only voter."""
    return set(_fixed_voters(settings)) == {settings.node_id} and settings.is_controller


def raft_settings(settings: BrokerSettings) -> RaftSettings:
    return RaftSettings(
        election_timeout_ms=settings["controller.quorum.election.timeout.ms"],
        fetch_timeout_ms=settings["controller.quorum.fetch.timeout.ms"],
        election_backoff_ms_max=settings["controller.quorum.election.backoff.max.ms"],
        request_timeout_ms=settings["controller.quorum.request.timeout.ms"],
        retry_backoff_ms=settings["controller.quorum.retry.backoff.ms"],
        fetch_wait_ms_max=min(FETCH_WAIT_MS_MAX, settings["controller.quorum.fetch.timeout.ms"] // FETCHES_PER_TIMEOUT),
        fetch_bytes_max=settings["controller.quorum.fetch.max.bytes"],
        snapshot_chunk_bytes_max=settings["controller.quorum.fetch.snapshot.max.bytes"],
        auto_join=settings["controller.quorum.auto.join.enable"],
    )


def bootstrap_of(settings: BrokerSettings) -> tuple[Destination, ...]:
    """Whom to ask who leads. They are known by their address alone, hence the numbers that no node has."""
    given = settings["controller.quorum.bootstrap.servers"]
    servers = [_address(server) for server in given if not _is_own(settings, server)]
    fixed = [address for voter, address in _fixed_voters(settings).items() if voter != settings.node_id]
    return tuple(Destination(-2 - number, host, port) for number, (host, port) in enumerate(servers or fixed))


def listener_of(settings: BrokerSettings) -> str:
    name: str = settings["controller.listener.names"][0]
    return name.upper()


def _fixed_voters(settings: BrokerSettings) -> Addresses:
    """The controller listener of each voter that is named in the settings."""
    addresses = {}
    for voter in settings["controller.quorum.voters"]:
        voter_id, _, address = voter.partition("@")
        addresses[int(voter_id)] = _address(address)
    return addresses


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def _is_own(settings: BrokerSettings, server: str) -> bool:
    host, port = _address(server)
    points = (*settings.listeners.controller, *settings.listeners.advertised_controller)
    return any(port == point.port and (host in _LOOPBACKS or host == point.host) for point in points)
