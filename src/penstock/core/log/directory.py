"""A data folder: every partition's log in it, the checkpoints they share, and the mark of a clean stop."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterable
from dataclasses import replace as replace_fields
from functools import partial
from typing import Final, NamedTuple

from penstock.core.base.ports import (
    Append,
    Entry,
    File,
    FileFailure,
    ListDir,
    MakeDir,
    Pause,
    Steps,
    Unlink,
)
from penstock.core.log import checkpoints, damage
from penstock.core.log.checkpoints import Offsets
from penstock.core.log.damage import Damage, DamagedLog, cut_anyway
from penstock.core.log.deferred_delete import DeferredDelete, unlink_folder
from penstock.core.log.durable import sync_file, sync_folder, write_anew
from penstock.core.log.flushing import settle_owner
from penstock.core.log.lockstep import SINGLE_SYNCS_MAX, side_by_side
from penstock.core.log.log import Log
from penstock.core.log.names import (
    CLEAN_MARK_FILE,
    CLEANER_FILE,
    DELETED_DIR,
    HIGH_WATERMARKS_FILE,
    LOG_STARTS_FILE,
    METADATA_TOPIC,
    PARTITION_FILE,
    RECOVERY_POINTS_FILE,
    parse_folder,
)
from penstock.core.log.partition_file import decode_topic_id, encode_topic_id
from penstock.core.log.recovery import CheckpointedState, open_log
from penstock.core.log.settings import LogContext, LogSettings, nothing_to_do
from penstock.core.log.stored_offsets import StoredOffsets
from penstock.core.log.strays import Note, parse_stray

_NO_BROKER_EPOCH: Final = -1


class Offline(NamedTuple):
    """A log that was found damaged and is not open: its files are as they were found."""

    damage: Damage
    standing: CheckpointedState
    topic_id: bytes | None


class LogDirectory:
    """The logs of one folder by (topic, partition), and those that could not be opened."""

    __slots__ = (
        "_context",
        "_stored",
        "broker_epoch",
        "deferred_delete",
        "high_watermarks",
        "logs",
        "offline",
        "root",
        "was_clean",
    )

    def __init__(self, root: str, context: LogContext) -> None:
        self.root = root
        self._context = replace_fields(context, after_cut=self._lower)
        self._stored = StoredOffsets(root)
        self.logs: dict[tuple[str, int], Log] = {}
        self.offline: dict[tuple[str, int], Offline] = {}
        self.deferred_delete = DeferredDelete(root, context.tasks)
        # What the last run left behind: whether it stopped cleanly, its broker epoch, the high watermarks it knew.
        self.was_clean = False
        self.broker_epoch = _NO_BROKER_EPOCH
        self.high_watermarks: Offsets = {}

    def __contains__(self, key: object) -> bool:
        return key in self.logs or key in self.offline

    def load(
        self, settings_for: Callable[[str], LogSettings], now_ms: int, *, went_on: bool = False
    ) -> Steps[dict[tuple[str, int], Log]]:
        """Open every log in the folder, recovering those that need it. `went_on`: the machine did, since the last
        process, and has all that this one had Written. A log that is damaged is left as it is, and the others open."""
        entries = yield from self._list_root()
        yield from self.read_clean_mark()
        yield from self._remove_clean_mark()
        points = yield from self._stored.read(RECOVERY_POINTS_FILE)
        starts = yield from self._stored.read(LOG_STARTS_FILE)
        cleaned = yield from self._stored.read(CLEANER_FILE)
        self.high_watermarks = yield from self._stored.read(HIGH_WATERMARKS_FILE)
        for entry in entries:
            if entry.is_dir and entry.name.endswith(DELETED_DIR):
                yield from unlink_folder(f"{self.root}/{entry.name}")
            if entry.is_dir and parse_stray(entry.name) is not None:
                self.deferred_delete.strays.add(entry.name)
            key = parse_folder(entry.name) if entry.is_dir else None
            if key is not None and key[0] != METADATA_TOPIC:
                standing = CheckpointedState(
                    self.was_clean, points.get(key, 0), starts.get(key, 0), cleaned.get(key), went_on
                )
                yield from self._open_if_whole(key, settings_for(key[0]), standing, now_ms)
        for log in self.logs.values():
            yield from self._lower(log)
        return self.logs

    def _list_root(self) -> Steps[list[Entry]]:
        """What is in the folder, which is made, for good, if it is not there."""
        try:
            entries: list[Entry] = yield ListDir(self.root)
        except FileFailure as failure:
            if failure.errno != errno.ENOENT:
                raise
            yield MakeDir(self.root)
            yield from sync_folder(self.root.rpartition("/")[0] or "/")
            return []
        return entries

    def _open_if_whole(
        self, key: tuple[str, int], settings: LogSettings, standing: CheckpointedState, now_ms: int
    ) -> Steps[None]:
        try:
            yield from self._open(key, settings, standing, now_ms, self._context)
        except DamagedLog as error:
            folder = self._folder(*key)
            yield from damage.mark(folder, error.damage)
            self.offline[key] = Offline(error.damage, standing, (yield from _owner_of(folder)))

    def cut(self, key: tuple[str, int], settings: LogSettings, now_ms: int) -> Steps[Log]:
        """Open a damaged log as far as it is good: whoever asks for this knows where the rest is."""
        standing = self.offline[key].standing._replace(suspect_offset=self.offline[key].damage.first_offset)
        context = replace_fields(self._context, before_loss=nothing_to_do, on_damage=cut_anyway)
        yield from self._open(key, settings, standing, now_ms, context)
        del self.offline[key]
        log = self.logs[key]
        yield from self._lower(log)
        return log

    def _open(
        self, key: tuple[str, int], settings: LogSettings, standing: CheckpointedState, now_ms: int, context: LogContext
    ) -> Steps[None]:
        folder = self._folder(*key)
        log = yield from open_log(*key, folder, settings, context, standing, now_ms)
        log.context = self._context
        log.topic_id = yield from _owner_of(folder)
        if not standing.clean and log.topic_id is not None:
            # The last run may have ended before it synced this, or any name in the folder.
            log.is_new = log.names_changed = True
            if settings.flush_messages == 1:
                # What was read again may be shown again, and what is shown of such a topic lasts.
                yield from settle_owner(log)
        self.logs[key] = log
        yield Pause()

    def read_clean_mark(self) -> Steps[None]:
        """Find out how the last run ended."""
        data = yield from checkpoints.read_file(f"{self.root}/{CLEAN_MARK_FILE}")
        self.was_clean = data is not None
        try:
            self.broker_epoch = int(json.loads(data or b"")["brokerEpoch"])
        except (ValueError, KeyError, TypeError):
            self.broker_epoch = _NO_BROKER_EPOCH

    def _remove_clean_mark(self) -> Steps[None]:
        """For good, and before anything changes: from now on a stop is unclean until proven. Where there is no mark,
        folders made by the last run may have no lasting name yet, and nobody would ask for it again."""
        if self.was_clean:
            yield Unlink(File(f"{self.root}/{CLEAN_MARK_FILE}"))
        yield from sync_folder(self.root)

    def _folder(self, topic: str, partition: int) -> str:
        assert topic != METADATA_TOPIC, "the metadata log belongs to the quorum alone"
        return f"{self.root}/{topic}-{partition}"

    def create_all(
        self, topic: str, topic_id: bytes, partitions: Iterable[int], settings: LogSettings, now_ms: int
    ) -> Steps[list[Log | FileFailure]]:
        """New, empty logs of one topic."""
        partitions = list(partitions)
        # Each waits for its name, too; all of them would keep the disk's threads busy with it.
        yield from self.deferred_delete.free(topic, partitions)
        create = partial(self.create, topic, topic_id, settings=settings, now_ms=now_ms)
        return (yield from side_by_side(self.root, map(create, partitions)))

    def create(self, topic: str, topic_id: bytes, partition: int, settings: LogSettings, now_ms: int) -> Steps[Log]:
        """A new, empty log. Nothing is synced yet: the first flush that counts makes the folder's name and its owner's
        id last too, and until then a power loss leaves no more than an empty partition, which is what it is."""
        yield from self.deferred_delete.free(topic, (partition,))
        yield from self._stored.forget((topic, partition), self)
        self.high_watermarks.pop((topic, partition), None)
        folder = self._folder(topic, partition)
        log = Log(topic, partition, folder, settings, self._context, now_ms)
        log.topic_id = topic_id
        log.is_new = log.names_changed = True
        yield MakeDir(folder)
        yield from write_anew(File(f"{folder}/{PARTITION_FILE}"), encode_topic_id(topic_id))
        # Not before: half a log is none, and whoever goes through all of them would sync what is not there yet.
        self.logs[topic, partition] = log
        return log

    def discard(self, log: Log) -> None:
        """Take a log away; its files go in the background."""
        assert log.topic != METADATA_TOPIC, "the metadata log belongs to the quorum alone"
        del self.logs[log.topic, log.partition]
        self.deferred_delete.add(log)

    def set_aside(self, log: Log, why: str) -> None:
        """Take a log away, and keep all that it has under another name."""
        assert log.topic != METADATA_TOPIC, "the metadata log belongs to the quorum alone"
        del self.logs[log.topic, log.partition]
        note = Note(log.topic, log.partition, log.start_offset, log.end_offset, why)
        self.deferred_delete.set_aside(log, note)

    def discard_offline(self, key: tuple[str, int], settings: LogSettings) -> None:
        """The same as `discard` for one that is not open."""
        self.deferred_delete.add(self._take_offline(key, settings)[0])

    def set_aside_offline(self, key: tuple[str, int], settings: LogSettings, why: str) -> None:
        """The same as `set_aside` for one that is not open."""
        log, offline = self._take_offline(key, settings)
        note = Note(*key, offline.standing.start_offset, offline.damage.end_offset, f"{why}; it is damaged")
        self.deferred_delete.set_aside(log, note)

    def _take_offline(self, key: tuple[str, int], settings: LogSettings) -> tuple[Log, Offline]:
        log = Log(*key, self._folder(*key), settings, self._context, now_ms=0)
        offline = self.offline.pop(key)
        log.topic_id = offline.topic_id
        return log, offline

    def checkpoint(self, high_watermarks: Callable[[], Offsets] | None = None) -> Steps[None]:
        """Store everything that logs share, as far as it changed."""
        yield from self.checkpoint_ends(high_watermarks)
        yield from self.checkpoint_starts()

    def checkpoint_ends(self, high_watermarks: Callable[[], Offsets] | None = None) -> Steps[None]:
        """Store recovery points, cleaned offsets and high watermarks."""
        yield from self._stored.write(RECOVERY_POINTS_FILE, self._recovery_points)
        yield from self._stored.write(CLEANER_FILE, self._cleaned)
        if high_watermarks is not None:
            yield from self._stored.write(HIGH_WATERMARKS_FILE, partial(self._with_offline, high_watermarks))

    def checkpoint_starts(self) -> Steps[None]:
        """Store the start offsets that lie within a segment."""
        yield from self._stored.write(LOG_STARTS_FILE, self._starts)

    def _lower(self, log: Log) -> Steps[None]:
        """A log has lost its end, or was opened without some of it."""
        key = log.topic, log.partition
        log.lower_cleaned()
        yield from self._stored.lower(CLEANER_FILE, key, log.cleaned_offset or 0, self._cleaned)
        yield from self._stored.lower(RECOVERY_POINTS_FILE, key, log.synced_offset, self._recovery_points)
        yield from self._stored.lower(LOG_STARTS_FILE, key, log.start_offset, self._starts)

    # What is stored of logs that are not open stays as it is.

    def _recovery_points(self) -> Offsets:
        stored = {key: each.standing.recovery_point for key, each in self.offline.items()}
        return stored | {key: log.synced_offset for key, log in self.logs.items()}

    def _cleaned(self) -> Offsets:
        standings = {key: each.standing for key, each in self.offline.items()}
        stored = {key: each.cleaned_offset for key, each in standings.items() if each.cleaned_offset is not None}
        return stored | {key: log.cleaned_offset for key, log in self.logs.items() if log.cleaned_offset is not None}

    def _starts(self) -> Offsets:
        stored = {key: each.standing.start_offset for key, each in self.offline.items() if each.standing.start_offset}
        logs = self.logs.items()
        return stored | {key: log.start_offset for key, log in logs if log.start_offset > log.segments[0].base_offset}

    def _with_offline(self, high_watermarks: Callable[[], Offsets]) -> Offsets:
        known = self.high_watermarks
        return {key: known[key] for key in self.offline if key in known} | high_watermarks()

    def settle_owners(self) -> Steps[None]:
        """Make it last which topics the folders of new logs belong to, a few at a time: nobody waits for it."""
        new = [log for log in self.logs.values() if log.is_new]
        for at in range(0, len(new), SINGLE_SYNCS_MAX):
            yield from side_by_side(self.root, map(settle_owner, new[at : at + SINGLE_SYNCS_MAX]))
            yield Pause()

    def adopt(self, log: Log, topic_id: bytes) -> Steps[bool]:
        """Give a log without an owner to the topic of its name, if anything in it was ever synced. If nothing was, a
        power loss took the owner, and what it left may be from an older topic of that name."""
        if not (self.was_clean or log.synced_offset):
            return False
        yield from checkpoints.replace(f"{log.dir}/{PARTITION_FILE}", encode_topic_id(topic_id))
        log.topic_id = topic_id
        log.is_new = log.names_changed = True
        return True

    def close(self, high_watermarks: Callable[[], Offsets] | None = None, broker_epoch: int = -1) -> Steps[None]:
        """Close every log; the mark of a clean stop comes last, and only if all of them could be closed."""
        yield from self.deferred_delete.settle()
        for outcome in (yield from side_by_side(self.root, [log.close() for log in self.logs.values()])):
            if isinstance(outcome, FileFailure):
                raise outcome
        yield from self.checkpoint(high_watermarks)
        if any(log.failure is not None for log in self.logs.values()):
            return
        mark = File(f"{self.root}/{CLEAN_MARK_FILE}")
        yield Append(mark, json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":")).encode())
        yield from sync_file(mark)
        yield from sync_folder(self.root)


def _owner_of(folder: str) -> Steps[bytes | None]:
    return decode_topic_id((yield from checkpoints.read_file(f"{folder}/{PARTITION_FILE}")))
