"""Who this node is in the quorum, as its settings say: its own place, the voters, and how patient everyone is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.storage import Meta, uuid_bytes
from penstock.core.raft.ids import Destination, Endpoint, ReplicaKey
from penstock.core.raft.settings import Local, RaftSettings
from penstock.core.raft.voters import VoterSet, static_voters
from penstock.core.wire.fields import ZERO_UUID

if TYPE_CHECKING:
    from penstock.core.node.node import Node

_LOOPBACK = "localhost"


def local_of(node: Node, meta: Meta) -> Local:
    settings = node.settings
    listener = _listener(settings)
    host, port = _addresses(settings)[node.node_id]
    return Local(
        meta.cluster_id,
        ReplicaKey(node.node_id, uuid_bytes(meta.directory_id) if meta.directory_id else ZERO_UUID),
        listener,
        (Endpoint(listener, host, port),),
        _bootstrap(settings),
    )


def voters_of(settings: BrokerSettings) -> VoterSet:
    return static_voters(_listener(settings), _addresses(settings))


def raft_settings(settings: BrokerSettings) -> RaftSettings:
    return RaftSettings(
        election_timeout_ms=settings["controller.quorum.election.timeout.ms"],
        fetch_timeout_ms=settings["controller.quorum.fetch.timeout.ms"],
        election_backoff_ms_max=settings["controller.quorum.election.backoff.max.ms"],
        request_timeout_ms=settings["controller.quorum.request.timeout.ms"],
        retry_backoff_ms=settings["controller.quorum.retry.backoff.ms"],
        fetch_bytes_max=settings["controller.quorum.fetch.max.bytes"],
        snapshot_chunk_bytes_max=settings["controller.quorum.fetch.snapshot.max.bytes"],
    )


def _listener(settings: BrokerSettings) -> str:
    name: str = settings["controller.listener.names"][0]
    return name.upper()


def _addresses(settings: BrokerSettings) -> dict[int, tuple[str, int]]:
    """Every voter's controller listener. Where none is named this node stands alone."""
    addresses = {}
    for voter in settings["controller.quorum.voters"]:
        voter_id, _, address = voter.partition("@")
        host, _, port = address.rpartition(":")
        addresses[int(voter_id)] = (host.strip("[]"), int(port))
    if not addresses:
        own = settings.listeners.controller[0]
        addresses[settings.node_id] = (own.host or _LOOPBACK, own.port)
    return addresses


def _bootstrap(settings: BrokerSettings) -> tuple[Destination, ...]:
    """Whom to ask who leads. They are known by their address alone, hence the numbers that no node has."""
    others = [address for voter, address in _addresses(settings).items() if voter != settings.node_id]
    return tuple(Destination(-2 - number, host, port) for number, (host, port) in enumerate(others))
