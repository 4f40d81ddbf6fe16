"""A segment: one `.log` file, its indexes, and what must be known of it to append, find, roll and expire."""

from __future__ import annotations

import zlib
from typing import Final

from penstock.core.base.ports import File, Read, Steps
from penstock.core.log.durable import sync_file
from penstock.core.log.index_file import PENDING_BYTES_MAX, IndexCache, IndexFile
from penstock.core.log.names import INDEX, LOG, TIME_INDEX, TXN_INDEX, path_of
from penstock.core.log.offset_index import OffsetIndex
from penstock.core.log.settings import LogSettings
from penstock.core.log.time_index import TimeIndex
from penstock.core.log.txn_index import TransactionIndex
from penstock.core.records.batch import HEADER_BYTES, NO_TIMESTAMP, read_header

RELATIVE_OFFSET_MAX: Final = (1 << 31) - 1
_OFFSET_ENTRY_BYTES: Final = 8
_TIME_ENTRY_BYTES: Final = 12
UNKNOWN: Final = -2


class Segment:
    """Indexes come into being with their first entry, so that an empty partition stays small."""

    __slots__ = (
        "_aborted",
        "_cache",
        "_offsets",
        "_times",
        "base_offset",
        "created_ms",
        "end_offset",
        "first_timestamp",
        "folder",
        "log",
        "max_timestamp",
        "max_timestamp_offset",
        "removed",
        "sealed",
        "size_bytes",
        "synced_bytes",
        "uncleanable",
        "unindexed_bytes",
    )

    def __init__(self, folder: str, base_offset: int, cache: IndexCache, created_ms: int) -> None:
        self.folder = folder
        self.base_offset = base_offset
        # Behind its last batch; of a sealed one, where the next begins.
        self.end_offset = base_offset
        self.log = File(path_of(folder, base_offset, LOG))
        self.size_bytes = 0
        self.synced_bytes = 0
        self.unindexed_bytes = 0
        self.first_timestamp = UNKNOWN
        self.max_timestamp = NO_TIMESTAMP
        self.max_timestamp_offset = base_offset
        self.created_ms = created_ms
        self.sealed = False
        self.removed = False
        # Compaction found it damaged, and leaves its log alone.
        self.uncleanable = False
        self._cache = cache
        self._offsets: OffsetIndex | None = None
        self._times: TimeIndex | None = None
        self._aborted: TransactionIndex | None = None

    def __repr__(self) -> str:
        return f"Segment({self.base_offset}, {self.size_bytes} bytes)"

    @property
    def offsets(self) -> OffsetIndex:
        if self._offsets is None:
            self._offsets = OffsetIndex(path_of(self.folder, self.base_offset, INDEX), self.base_offset, self._cache)
        return self._offsets

    @property
    def times(self) -> TimeIndex:
        if self._times is None:
            self._times = TimeIndex(path_of(self.folder, self.base_offset, TIME_INDEX), self.base_offset, self._cache)
        return self._times

    @property
    def aborted(self) -> TransactionIndex:
        if self._aborted is None:
            self._aborted = TransactionIndex(path_of(self.folder, self.base_offset, TXN_INDEX), self._cache)
        return self._aborted

    @property
    def has_aborted(self) -> bool:
        """Whether transactions were aborted in it: asked without making an index for that."""
        return self._aborted is not None and self._aborted.size_bytes > 0

    def indexes(self) -> tuple[IndexFile, IndexFile, IndexFile]:
        return self.offsets, self.times, self.aborted

    @property
    def is_durable(self) -> bool:
        """Sealed, and everything of it is on the disk for good."""
        indexes = (self._offsets, self._times)
        return (
            self.sealed
            and self.synced_bytes >= self.size_bytes
            and all(index is not None and index.synced and not index.pending for index in indexes)
            and (self._aborted is None or not self._aborted.pending)
        )

    def files(self) -> list[File]:
        """Every file the segment may have."""
        return [self.log, self.offsets.file, self.times.file, self.aborted.file]

    def must_roll(self, size: int, last_offset: int, timestamp: int, now_ms: int, settings: LogSettings) -> bool:
        """Whether a batch no longer fits: by size, by time, by the reach or the room of the indexes."""
        if self.size_bytes + size > settings.segment_bytes or last_offset - self.base_offset > RELATIVE_OFFSET_MAX:
            return True
        waited_ms = timestamp - self.first_timestamp if self.first_timestamp >= 0 else now_ms - self.created_ms
        latest_ms = waited_ms + settings.segment_jitter_ms
        if (
            latest_ms > settings.segment_ms or latest_ms > settings.max_compaction_lag_ms
        ) and waited_ms > self._roll_after_ms(settings):
            return True
        # The indexes are asked only when this batch would add an entry to them.
        return self.unindexed_bytes > settings.index_interval_bytes and self._is_index_full(
            settings.segment_index_bytes
        )

    def _roll_after_ms(self, settings: LogSettings) -> int:
        """Segments made at the same time roll at different ones, each at a moment that its name decides. Compaction
        can only keep its promised lag if nothing stays in the active segment for longer."""
        roll_ms = settings.segment_ms
        if "compact" in settings.cleanup_policy and settings.max_compaction_lag_ms > 0:
            roll_ms = min(roll_ms, settings.max_compaction_lag_ms)
        jitter_ms = min(settings.segment_jitter_ms, settings.segment_ms)
        return roll_ms - (zlib.crc32(self.log.path.encode()) % jitter_ms if jitter_ms else 0)

    def _is_index_full(self, bytes_max: int) -> bool:
        offsets = self._offsets
        entries = 0 if offsets is None else (offsets.stored_bytes + len(offsets.pending)) // _OFFSET_ENTRY_BYTES
        # The time index keeps room for the entry that sealing adds, and apart from that has no more entries than the
        # offset index: as long as that many would fit, it need not be asked.
        return (entries + 3) * _TIME_ENTRY_BYTES > bytes_max and (
            (entries + 1) * _OFFSET_ENTRY_BYTES > bytes_max or self.times.size_bytes + 2 * _TIME_ENTRY_BYTES > bytes_max
        )

    def append(self, size: int, last_offset: int, timestamp: int, index_interval_bytes: int) -> bool:
        """Account for a batch at the end of the file; True when enough index entries have gathered to write them."""
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
            self.max_timestamp_offset = last_offset
        position = self.size_bytes
        self.size_bytes = position + size
        self.end_offset = last_offset + 1
        if position == 0:
            self.first_timestamp = timestamp
        if self.unindexed_bytes <= index_interval_bytes:
            self.unindexed_bytes += size
            return False
        offsets, times = self.offsets, self.times
        offsets.append(last_offset, position)
        times.append(self.max_timestamp, self.max_timestamp_offset)
        self.unindexed_bytes = size
        return len(offsets.pending) >= PENDING_BYTES_MAX or len(times.pending) >= PENDING_BYTES_MAX

    def seal(self, end_offset: int) -> None:
        """No batch will follow: the time index gets the largest timestamp as its last entry."""
        self.end_offset = end_offset
        self.sealed = True
        self.times.append(self.max_timestamp, self.max_timestamp_offset)

    def sync(self, is_written: bool) -> Steps[None]:
        """Bring the log to the disk, and a sealed segment's indexes. While appends are in flight (`is_written` is
        false) nobody can say what this sync covered, so that the next one looks again."""
        if self.sealed and is_written:
            for index in self.indexes():
                yield from index.sync()
        if self.synced_bytes < self.size_bytes:
            size_bytes = self.size_bytes
            yield from sync_file(self.log)
            if is_written:
                self.synced_bytes = size_bytes

    def load_largest_timestamp(self) -> Steps[int]:
        """The largest timestamp, which a sealed segment keeps in its time index's last entry."""
        if self.max_timestamp == UNKNOWN:
            self.max_timestamp, self.max_timestamp_offset = yield from self.times.last_entry()
        return self.max_timestamp

    def load_first_timestamp(self) -> Steps[int]:
        """The largest timestamp of the first batch, from which the age of the segment's records counts."""
        if self.first_timestamp == UNKNOWN and self.size_bytes:
            data: bytes = yield Read(self.log, 0, HEADER_BYTES)
            self.first_timestamp = read_header(data).max_timestamp
        return self.first_timestamp
