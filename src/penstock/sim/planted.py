"""Planted bugs: each a named mistake that somebody could make, switched on for a run.

A simulator that finds nothing proves nothing. With any of these switched on, some seed among a few must fail; the
tests hold it to that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import JobFiles, Steps
from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.groups.classic.member import Member, Protocols
from penstock.core.log import compaction, flushing, reader, recovery, replay, retention, snapshots
from penstock.core.log.directory import LogDirectory
from penstock.core.log.index_file import IndexFile
from penstock.core.log.log import Log
from penstock.core.log.producers import Producers
from penstock.core.log.scan import Located, walk_to
from penstock.core.log.segment import Segment
from penstock.core.metadata.image import Image
from penstock.core.node.coordination.journal import PartitionJournal
from penstock.core.node.deadlines import Deadlines
from penstock.core.node.fetching.fetch_session import CachedPartition
from penstock.core.node.quorum.raft_log import MetadataLog
from penstock.core.node.quorum.submissions import Submissions
from penstock.core.raft.decisions import Ready
from penstock.core.raft.leader import LeaderState
from penstock.core.raft.member import Member as RaftMember
from penstock.core.raft.outbox import Outbox
from penstock.core.records.batch import BatchHeader

Patch = tuple[object, str, Any]


def planted(name: str) -> AbstractContextManager[None]:
    """Let a bug be there for a while."""
    return planting(BUGS[name]())


@contextmanager
def planting(patches: list[Patch]) -> Iterator[None]:
    """Let patches be there for a while."""
    before = [(owner, attribute, getattr(owner, attribute)) for owner, attribute, _ in patches]
    for owner, attribute, value in patches:
        setattr(owner, attribute, value)
    try:
        yield
    finally:
        for owner, attribute, value in before:
            setattr(owner, attribute, value)


def _index_not_truncated() -> list[Patch]:
    """A log that was cut keeps the index entries of what was cut off, and readers believe them."""

    def cut(self: IndexFile, size_bytes: int) -> Steps[None]:
        yield from self.settle()

    honest_replace = IndexFile.replace

    def replace(self: IndexFile, entries: bytes) -> Steps[None]:
        if self.stored_bytes <= len(entries):
            yield from honest_replace(self, entries)

    def locate(log: Log, segment: Segment, offset: int) -> Steps[Located | None]:
        position = yield from segment.offsets.lookup(offset)
        return (yield from walk_to(segment.log, position, segment.size_bytes, offset))

    return [(IndexFile, "cut", cut), (IndexFile, "replace", replace), (reader, "locate", locate)]


def _sequence_check_off() -> list[Patch]:
    """Nobody looks at sequence numbers."""

    def check(self: Producers, header: BatchHeader) -> None:
        return None

    return [(Producers, "check", check)]


def _ack_before_write() -> list[Patch]:
    """What was handed to the disk counts as Written."""
    honest = Log._await_write

    def await_write(self: Log, *arguments: Any) -> None:
        honest(self, *arguments)
        self.written_offset = self.end_offset

    return [(Log, "_await_write", await_write)]


def _ack_before_sync() -> list[Patch]:
    """A flush moves the recovery point without having synced anything."""

    def sync_segments(log: Log, end_offset: int, in_flight: bool) -> Steps[bool]:
        yield from ()
        return True

    return [(flushing, "_sync_segments", sync_segments)]


def _snapshot_ahead_of_log() -> list[Patch]:
    """Producer snapshots are stored before the records they count, and believed wherever the log ends."""
    honest_roll = Log.roll

    def roll(self: Log, now_ms: int) -> Segment:
        segment = honest_roll(self, now_ms)
        offset = segment.base_offset
        data = self.pending_snapshots.pop(offset)
        self.snapshot_offsets.append(offset)
        self.context.tasks.run(snapshots.write(self.dir, offset, data), lambda _: None)
        return segment

    def drop_snapshots(log: Log, above_offset: int) -> Steps[None]:
        yield from ()

    def newest_snapshot(folder: str, offsets: list[int], upto_offset: int) -> Steps[tuple[Producers, int]]:
        for offset in sorted(offsets, reverse=True):
            producers = yield from snapshots.read(folder, offset)
            if producers is not None:
                return producers, offset
        return Producers(), 0

    return [
        (Log, "roll", roll),
        (recovery, "_drop_snapshots", drop_snapshots),
        (replay, "_newest_snapshot", newest_snapshot),
    ]


def _stale_session() -> list[Patch]:
    """A session misses what happens between two of its fetches."""
    honest = CachedPartition.news

    def news(self: CachedPartition, size: int) -> None:
        if self.session.parked is not None:
            honest(self, size)

    return [(CachedPartition, "news", news)]


def _memory_of_one_batch() -> list[Patch]:
    """A log that is opened remembers only the last batch of each producer, though it has just read all of them."""
    honest = recovery._finish

    def finish(log: Log, *arguments: Any) -> Steps[None]:
        yield from honest(log, *arguments)
        for _, producer in log.producers.items():
            del producer.marks[:-1]

    return [(recovery, "_finish", finish)]


def _retention_takes_too_much() -> list[Patch]:
    """Whatever is sealed is taken, however new it is and however little there is."""

    def count_expired(log: Log, now_ms: int, upto_offset: int) -> Steps[int]:
        yield from ()
        return len(log.segments) - 1 if log.settings.retention_ms >= 0 or log.settings.retention_bytes >= 0 else 0

    return [(retention, "_count_expired", count_expired)]


def _retention_sleeps() -> list[Patch]:
    """Nothing is ever taken."""

    def count_expired(log: Log, now_ms: int, upto_offset: int) -> Steps[int]:
        yield from ()
        return 0

    return [(retention, "_count_expired", count_expired)]


def _start_not_stored() -> list[Patch]:
    """The start of a log is forgotten by a clean stop."""

    def checkpoint_starts(self: LogDirectory) -> Steps[None]:
        yield from ()

    return [(LogDirectory, "checkpoint_starts", checkpoint_starts)]


def _compaction_forgets_a_key() -> list[Patch]:
    """The map of latest offsets loses a key, and with it the record."""
    honest = compaction.build_map

    def build_map(files: JobFiles, plan: compaction.Plan) -> tuple[compaction.OffsetMap, int]:
        latest, end_offset = honest(files, plan)
        if len(latest) > 1:
            latest.popitem()
        return latest, end_offset

    return [(compaction, "build_map", build_map)]


def _commit_before_write() -> list[Patch]:
    """A coordinator answers before its records are Written."""

    def when_committed(self: PartitionJournal, next_offset: int, call: Callable[[ErrorCode], None]) -> None:
        call(ErrorCode.NONE)

    return [(PartitionJournal, "when_committed", when_committed)]


def _static_loses_its_place() -> list[Patch]:
    """Whoever takes over a static member's place finds it empty."""
    honest = ClassicGroup.rename_static

    def rename_static(self: ClassicGroup, member: Member, new_id: str) -> None:
        honest(self, member, new_id)
        self.assign(member, b"")

    return [(ClassicGroup, "rename_static", rename_static)]


