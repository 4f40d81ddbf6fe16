"""A partition's log: the append, what is in flight, rolling. Everything that takes several file operations is in the
module named after it (`reader`, `flushing`, `truncation`, `retention`, `cleaner`, `packer`) and works on the state held
here.

Offsets move in this order: `end_offset` when a batch is accepted, `written_offset` when its bytes survive a crash of
the process, `synced_offset` (the recovery point) when they survive power loss.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable
from typing import Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import LATER, Buffer, File, FileFailure, Later, Pause, Slice, Steps
from penstock.core.base.steps import expect_no_mistake
from penstock.core.log import cleaner, flushing, packer, reader, retention, snapshots, truncation
from penstock.core.log.compaction import KEYS_MAX
from penstock.core.log.epochs import LeaderEpochs
from penstock.core.log.index_file import PENDING_BYTES_MAX
from penstock.core.log.producers import Producers, SuspendedProducers
from penstock.core.log.replay import replay_batch
from penstock.core.log.segment import RELATIVE_OFFSET_MAX, Segment
from penstock.core.log.settings import LogContext, LogSettings
from penstock.core.log.txn_index import AbortedTransaction
from penstock.core.records.batch import BatchHeader, stamp

# Positions of the newest batches, for readers at the end of the log; trimmed at twice this.
RECENT_BATCHES_MAX: Final = 64
# A segment counts its offsets from where it begins, so that a gap that compaction left must leave it some to count.
GAP_IN_SEGMENT_MAX: Final = RELATIVE_OFFSET_MAX // 2


class Write:
    """Batches in a row that are not Written yet. `data` is kept while they wait for an older file's last write."""

    __slots__ = ("data", "end_offset", "headers", "is_done", "position", "segment")

    def __init__(
        self, segment: Segment, position: int, end_offset: int, headers: list[BatchHeader], data: bytes | None
    ) -> None:
        self.segment = segment
        self.position = position
        self.end_offset = end_offset
        self.headers = headers
        self.data = data
        self.is_done = False


