"""What can be set about a quorum; and who this replica is."""

from __future__ import annotations

from typing import Final

from penstock.core.base.values import frozen
from penstock.core.raft.ids import Destination, Endpoints, ReplicaKey

CHECK_QUORUM_FACTOR: Final = 1.5
"""A leader may miss a majority's fetches for this many fetch timeouts. More than one, so that the followers of a leader
that is only slow give up before it does."""

OBSERVER_SESSION_MS: Final = 300_000
"""An observer that has not fetched for this long is forgotten."""

KRAFT_VERSIONS: Final = (0, 1)
"""The kraft.version levels that this code can live with: static voters, and voters that are kept in the log."""


@frozen
class RaftSettings:
    """`controller.quorum.*`, and bounds."""

    election_timeout_ms: int = 500
    fetch_timeout_ms: int = 1_000
    election_backoff_ms_max: int = 1_000
    request_timeout_ms: int = 1_000
    retry_backoff_ms: int = 20
    fetch_wait_ms_max: int = 200
    fetch_bytes_max: int = 1 << 20
    snapshot_chunk_bytes_max: int = 1 << 20
    snapshots_kept_max: int = 2
    parked_fetches_max: int = 10_000
    auto_join: bool = False


@frozen
class Local:
    """This replica: its key, where it listens, and whom it asks while it knows no leader."""

    cluster_id: str
    key: ReplicaKey
    listener: str
    endpoints: Endpoints
    bootstrap: tuple[Destination, ...] = ()
    can_vote: bool = True
    kraft_versions: tuple[int, int] = KRAFT_VERSIONS