def _ghost_is_heard() -> list[Patch]:
    """A static member's old process may speak for the new one."""
    honest = ClassicGroup.check_generation

    def check_generation(self: ClassicGroup, member_id: str, instance_id: str | None, generation: int) -> Member:
        current_id = member_id if instance_id is None else self.static_ids.get(instance_id, member_id)
        return honest(self, current_id, instance_id, generation)

    return [(ClassicGroup, "check_generation", check_generation)]


def _old_claims_count() -> list[Patch]:
    """A member that joins again is known by what it said the first time."""

    def change_protocols(self: ClassicGroup, member: Member, protocols: Protocols) -> None:
        return None

    return [(ClassicGroup, "change_protocols", change_protocols)]


def _waits_by_the_wall_clock() -> list[Patch]:
    """Deadlines are hours of the day: whoever waits when the clock is set back waits for that hour."""

    def shift(self: Deadlines, step_ms: int) -> None:
        return None

    return [(Deadlines, "shift", shift)]


def _reborn_keeps_its_log() -> list[Patch]:
    """The log of a deleted topic stays, and is found when the topic is created again."""

    def discard(self: LogDirectory, log: Log) -> None:
        pass

    return [(LogDirectory, "discard", discard)]


def _vote_not_synced() -> list[Patch]:
    """A vote is told while it is still on its way to the disk."""

    def take(self: Outbox, *, flush: bool) -> Ready:
        ready, self.ready = self.ready, Ready()
        ready.flush = flush
        if self._saving is None and not self.is_free_to_speak:
            ready.save = self._saving = self._wanted
        return ready

    return [(Outbox, "take", take)]


