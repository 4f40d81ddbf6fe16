"""Logs of partitions made of a backup's chunks: each chunk becomes a segment, and the node's own recovery reads all of
it, makes the indexes and says where the log ends. A log that does not end where it was cut is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from penstock.cli.talk import Refused
from penstock.core.base.ports import Append, File, Files, MakeDir, Pause, Steps
from penstock.core.base.settings import BrokerSettings, TopicSettings
from penstock.core.base.steps import Tasks
from penstock.core.log.checkpoints import read_offsets, write_offsets
from penstock.core.log.directory import LogDirectory
from penstock.core.log.durable import sync_file, sync_folder, write_anew
from penstock.core.log.index_file import IndexCache
from penstock.core.log.names import LOG, LOG_STARTS_FILE, PARTITION_FILE, RECOVERY_POINTS_FILE, path_of
from penstock.core.log.partition_file import encode_topic_id
from penstock.core.log.settings import LogContext
from penstock.core.metadata.image import TOPIC_RESOURCE, Image

INDEX_CACHE_BYTES = 8 << 20
Key = tuple[str, int]


class Piece(NamedTuple):
    """A segment: where it begins, where its last batch ends, and how to get its bytes."""

    base_offset: int
    end: int
    read: Callable[[], bytes]


class LogPlan(NamedTuple):
    """What one partition's log is to be."""

    topic_id: bytes
    start: int
    end: int
    pieces: Sequence[Piece]

    @property
    def last(self) -> int:
        """Where the last batch ends. Behind that there may be a gap: compaction takes the last batches below a cut."""
        return self.pieces[-1].end if self.pieces else self.end

    @property
    def is_new(self) -> bool:
        """As a log is that was never written to, which the node makes by itself."""
        return not self.end


class NodeLogs:
    """The logs of one node's folder."""

    def __init__(self, root: str, image: Image, settings: BrokerSettings, plans: Mapping[Key, LogPlan], now_ms: int):
        self._root = root
        self._image = image
        self._settings = settings
        self._plans = {key: plan for key, plan in plans.items() if not plan.is_new}
        self._now_ms = now_ms

    def write(self, files: Files) -> Steps[None]:
        """All of them, closed as by a clean stop."""
        for key, plan in self._plans.items():
            yield from self._write_log(key, plan)
        starts = {key: plan.start for key, plan in self._plans.items() if plan.start}
        yield from write_offsets(f"{self._root}/{LOG_STARTS_FILE}", starts)
        yield from self._open(files, {key: plan.last for key, plan in self._plans.items()})
        gaps = {key: plan.end for key, plan in self._plans.items() if plan.last < plan.end}
        if gaps:
            yield from self._leave_gaps(gaps)
            yield from self._open(files, {key: plan.end for key, plan in self._plans.items()})

    def _folder(self, key: Key) -> str:
        return f"{self._root}/{key[0]}-{key[1]}"

    def _write_log(self, key: Key, plan: LogPlan) -> Steps[None]:
        folder = self._folder(key)
        yield MakeDir(folder)
        owner = File(f"{folder}/{PARTITION_FILE}")
        yield from write_anew(owner, encode_topic_id(plan.topic_id))
        yield from sync_file(owner)
        if not plan.pieces:
            yield Append(File(path_of(folder, plan.end, LOG)), b"")
        for piece in plan.pieces:
            segment = File(path_of(folder, piece.base_offset, LOG))
            yield Append(segment, piece.read())
            yield from sync_file(segment)
            yield Pause()
        yield from sync_folder(folder)

    def _open(self, files: Files, ends: Mapping[Key, int]) -> Steps[None]:
        """Open every log, which recovers it if it has to be, and close it again. Recovery cuts off what it takes for
        torn; here that is a loss, whatever the reason is."""
        context = LogContext(files, Tasks(files), IndexCache(INDEX_CACHE_BYTES))
        directory = LogDirectory(self._root, context)
        yield from directory.load(self._topic_settings, self._now_ms)
        for key, offline in directory.offline.items():
            raise _wrong(key, f"is damaged at offset {offline.damage.first_offset}")
        for key, end in ends.items():
            log = directory.logs[key]
            found, meant = (log.start_offset, log.end_offset), (self._plans[key].start, end)
            if found != meant:
                raise _wrong(key, "holds {} to {} and not {} to {}".format(*found, *meant))
        # What is in a backup was committed.
        yield from directory.close(lambda: {key: plan.end for key, plan in self._plans.items()})

    def _topic_settings(self, topic: str) -> TopicSettings:
        return TopicSettings(self._settings, self._image.config(TOPIC_RESOURCE, topic))

    def _leave_gaps(self, ends: Mapping[Key, int]) -> Steps[None]:
        """Offsets of batches that compaction has taken are not given again: the log goes on where it was cut."""
        path = f"{self._root}/{RECOVERY_POINTS_FILE}"
        points = yield from read_offsets(path)
        for key, end in ends.items():
            yield Append(File(path_of(self._folder(key), end, LOG)), b"")
            yield from sync_folder(self._folder(key))
        yield from write_offsets(path, {**points, **ends})


def _wrong(key: Key, what: str) -> Refused:
    return Refused(f"{key[0]}-{key[1]} of the backup {what}", "take another backup: `penstock backup list`")
