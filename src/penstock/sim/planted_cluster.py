"""Planted bugs that only a cluster can show: mistakes in replication."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.log.log import Log
from penstock.core.log.producers import Producers
from penstock.core.partition import replicated
from penstock.core.partition.divergence import EpochEnd
from penstock.core.partition.replicated import ReplicatedLeader
from penstock.core.records.batch import BatchHeader
from penstock.sim.planted import Patch


def _watermark_too_early() -> list[Patch]:
    """What the leader has is committed."""

    def committed(self: ReplicatedLeader, end: int) -> int:
        return end

    return [(ReplicatedLeader, "_committed", committed)]


def _divergence_unseen() -> list[Patch]:
    """Nobody compares epochs: a follower keeps what its old leader had, and goes on from there."""

    def find(log: Log, offset: int, last_epoch: int) -> EpochEnd | None:
        return None

    return [(replicated, "find_divergence", find)]


def _sequence_check_off() -> list[Patch]:
    """Nobody looks at sequence numbers."""

    def check(self: Producers, header: BatchHeader) -> None:
        return None

    return [(Producers, "check", check)]


CLUSTER_BUGS: dict[str, Callable[[], list[Patch]]] = {
    "watermark too early": _watermark_too_early,
    "divergence unseen": _divergence_unseen,
    "sequence check off": _sequence_check_off,
}
"""Every bug by its name."""