def _metadata_counted_unsynced() -> list[Patch]:
    """A replica says that it has what it has only written."""
    return [(MetadataLog, "synced_offset", property(lambda self: self.end_offset))]


def _one_voter_is_a_majority() -> list[Patch]:
    """What the leader has counts as committed."""

    def advance(self: LeaderState) -> bool:
        offset = max(progress.end_offset for progress in self.voters.values())
        if offset <= max(self.high_watermark, self.epoch_start_offset):
            return False
        self.high_watermark = offset
        return True

    return [(LeaderState, "_advance", advance)]


def _leader_begins_with_a_stale_image() -> list[Patch]:
    """A new leader decides on what it decided last, whatever others have decided since."""
    honest = Submissions.rebase

    def rebase(self: Submissions, image: Image) -> None:
        latest = self.uncommitted_image
        honest(self, image)
        if latest.offset >= 0:
            self.uncommitted_image = latest

    return [(Submissions, "rebase", rebase)]


def _unmade_file_synced() -> list[Patch]:
    """A flush syncs whatever is not synced, whether its file has been made yet or not."""

    def unsynced(log: Log, end_offset: int) -> list[Segment]:
        return [segment for segment in log.segments if not segment.is_durable]

    return [
        (flushing, "_unsynced", unsynced),
        (Log, "written_bytes", lambda self, segment: segment.size_bytes),
    ]


def _votes_without_its_metadata() -> list[Patch]:
    """A voter whose metadata was lost votes, runs and counts at once."""
    return [(RaftMember, "is_rebuilding", property(lambda self: False))]


BUGS: dict[str, Callable[[], list[Patch]]] = {
    "index not truncated": _index_not_truncated,
    "sequence check off": _sequence_check_off,
    "ack before write": _ack_before_write,
    "ack before sync": _ack_before_sync,
    "snapshot ahead of log": _snapshot_ahead_of_log,
    "memory of one batch": _memory_of_one_batch,
    "stale session": _stale_session,
    "retention takes too much": _retention_takes_too_much,
    "retention sleeps": _retention_sleeps,
    "start not stored": _start_not_stored,
    "compaction forgets a key": _compaction_forgets_a_key,
    "unmade file synced": _unmade_file_synced,
    "commit before write": _commit_before_write,
    "static loses its place": _static_loses_its_place,
    "ghost is heard": _ghost_is_heard,
    "old claims count": _old_claims_count,
    "waits by the wall clock": _waits_by_the_wall_clock,
    "reborn keeps its log": _reborn_keeps_its_log,
    "vote not synced": _vote_not_synced,
    "metadata counted unsynced": _metadata_counted_unsynced,
    "one voter is a majority": _one_voter_is_a_majority,
    "votes without its metadata": _votes_without_its_metadata,
    "leader begins with a stale image": _leader_begins_with_a_stale_image,
}
"""Every bug by its name."""

LOG_BUGS = (
    "index not truncated",
    "sequence check off",
    "ack before write",
    "ack before sync",
    "snapshot ahead of log",
    "memory of one batch",
)
"""Those that the log alone can show."""

NODE_BUGS = (
    "sequence check off",
    "ack before write",
    "ack before sync",
    "stale session",
    "retention takes too much",
    "retention sleeps",
    "start not stored",
    "compaction forgets a key",
    "unmade file synced",
    "commit before write",
    "static loses its place",
    "ghost is heard",
    "old claims count",
    "waits by the wall clock",
    "reborn keeps its log",
)
"""Those that show through the whole node."""

QUORUM_BUGS = (
    "vote not synced",
    "metadata counted unsynced",
    "one voter is a majority",
    "leader begins with a stale image",
)
"""Those that several voters show."""

LOSING_BUGS = ("votes without its metadata",)
"""Those that voters show whose metadata is lost."""
