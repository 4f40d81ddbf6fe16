"""Planted bugs: mistakes that somebody could make in replication, each switched on for a while. A world that catches
none of them proves nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.log.log import Log
from penstock.core.log.producers import Producers
from penstock.core.metadata import alter_partition
from penstock.core.node.fetching.fetch_session import CachedPartition
from penstock.core.node.membership.broker_lifecycle import NO_EPOCH
from penstock.core.node.storage.lineage import Lineage
from penstock.core.partition import replicated
from penstock.core.partition.divergence import EpochEnd
from penstock.core.partition.follower import Follower
from penstock.core.partition.partition import Partition
from penstock.core.partition.replicated import ReplicatedLeader
from penstock.core.records.batch import BatchHeader
from penstock.sim.planted import Patch, planting
from tests.partition.broker import Broker


def planted(name: str) -> AbstractContextManager[None]:
    """Let a bug be there for a while."""
    return planting(BUGS[name]())


def _high_watermark_too_early() -> list[Patch]:
    """The leader counts all but the slowest."""

    def committed(self: ReplicatedLeader, end: int) -> int:
        ends = sorted([end, *(r.end_offset for r in self.remotes.values() if r.id in self.in_sync.isr)])
        return ends[min(1, len(ends) - 1)]

    return [(ReplicatedLeader, "_committed", committed)]


def _in_sync_too_early() -> list[Patch]:
    """Whoever fetches is in sync."""
    return [(ReplicatedLeader, "_may_join", lambda self, remote: True)]


def _truncation_by_high_watermark() -> list[Patch]:
    """A follower cuts to its high watermark when it begins, and nobody compares epochs."""
    honest = Follower.__init__

    def begin(self: Follower, *arguments: Any, **options: Any) -> None:
        honest(self, *arguments, **options)
        if not self.log.writes:
            self._cut(self.log.truncate_to(self.high_watermark))

    def find(log: Log, offset: int, last_epoch: int) -> EpochEnd | None:
        return None

    return [(Follower, "__init__", begin), (replicated, "find_divergence", find)]


def _divergence_by_offset() -> list[Patch]:
    """The leader looks at how long a follower's log is, and not at its epochs."""

    def find(log: Log, offset: int, last_epoch: int) -> EpochEnd | None:
        return EpochEnd(last_epoch, log.end_offset) if offset > log.end_offset else None

    return [(replicated, "find_divergence", find)]


def _no_sequence_check() -> list[Patch]:
    def check(self: Producers, header: BatchHeader) -> None:
        return None

    return [(Producers, "check", check)]


def _no_fencing() -> list[Patch]:
    """Nobody looks at leader epochs: neither leaders whom others fetch from, nor the controller."""
    honest_resolve, honest_refusal = CachedPartition.resolve, alter_partition.refusal

    def resolve(self: CachedPartition, node: Any) -> Partition:
        self.leader_epoch = -1
        return honest_resolve(self, node)

    def refusal(*arguments: Any) -> ErrorCode:
        code = honest_refusal(*arguments)
        stale = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.INVALID_REQUEST)
        return ErrorCode.NONE if code in stale else code

    return [(CachedPartition, "resolve", resolve), (alter_partition, "refusal", refusal)]


def _unclean_restart_kept() -> list[Patch]:
    """Every stop counts as a clean one."""

    def previous_epoch(self: Lineage) -> int:
        return NO_EPOCH if self._known is None else self._known.epoch

    return [(Lineage, "previous_epoch", property(previous_epoch))]


def _lease_ignored() -> list[Patch]:
    return [(Broker, "holds_lease", lambda self: True)]


def _too_few_in_sync() -> list[Patch]:
    """What the leader alone has is committed, if it is the only one in sync."""

    def count_needed(self: ReplicatedLeader) -> None:
        self.in_sync_min = 1

    return [(ReplicatedLeader, "_count_needed", count_needed)]


def _acknowledged_while_writing() -> list[Patch]:
    """A follower asks for more while its disk still writes what it has."""

    def is_busy(self: Follower) -> bool:
        return self.is_cutting or self.log.blocked is not None

    return [(Follower, "is_busy", property(is_busy))]


BUGS: dict[str, Callable[[], list[Patch]]] = {
    "high watermark too early": _high_watermark_too_early,
    "in-sync set grows too early": _in_sync_too_early,
    "truncation by high watermark": _truncation_by_high_watermark,
    "divergence by offset": _divergence_by_offset,
    "sequence check off": _no_sequence_check,
    "fencing off": _no_fencing,
    "unclean restart kept in the in-sync set": _unclean_restart_kept,
    "lease ignored": _lease_ignored,
    "fewer than min.insync.replicas are enough": _too_few_in_sync,
    "a follower counts what it has not written": _acknowledged_while_writing,
}