class Log:
    """One partition's records. Only one thread of control calls it; steps may interleave between operations."""

    __slots__ = (
        "_accepted",
        "_accepted_headers",
        "_recent_offsets",
        "_recent_positions",
        "aborted_end",
        "active",
        "awaits_first_sync",
        "blocked",
        "cleaned_offset",
        "context",
        "dir",
        "end_offset",
        "epochs",
        "failure",
        "flush_wanted",
        "is_cleaning",
        "is_flushing",
        "is_gone",
        "is_maintaining",
        "is_new",
        "is_packing",
        "names_changed",
        "on_progress",
        "orphans",
        "packed_offset",
        "partition",
        "pending_snapshots",
        "producers",
        "segments",
        "settings",
        "snapshot_offsets",
        "start_offset",
        "synced_offset",
        "topic",
        "topic_id",
        "trash",
        "undone",
        "unsynced_since_ms",
        "writes",
        "written_offset",
    )

    def __init__(
        self, topic: str, partition: int, folder: str, settings: LogSettings, context: LogContext, now_ms: int
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.topic_id: bytes | None = None
        self.dir = folder
        self.settings = settings
        self.context = context
        self.start_offset = 0
        self.end_offset = 0
        self.written_offset = 0
        self.synced_offset = 0
        # No transaction was aborted here or above; below there may have been some, if only before compaction.
        self.aborted_end = 0
        # Below this the cleaner has been; None until it was there once.
        self.cleaned_offset: int | None = None
        # Below this sealed segments were compressed, or had nothing to gain from it.
        self.packed_offset = 0
        self.failure: FileFailure | None = None
        # Why appends are refused for the moment, if they are: a failed one is being undone.
        self.blocked: str | None = None
        self.on_progress: Callable[[], None] | None = None
        self.producers = Producers()
        self.epochs = LeaderEpochs()
        self.active = Segment(folder, 0, context.index_cache, now_ms)
        self.segments: list[Segment] = [self.active]
        self.snapshot_offsets: list[int] = []
        self.pending_snapshots: dict[int, bytes] = {}
        # Batches that have their offsets and are part of no write yet; always of the active segment.
        self._accepted: list[Buffer] = []
        self._accepted_headers: list[BatchHeader] = []
        self.writes: deque[Write] = deque()
        # Appends the port still has to answer for, though their batches are given up already.
        self.orphans = 0
        self.is_flushing = False
        self.flush_wanted = False
        # Why an append is being undone: until then the producers have batches that the log has not.
        self.undone: FileFailure | None = None
        # Files are being renamed or removed; a job compacts, or packs, segments; the partition was deleted.
        self.is_maintaining = False
        self.is_cleaning = False
        self.is_packing = False
        self.is_gone = False
        # Names in the folder changed since its last SyncDir; the folder's own name is new.
        self.names_changed = False
        self.is_new = False
        # Writes to the next file are held until the name of the first one lasts.
        self.awaits_first_sync = False
        self.trash: dict[str, tuple[int, File]] = {}
        self.unsynced_since_ms: int | None = None
        self._recent_offsets = array("q")
        self._recent_positions = array("q")

    def __repr__(self) -> str:
        return f"Log({self.topic}-{self.partition}, {self.start_offset}..{self.end_offset})"

    # Appending

    def append(self, batch: memoryview | bytearray, header: BatchHeader, leader_epoch: int, now_ms: int) -> int:
        """Append one validated batch, stamping offset and epoch into it; gives its base offset."""
        base_offset = self.accept(batch, header, leader_epoch, now_ms)
        self.write_accepted()
        return base_offset

    def accept(self, batch: memoryview | bytearray, header: BatchHeader, leader_epoch: int, now_ms: int) -> int:
        """Give a batch its offset; it becomes part of the next `write_accepted`, which must follow in the same turn."""
        if self.blocked is not None:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, self.blocked)
        base_offset = self.end_offset
        last_offset = base_offset + header.last_offset_delta
        size, timestamp, settings = len(batch), header.max_timestamp, self.settings
        segment = self.active
        if not segment.size_bytes:
            self.names_changed = True
        elif segment.must_roll(size, last_offset, timestamp, now_ms, settings):
            self.write_accepted()
            segment = self.roll(now_ms)
            self.names_changed = True
        stamp(batch, base_offset, leader_epoch)
        if leader_epoch != self.epochs.latest:
            self.epochs.assign(leader_epoch, base_offset)
        if header.producer_id >= 0:
            self._track_producer(batch, header, base_offset)
        self._remember(base_offset, segment.size_bytes)
        if segment.append(size, last_offset, timestamp, settings.index_interval_bytes):
            self._spill_index(segment)
        self.end_offset = last_offset + 1
        self._accepted.append(batch)
        self._accepted_headers.append(header)
        return base_offset

    def accept_copy(self, batch: memoryview | bytearray, header: BatchHeader, now_ms: int) -> None:
        """Take a batch as the leader's log has it, offset and epoch included; a gap before it is what compaction left.
        It becomes part of the next `write_accepted`, as with `accept`."""
        assert header.base_offset >= self.end_offset, "a copy goes on where the log ends"
        if self.blocked is None:
            self.end_offset = header.base_offset
        self.accept(batch, header, header.leader_epoch, now_ms)

    def write_accepted(self) -> None:
        """Hand everything accepted to the file, in one write. It ends where its segment does: the log may already go on
        behind a gap, in the next one."""
        batches = self._accepted
        if not batches:
            return
        held = bool(self.writes) or self.awaits_first_sync
        if not held and self.context.files.append(self.active.log, batches, self._appended):
            self.written_offset = self.active.end_offset
        else:
            self._await_write(self.active, batches, self._accepted_headers)
        self._accepted = []
        self._accepted_headers = []

    def _remember(self, base_offset: int, position: int) -> None:
        offsets = self._recent_offsets
        offsets.append(base_offset)
        self._recent_positions.append(position)
        if len(offsets) > 2 * RECENT_BATCHES_MAX:
            del offsets[:RECENT_BATCHES_MAX]
            del self._recent_positions[:RECENT_BATCHES_MAX]

    def forget_recent(self) -> None:
        """Positions no longer hold: another file is active, or this one was cut."""
        self._recent_offsets = array("q")
        self._recent_positions = array("q")

    def lower_cleaned(self) -> None:
        """What takes the place of a lost end was never cleaned, and may hold tombstones."""
        if self.cleaned_offset is not None:
            self.cleaned_offset = min(self.cleaned_offset, self.end_offset)

    def _track_producer(self, batch: Buffer, header: BatchHeader, base_offset: int) -> None:
        known = len(self.producers)
        aborted = replay_batch(self.producers, batch, 0, header, base_offset)
        if len(self.producers) > known:
            self.context.census.grew(self)
        if aborted is not None:
            self.active.aborted.append(aborted)
            self.aborted_end = base_offset + 1

    def _spill_index(self, segment: Segment) -> None:
        """Write index entries out once enough of them are in memory."""
        for index in (segment.offsets, segment.times):
            if len(index.pending) >= PENDING_BYTES_MAX and not index.writing:
                # A failure is no loss: the entries stay pending and are written when the segment is sealed.
                self.context.tasks.run(index.spill(), expect_no_mistake)

    # What is in flight

    @property
    def is_writing(self) -> bool:
        """Whether appends are in flight, or one that failed is being undone."""
        return bool(self.writes) or self.undone is not None

    def written_bytes(self, segment: Segment) -> int:
        """What a segment's file holds for sure; appends in flight, even to one that is sealed by now, come behind that.
        Before the first one has ended there may be no file."""
        return next((write.position for write in self.writes if write.segment is segment), segment.size_bytes)

    def _await_write(self, segment: Segment, batches: list[Buffer], headers: list[BatchHeader]) -> None:
        """Queue a write behind those in flight. One file's first write waits for the last one of the file before, so
        that after a crash the log is whole up to some offset and empty behind it."""
        writes = self.writes
        held = self.awaits_first_sync or (
            bool(writes) and (writes[-1].segment is not segment or writes[-1].data is not None)
        )
        position = segment.size_bytes - sum(map(len, batches))
        write = Write(segment, position, segment.end_offset, headers, b"".join(batches) if held else None)
        first = not writes
        writes.append(write)
        if held:
            self._go_on()
        elif not first:
            write.is_done = self.context.files.append(segment.log, batches, self._appended)

    def _appended(self, result: object) -> None:
        """The port answers for the oldest append it has not answered for."""
        if self.orphans:
            self.orphans -= 1
            if not self.orphans:
                self._begin_repair()
            return
        next(write for write in self.writes if not write.is_done).is_done = True
        if isinstance(result, FileFailure):
            self._lose(result)
            return
        self._retire_writes()
        self._progress()

    def _retire_writes(self) -> None:
        """Move `written_offset` over what is done, and issue what was held for it."""
        writes = self.writes
        while writes and writes[0].is_done:
            self.written_offset = writes.popleft().end_offset
            self._go_on()
        if not writes and self.pending_snapshots:
            self.request_flush()

    def _go_on(self) -> None:
        """Issue what was held, if nothing stands before it any more."""
        if not self.writes or self.writes[0].data is None:
            return
        if self.awaits_first_sync:
            self._seek_roots(self.failure)
            return
        segment = self.writes[0].segment
        for write in self.writes:
            if write.segment is not segment:
                break
            assert write.data is not None
            data, write.data = write.data, None
            write.is_done = self.context.files.append(segment.log, [data], self._appended)

    def _seek_roots(self, failure: FileFailure | None) -> None:
        """Ask for the flush that what is held waits for, or give it up where there can be none."""
        if failure is None:
            self.request_flush()
        else:
            self.context.tasks.run(self._give_up_held(failure), expect_no_mistake)

    def _give_up_held(self, failure: FileFailure) -> Steps[None]:
        """Lose it as a failed append is lost: not before the turn is over, because nobody waits for it yet."""
        yield Pause()
        if self.awaits_first_sync and self.writes and self.writes[0].data is not None:
            self._lose(failure)

    def _lose(self, failure: FileFailure) -> None:
        """An append failed, or what it waited for: everything from it on is given up at once, so that whoever waits for
        it hears so now."""
        lost = list(self.writes)
        self.writes.clear()
        self.undone = failure
        self.blocked = f"a failed write is being undone: {failure.message}"
        self.orphans = sum(1 for write in lost if write.data is None and not write.is_done)
        self.end_offset = self.written_offset
        self._suspend_producers(lost)
        truncation.drop_unwritten(self, lost[0].segment, lost[0].position)
        self.context.on_loss(self, failure)
        self._progress()
        if not self.orphans:
            self._begin_repair()

    def _suspend_producers(self, lost: list[Write]) -> None:
        suspended = SuspendedProducers(self.producers)
        for header in (each for write in lost for each in write.headers):
            if header.producer_id >= 0:
                suspended.lose(header)
        self.producers = suspended

    def _begin_repair(self) -> None:
        self.context.tasks.run(truncation.repair(self), self._repaired)

    def _repaired(self, result: object) -> None:
        expect_no_mistake(result)
        self.undone = None
        if isinstance(result, FileFailure):
            self.fail(result)
        self.unblock()
        self._progress()

    def fail(self, failure: FileFailure) -> None:
        """The folder can no longer be trusted to keep what it is given."""
        self.blocked = failure.message
        if self.failure is None and not self.is_gone:
            self.failure = failure
            self.context.on_failure(self, failure)

    def unblock(self) -> None:
        """Let appends in again, if nothing else speaks against it."""
        if not self.is_gone:
            self.blocked = None if self.failure is None else self.failure.message

    def _progress(self) -> None:
        if self.on_progress is not None:
            self.on_progress()

    # Rolling and flushing

    def roll(self, now_ms: int) -> Segment:
        """Seal the active segment and go on in a new one; what must reach the disk for that follows behind. Where there
        is a gap, the new one begins below it: after a crash, a file that does not begin where the one before ends is
        taken for the rest of a log that has lost its middle."""
        ended = self.active.end_offset
        return self.roll_at(ended if self.end_offset - ended <= GAP_IN_SEGMENT_MAX else self.end_offset, now_ms)

    def roll_at(self, base_offset: int, now_ms: int) -> Segment:
        self.active.seal(base_offset)
        self.active = Segment(self.dir, base_offset, self.context.index_cache, now_ms)
        self.segments.append(self.active)
        self.forget_recent()
        self.pending_snapshots[base_offset] = snapshots.encode(self.producers)
        self.awaits_first_sync = not self.has_roots
        self.request_flush()
        return self.active

    @property
    def has_roots(self) -> bool:
        """Whether the name of the first file lasts, or is the only one. Otherwise a power loss could take it and leave
        the next, and the log would begin in the middle of what was sent: with a producer's second batch, whose first
        one then comes too late."""
        return self.active is self.segments[0] or self.synced_offset > self.segments[0].base_offset

    def request_flush(self) -> None:
        """Flush in the background; one that is under way is followed by another, however often it was asked for."""
        if self.is_flushing:
            self.flush_wanted = True
        elif self.failure is None:
            self.flush_wanted = False
            self.context.tasks.run(flushing.flush(self), self._flushed)

    def _flushed(self, result: object) -> None:
        expect_no_mistake(result)
        self._progress()

    def flush_ended(self, failure: FileFailure | None) -> None:
        """A flush is over, whoever asked for it."""
        self.is_flushing = False
        self.awaits_first_sync = self.awaits_first_sync and not self.has_roots
        if failure is not None and self.awaits_first_sync:
            self._seek_roots(failure)
        else:
            self._go_on()
        if self.writes and self.writes[0].is_done:
            self._retire_writes()
            self._progress()
        if self.flush_wanted and failure is None:
            self.request_flush()

    def flush(self) -> Steps[None]:
        """Make everything Written so far survive power loss; moves `synced_offset`."""
        yield from flushing.flush(self)
        self._progress()

    def needs_flush(self, now_ms: int) -> bool:
        """Whether `flush.messages` or `flush.ms` asks for a flush; the time counts from the first call that found
        something to flush."""
        unsynced = self.written_offset - self.synced_offset
        if unsynced <= 0:
            self.unsynced_since_ms = None
            return False
        if self.unsynced_since_ms is None:
            self.unsynced_since_ms = now_ms
        return unsynced >= self.settings.flush_messages or now_ms - self.unsynced_since_ms >= self.settings.flush_ms

    def close(self) -> Steps[None]:
        """Leave a log that opens without recovery."""
        yield from flushing.close(self)

    # Reading

    def read_cached(self, offset: int, max_bytes: int, upto_offset: int, min_one: bool) -> Slice | Later | None:
        """Read without the disk: a Slice, None where there is nothing, LATER where `read` must be asked."""
        if offset >= upto_offset or offset < self.start_offset:
            reader.check_range(self, offset)
            return None
        offsets, positions = self._recent_offsets, self._recent_positions
        if not offsets or offset < offsets[0]:
            return LATER
        first = bisect_right(offsets, offset) - 1
        position, size_bytes = positions[first], self.active.size_bytes
        limit = size_bytes
        if upto_offset < self.end_offset and (last := bisect_left(offsets, upto_offset)) < len(positions):
            limit = positions[last]
        if limit - position > max_bytes:
            last = bisect_right(positions, position + max_bytes) - 1
            if last == first:
                if not min_one:
                    return None
                last += 1
            limit = min(limit, positions[last] if last < len(positions) else size_bytes)
        return Slice(self.active.log, position, limit - position)

    def read(self, offset: int, max_bytes: int, upto_offset: int, min_one: bool) -> Steps[Slice | None]:
        """A range of one file that begins with the batch holding `offset` and ends before `upto_offset`'s batch."""
        return reader.told(self, reader.read(self, offset, max_bytes, upto_offset, min_one), offset)

    def offset_for_time(self, timestamp_ms: int) -> Steps[tuple[int, int, int] | None]:
        """(timestamp, offset, leader epoch) of the first record at or after a time."""
        return reader.told(self, reader.offset_for_time(self, timestamp_ms))

    def max_timestamp(self) -> Steps[tuple[int, int, int] | None]:
        """(timestamp, offset, leader epoch) of the record with the largest timestamp."""
        return reader.told(self, reader.max_timestamp(self))

    def has_aborted(self, offset: int) -> bool:
        """Whether `aborted_transactions` from there on can find any."""
        return reader.has_aborted(self, offset)

    def aborted_transactions(self, offset: int, upto_offset: int) -> Steps[list[AbortedTransaction]]:
        """The aborted transactions that a read_committed reader of this range must know."""
        return reader.aborted_transactions(self, offset, upto_offset)

    def epoch_end(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) as OffsetForLeaderEpoch answers."""
        return self.epochs.end_of(epoch, self.end_offset)

    def epoch_at(self, offset: int) -> int:
        return self.epochs.at(offset)

    def files(self) -> list[File]:
        """Every file that the log may have used, those set aside for deletion too."""
        used = [file for segment in self.segments for file in segment.files()]
        return used + [file for _, file in self.trash.values()]

    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self.segments)

    # Removing

    def delete_records(self, offset: int) -> Steps[None]:
        """Move the start of the log; whole segments below it go with the next `retain`."""
        return retention.delete_records(self, offset)

    def retain(self, now_ms: int, upto_offset: int | None = None) -> Steps[int]:
        """Remove the segments that the settings no longer keep, none that ends above `upto_offset` (the high
        watermark); gives how many."""
        return retention.retain(self, now_ms, self.written_offset if upto_offset is None else upto_offset)

    def purge(self, now_ms: int) -> Steps[None]:
        """Unlink the files whose delay is over."""
        return retention.purge(self, now_ms)

    def truncate_to(self, offset: int) -> Steps[None]:
        """Cut off everything from `offset` on; nothing may be in flight."""
        return truncation.truncate_to(self, offset)

    def restart_at(self, offset: int, now_ms: int) -> Steps[None]:
        """Give up everything and go on at `offset`; nothing may be in flight."""
        return truncation.restart_at(self, offset, now_ms)

    def dirtiness(self, now_ms: int, upto_offset: int) -> Steps[cleaner.Dirtiness]:
        """How much compaction would find to do below `upto_offset` (the last stable offset), and whether it should."""
        return cleaner.dirtiness(self, now_ms, upto_offset)

    def clean(self, now_ms: int, upto_offset: int, keys_max: int = KEYS_MAX) -> Steps[cleaner.Cleaned | None]:
        """Compact sealed segments below `upto_offset`, as far as a map of `keys_max` keys reaches."""
        return cleaner.clean(self, now_ms, upto_offset, keys_max)

    def pack_next(self, now_ms: int, upto_offset: int) -> Steps[packer.Packed | None]:
        """Compress one sealed segment below `upto_offset` (the high watermark), if the settings ask for that."""
        return packer.pack_next(self, now_ms, upto_offset)
