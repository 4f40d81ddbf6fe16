"""What replicas, places and ends of logs are called."""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.core.base.endpoints import Endpoint
from penstock.core.log.names import METADATA_TOPIC
from penstock.core.wire.fields import ZERO_UUID

TOPIC: Final = METADATA_TOPIC
TOPIC_ID: Final = bytes(15) + b"\x01"
"""Kafka reserves this id for the metadata log, the only one that Raft replicates."""

NOBODY: Final = -1
"""Stands in messages where there is no replica or leader to name."""

UNKNOWN_OFFSET: Final = -1


class ReplicaKey(NamedTuple):
    """A replica: its node and the directory it keeps its log in. A node that lost its disk is another replica, so that
    nobody counts on what it once promised. No directory (zeros) is known of voters that are named in settings."""

    id: int
    directory_id: bytes = ZERO_UUID


Endpoints = tuple[Endpoint, ...]


class Destination(NamedTuple):
    """Where a request goes. Servers that are known by their address only have negative ids."""

    id: int
    host: str
    port: int


class LogEnd(NamedTuple):
    """The end of a log: the epoch of its last record, the offset after it. They compare as elections compare logs."""

    epoch: int
    offset: int


class SnapshotId(NamedTuple):
    """A snapshot holds everything before an offset, and the last of that was written in an epoch."""

    end_offset: int
    epoch: int


class Snapshot(NamedTuple):
    """A complete snapshot that can be served."""

    id: SnapshotId
    size_bytes: int


def address(endpoints: Endpoints, listener: str) -> Endpoint | None:
    """The endpoint of a listener, by its name in any case, as Kafka compares them."""
    wanted = listener.upper()
    for endpoint in endpoints:
        if endpoint.name.upper() == wanted:
            return endpoint
    return None
