"""A data folder: every partition's log in it, the checkpoints they share, and the mark of a clean stop."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterable
from dataclasses import replace as replace_fields
from functools import partial
from typing import Final

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
from penstock.core.log import checkpoints
from penstock.core.log.checkpoints import Offsets
from penstock.core.log.departures import Departures, unlink_folder
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
    METADATA_DIR,
    PARTITION_FILE,
    RECOVERY_POINTS_FILE,
    parse_folder,
)
from penstock.core.log.partition_file import decode_topic_id, encode_topic_id
from penstock.core.log.recovery import Standing, open_log
from penstock.core.log.settings import LogContext, LogSettings
from penstock.core.log.stored_offsets import StoredOffsets

_NO_BROKER_EPOCH: Final = -1


class LogDirectory:
    """The logs of one folder by (topic, partition)."""

    __slots__ = (
        "_context",
        "_stored",
        "broker_epoch",
        "departures",
        "high_watermarks",
        "logs",
        "root",
        "was_clean",
    )

    def __init__(self, root: str, context: LogContext) -> None:
        self.root = root
        self._context = replace_fields(context, after_cut=self._lower)
        self._stored = StoredOffsets(root)
        self.logs: dict[tuple[str, int], Log] = {}
        self.departures = Departures(root, context.tasks)
        # What the last run left behind: whether it stopped cleanly, its broker epoch, the high watermarks it knew.
        self.was_clean = False
        self.broker_epoch = _NO_BROKER_EPOCH
        self.high_watermarks: Offsets = {}

    def load(self, settings_for: Callable[[str], LogSettings], now_ms: int) -> Steps[dict[tuple[str, int], Log]]:
        """Open every log in the folder, recovering those that need it."""
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
            key = parse_folder(entry.name) if entry.is_dir and entry.name != METADATA_DIR else None
            if key is not None:
                standing = Standing(self.was_clean, points.get(key, 0), starts.get(key, 0), cleaned.get(key))
                yield from self._open(key, settings_for(key[0]), standing, now_ms)
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

    def _open(self, key: tuple[str, int], settings: LogSettings, standing: Standing, now_ms: int) -> Steps[None]:
        folder = self._folder(*key)
        log = yield from open_log(*key, folder, settings, self._context, standing, now_ms)
        log.topic_id = decode_topic_id((yield from checkpoints.read_file(f"{folder}/{PARTITION_FILE}")))
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
        return f"{self.root}/{topic}-{partition}"

    def create_all(
        self, topic: str, topic_id: bytes, partitions: Iterable[int], settings: LogSettings, now_ms: int
    ) -> Steps[list[Log | FileFailure]]:
        """New, empty logs of one topic."""
        partitions = list(partitions)
        # Each waits for its name, too; all of them would keep the disk's threads busy with it.
        yield from self.departures.free(topic, partitions)
        create = partial(self.create, topic, topic_id, settings=settings, now_ms=now_ms)
        return (yield from side_by_side(self.root, map(create, partitions)))

    def create(self, topic: str, topic_id: bytes, partition: int, settings: LogSettings, now_ms: int) -> Steps[Log]:
        """A new, empty log. Nothing is synced yet: the first flush that counts makes the folder's name and its owner's
        id last too, and until then a power loss leaves no more than an empty partition, which is what it is."""
        yield from self.departures.free(topic, (partition,))
        yield from self._stored.forget((topic, partition), self.logs)
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
        del self.logs[log.topic, log.partition]
        self.departures.add(log)

    def checkpoint(self, high_watermarks: Callable[[], Offsets] | None = None) -> Steps[None]:
        """Store everything that logs share, as far as it changed."""
        yield from self.checkpoint_ends(high_watermarks)
        yield from self.checkpoint_starts()

    def checkpoint_ends(self, high_watermarks: Callable[[], Offsets] | None = None) -> Steps[None]:
        """Store recovery points, cleaned offsets and high watermarks."""
        yield from self._stored.write(RECOVERY_POINTS_FILE, self._recovery_points)
        yield from self._stored.write(CLEANER_FILE, self._cleaned)
        if high_watermarks is not None:
            yield from self._stored.write(HIGH_WATERMARKS_FILE, high_watermarks)

    def checkpoint_starts(self) -> Steps[None]:
        """Store the start offsets that lie within a segment."""
        yield from self._stored.write(LOG_STARTS_FILE, self._starts)

    def _lower(self, log: Log) -> Steps[None]:
        """A log has lost its end, or was opened without some of it."""
        key = log.topic, log.partition
        yield from self._stored.lower(RECOVERY_POINTS_FILE, key, log.synced_offset, self._recovery_points)
        yield from self._stored.lower(LOG_STARTS_FILE, key, log.start_offset, self._starts)

    def _recovery_points(self) -> Offsets:
        return {key: log.synced_offset for key, log in self.logs.items()}

    def _cleaned(self) -> Offsets:
        return {key: log.cleaned_offset for key, log in self.logs.items() if log.cleaned_offset is not None}

    def _starts(self) -> Offsets:
        logs = self.logs.items()
        return {key: log.start_offset for key, log in logs if log.start_offset > log.segments[0].base_offset}

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
