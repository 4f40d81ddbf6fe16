"""Planted bugs that only a cluster can show: mistakes in replication, in elections, and in what outlives a process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.core.base.ports import Steps
from penstock.core.log.checkpoints import read_file
from penstock.core.log.log import Log
from penstock.core.log.names import METADATA_TOPIC
from penstock.core.log.producers import Producers
from penstock.core.metadata import broker_fencing, registration, topics
from penstock.core.metadata.brokers import BrokerImage
from penstock.core.metadata.image import Image, PartitionImage
from penstock.core.metadata.partition_change import Election, PartitionChange
from penstock.core.metadata.rules import TopicRules
from penstock.core.metadata.sweep import Sweep
from penstock.core.node.fetching.fetch_session import CachedPartition
from penstock.core.node.membership.broker_lifecycle import BrokerLifecycle
from penstock.core.node.replication.replication import Replication
from penstock.core.node.serving.admission import Admission
from penstock.core.node.serving.frame_memory import Share
from penstock.core.node.storage import replicas
from penstock.core.node.storage.lineage import Lineage, Note
from penstock.core.partition import replicated
from penstock.core.partition.divergence import EpochEnd
from penstock.core.partition.fetcher import Fetcher, Key
from penstock.core.partition.follower import Position
from penstock.core.partition.partition import Partition
from penstock.core.partition.readers import REPLICA, Reader
from penstock.core.partition.replica_state import ReplicaState
from penstock.core.partition.replicated import ReplicatedLeader
from penstock.core.raft import electing
from penstock.core.records.batch import BatchHeader
from penstock.core.wire.api.fetch import FetchableTopicResponse
from penstock.core.wire.stored.cluster_metadata import PartitionChangeRecord
from penstock.sim.planted import BUGS, Patch
from penstock.sim.planted_damage import HOSTILE_BUGS, ROT_BUGS, SHORTAGE_BUGS
from penstock.sim.planted_staging import STAGING_BUGS
from penstock.sim.runtime import Memory


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
    honest = broker_fencing.returning

    def returning(*arguments: Any, was_clean: bool, **options: Any) -> Sweep:
        return honest(*arguments, was_clean=True, **options)

    return [(registration, "returning", returning)]


def _boot_id_ignored() -> list[Patch]:
    """A machine that lost its power is taken for one whose process was killed."""
    return [(Note, "knows", lambda self, name, boot_id: name in self.names), (Memory, "remove", lambda self: None)]


def _note_believed() -> list[Patch]:
    """The note in the folder vouches alone, whatever became of the disk that it is on."""
    honest = Lineage.begin

    def begin(self: Lineage, known: BrokerImage | None, clean_epoch: int) -> Steps[None]:
        outside, self._outside = self._outside, Echo((yield from read_file(self._path)))
        yield from honest(self, known, clean_epoch)
        self._outside = outside

    return [(Lineage, "begin", begin)]


class Echo(Memory):
    """It says what the folder's note says."""

    def __init__(self, data: bytes | None) -> None:
        super().__init__()
        self.data = data


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
    return [(BrokerLifecycle, "holds_lease", lambda self: True)]


def _deaf_session() -> list[Patch]:
    """A consumer's session hears nothing of what is committed after it began."""
    honest = CachedPartition.news

    def news(self: CachedPartition, size: int) -> None:
        if self.session.replica is not None or not self.session.session_id:
            honest(self, size)

    return [(CachedPartition, "news", news)]


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

    return [(Replication, "_listen", listen), (ReplicaState, "left", lambda self: None)]


def _uncommitted_tail_served() -> list[Patch]:
    """A follower gives readers all that it has written."""

    def visible_end(self: Partition, reader: Reader) -> int:
        return self.log.written_offset if reader is REPLICA or not self.leads else self.high_watermark

    return [(Partition, "visible_end", visible_end)]


def _no_bound_on_connections() -> list[Patch]:
    """Whoever dials is let in, however often it does."""
    return [(Admission, "admits", lambda self, host, listener, connections: True)]


def _room_for_every_frame() -> list[Patch]:
    """Whatever begins may go on."""
    return [(Share, "has_room", lambda self, size_bytes: True)]


def _metadata_s_name_free() -> list[Patch]:
    """A topic may have the name of the metadata log, and with it that log's folder."""
    honest = topics.check_new_topic

    def check_new_topic(image: Image, name: str) -> None:
        if name != METADATA_TOPIC:
            honest(image, name)

    return [(topics, "check_new_topic", check_new_topic)]


def _unknown_is_deleted() -> list[Patch]:
    """What the metadata does not know belongs to nobody, and goes."""
    return [(replicas, "why_kept", lambda held, topic: None)]


def _any_epoch_believed() -> list[Patch]:
    """Whoever asks for a vote, or says that it leads, is believed its epoch, be it the last one there is."""
    return [(electing, "EPOCH_JUMP_MAX", 1 << 40)]


def _drains_unheard() -> list[Patch]:
    """Elections know of full disks only."""

    def should_lead(self: TopicRules, broker_id: int) -> bool:
        return not self.image.brokers[broker_id].is_full

    return [(TopicRules, "should_lead", should_lead)]


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
    "note believed": _note_believed,
    "unclean elections": _unclean_elections,
    "epoch not raised": _epoch_not_raised,
    "lease ignored": _lease_ignored,
    "deaf session": _deaf_session,
    "who left is waited for": _who_left_is_waited_for,
    "uncommitted tail served": _uncommitted_tail_served,
    "no bound on connections": _no_bound_on_connections,
    "room for every frame": _room_for_every_frame,
    "metadata's name free": _metadata_s_name_free,
    "any epoch believed": _any_epoch_believed,
    "unknown is deleted": _unknown_is_deleted,
    "drains unheard": _drains_unheard,
    **STAGING_BUGS,
    **ROT_BUGS,
    **HOSTILE_BUGS,
    **SHORTAGE_BUGS,
    **{
        name: BUGS[name]
        for name in (
            "commit before write",
            "one voter is a majority",
            "leader begins with a stale image",
            "compaction forgets a key",
        )
    },
}
"""Every bug by its name."""
