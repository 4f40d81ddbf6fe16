"""Planted bugs that only a cluster can show: mistakes in replication, in elections, and in what outlives a process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.core.base.ports import Steps
from penstock.core.log.log import Log
from penstock.core.log.producers import Producers
from penstock.core.metadata import departures, registration
from penstock.core.metadata.image import PartitionImage
from penstock.core.metadata.partition_change import Election, PartitionChange
from penstock.core.metadata.rules import TopicRules
from penstock.core.metadata.sweep import Sweep
from penstock.core.node.lineage import Lineage
from penstock.core.node.registrar import Registrar
from penstock.core.node.replication import Replication
from penstock.core.node.views import Interest
from penstock.core.partition import replicated
from penstock.core.partition.divergence import EpochEnd
from penstock.core.partition.fetcher import Fetcher, Key
from penstock.core.partition.follower import Position
from penstock.core.partition.remote import Remote
from penstock.core.partition.replicated import ReplicatedLeader
from penstock.core.records.batch import BatchHeader
from penstock.core.wire.api.fetch import FetchableTopicResponse
from penstock.core.wire.stored.cluster_metadata import PartitionChangeRecord
from penstock.sim.planted import BUGS, Patch


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


def _watermark_goes_back() -> list[Patch]:
    """A leader takes for committed what everybody has now, and forgets what everybody had."""
    honest = ReplicatedLeader.advance

    def advance(self: ReplicatedLeader) -> None:
        honest(self)
        self.high_watermark = min(self.high_watermark, max(self._committed(self.counted_end), self.log.start_offset))

    return [(ReplicatedLeader, "advance", advance)]


def _in_sync_too_early() -> list[Patch]:
    """Whoever fetches is in sync."""
    return [(ReplicatedLeader, "_may_join", lambda self, remote: True)]


def _end_told_too_early() -> list[Patch]:
    """A new leader says where the partition ends before it knows what is committed."""
    return [(ReplicatedLeader, "check_settled", lambda self: None)]


def _unclean_restart_kept() -> list[Patch]:
    """However a process ended, the next one keeps its place in every in-sync set."""
    honest = departures.returning

    def returning(*arguments: Any, was_clean: bool, **options: Any) -> Sweep:
        return honest(*arguments, was_clean=True, **options)

    return [(registration, "returning", returning)]


def _boot_id_ignored() -> list[Patch]:
    """A machine that lost its power is taken for one whose process was killed."""
    honest = Lineage._read

    def read(self: Lineage) -> Steps[tuple[str | None, list[str]]]:
        _, names = yield from honest(self)
        return self._boot_id, names

    return [(Lineage, "_read", read)]


def _unclean_elections() -> list[Patch]:
    """Where nobody is left who has everything, anybody may lead, though no setting says so."""
    honest = PartitionChange.__init__

    def begin(
        self: PartitionChange, rules: TopicRules, before: PartitionImage, election: Election | None = None
    ) -> None:
        honest(self, rules, before, election)
        self.election = Election.UNCLEAN if self.election is Election.ONLINE else self.election

    return [(PartitionChange, "__init__", begin)]


def _epoch_not_raised() -> list[Patch]:
    """Another leader goes on in the epoch of the one before."""
    honest = PartitionImage.merged

    def merged(self: PartitionImage, record: PartitionChangeRecord) -> PartitionImage:
        return honest(self, record)._replace(leader_epoch=self.leader_epoch)

    return [(PartitionImage, "merged", merged)]


def _lease_ignored() -> list[Patch]:
    """A leader trusts in leading, however long it has not heard of a controller."""
    return [(Registrar, "holds_lease", lambda self: True)]


def _deaf_session() -> list[Patch]:
    """A consumer's session hears nothing of what is committed after it began."""
    honest = Interest.news

    def news(self: Interest, size: int) -> None:
        if self.view.replica is not None or not self.view.session_id:
            honest(self, size)

    return [(Interest, "news", news)]


def _answer_void_after_retention() -> list[Patch]:
    """An answer counts only if the follower's log still begins where it began when it was asked for, and the leader is
    not told that it does not."""

    def take_topic(
        self: Fetcher, topic: FetchableTopicResponse, known: dict[Key, Position | None], now_ms: int
    ) -> None:
        for data in topic.partitions:
            key = topic.topic_id, data.partition_index
            follower = self._followers.get(key)
            if follower is not None and follower.position == known.get(key):
                self._take(key, follower, data, now_ms)

    return [(Fetcher, "_take_topic", take_topic)]


def _who_left_is_waited_for() -> list[Patch]:
    """A leader forgets who is silent, and that somebody has left: who has seems to be about to join."""
    honest = Replication._listen

    def listen(self: Replication, due_ms: int) -> None:
        self.around.silent = frozenset()
        honest(self, due_ms)

    return [(Replication, "_listen", listen), (Remote, "left", lambda self: None)]


CLUSTER_BUGS: dict[str, Callable[[], list[Patch]]] = {
    "watermark too early": _watermark_too_early,
    "watermark goes back": _watermark_goes_back,
    "divergence unseen": _divergence_unseen,
    "sequence check off": _sequence_check_off,
    "in-sync set grows too early": _in_sync_too_early,
    "end told too early": _end_told_too_early,
    "answer void after retention": _answer_void_after_retention,
    "unclean restart kept in sync": _unclean_restart_kept,
    "boot id ignored": _boot_id_ignored,
    "unclean elections": _unclean_elections,
    "epoch not raised": _epoch_not_raised,
    "lease ignored": _lease_ignored,
    "deaf session": _deaf_session,
    "who left is waited for": _who_left_is_waited_for,
    **{
        name: BUGS[name]
        for name in ("commit before write", "one voter is a majority", "leader begins with a stale image")
    },
}
"""Every bug by its name."""
