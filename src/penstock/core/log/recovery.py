"""Opening a log: finish or undo what a crash interrupted, trust what is below the recovery point, scan the rest.

After an unclean stop every segment that ends above the recovery point is read batch by batch. The log ends before the
first batch that is short, has a wrong checksum or a place it cannot have. Whether what lies behind may be cut off is
for whoever opens the log to say (`LogContext.on_damage`): nothing was changed when it is asked.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.core.base.ports import Buffer, Pause, Steps, Truncate, Unlink
from penstock.core.log import epochs, packer, replay, snapshots
from penstock.core.log.damage import DAMAGE_FILE, Damage, marked_offset, unmark
from penstock.core.log.durable import sync_file, sync_folder
from penstock.core.log.epochs import LeaderEpochs
from penstock.core.log.flushing import flush
from penstock.core.log.leftovers import Listing, tidy
from penstock.core.log.log import Log
from penstock.core.log.names import INDEX, LOG, PACKED_FILE, SNAPSHOT, TIME_INDEX, TXN_INDEX
from penstock.core.log.producers import Producers
from penstock.core.log.reindex import IndexBuilder, reindex
from penstock.core.log.retention import anchor
from penstock.core.log.scan import read_chunk
from penstock.core.log.segment import RELATIVE_OFFSET_MAX, UNKNOWN, Segment
from penstock.core.log.settings import LogContext, LogSettings
from penstock.core.log.txn_index import ENTRY_BYTES as TXN_ENTRY_BYTES
from penstock.core.log.txn_index import encode as encode_aborted
from penstock.core.records import checksum
from penstock.core.records.batch import HEADER_BYTES, MAGIC, BatchHeader, read_header
from penstock.core.records.errors import CorruptBatch


class CheckpointedState(NamedTuple):
    """What the folder's checkpoints say of a log, and how the last run ended."""

    clean: bool
    recovery_point: int = 0
    start_offset: int = 0
    cleaned_offset: int | None = None
    went_on: bool = False
    """Only the process ended, and the machine still has all that was Written: no more than one append can be torn."""
    suspect_offset: int | None = None
    """From here on the log was found damaged before, and is looked at again."""

    def can_be_torn(self, offset: int, is_partial: bool) -> bool:
        """Whether a crash explains that the batch at an offset is bad."""
        was_safe = self.clean or self.suspect_offset is not None or offset < self.recovery_point
        return not was_safe and (is_partial or not self.went_on)


def open_log(
    topic: str,
    partition: int,
    folder: str,
    settings: LogSettings,
    context: LogContext,
    standing: CheckpointedState,
    now_ms: int,
) -> Steps[Log]:
    """The log in a folder, ready for appends."""
    log = Log(topic, partition, folder, settings, context, now_ms)
    listing = yield from tidy(folder)
    if DAMAGE_FILE in listing.strangers:
        standing = standing._replace(suspect_offset=(yield from marked_offset(folder)))
    log.epochs = yield from epochs.read(folder)
    log.cleaned_offset = standing.cleaned_offset
    if PACKED_FILE in listing.strangers:
        log.packed_offset = yield from packer.read_mark(folder)
    log.snapshot_offsets = sorted(listing.of(SNAPSHOT))
    bases = sorted(listing.of(LOG))
    log.segments = [_segment(log, base, listing, now_ms) for base in bases]
    log.start_offset = max(standing.start_offset, bases[0] if bases else 0)
    trusted = _count_trusted(bases, standing)
    for segment, next_base in zip(log.segments[:trusted], [*bases[1:], -1], strict=False):
        yield from _trust(log, segment, next_base, listing)
    is_shorter = not log.segments
    if trusted == len(log.segments) and trusted and not (yield from _trust_last(log)):
        is_shorter = yield from _is_shorter(log.segments[-1])
        trusted -= 1
    is_whole = trusted == len(log.segments) or (yield from _recover(log, trusted, standing))
    if is_whole and is_shorter and standing.clean and log.end_offset < standing.recovery_point:
        yield from _miss_end(log, standing, now_ms)
    yield from _finish(log, standing, now_ms)
    if standing.suspect_offset is not None:
        yield from unmark(folder)
    if not standing.clean and not log.has_roots:
        # The last run may have ended before the name of the first file would last.
        yield from sync_folder(folder)
    if not standing.clean and settings.flush_messages == 1:
        # Only what is synced counts for such a topic, and what we just read may not be.
        yield from flush(log)
    context.census.replayed(log)
    return log


def _segment(log: Log, base_offset: int, listing: Listing, now_ms: int) -> Segment:
    segment = Segment(log.dir, base_offset, log.context.index_cache, now_ms)
    segment.size_bytes = listing.of(LOG)[base_offset]
    segment.max_timestamp = UNKNOWN
    segment.offsets.stored_bytes = listing.of(INDEX).get(base_offset, 0)
    segment.times.stored_bytes = listing.of(TIME_INDEX).get(base_offset, 0)
    if base_offset in listing.of(TXN_INDEX):
        segment.aborted.stored_bytes = listing.of(TXN_INDEX)[base_offset]
    return segment


def _count_trusted(bases: list[int], standing: CheckpointedState) -> int:
    """A segment is trusted if its end, the next one's base, is not above the recovery point, or not above what was
    found damaged before."""
    safe_offset = standing.recovery_point
    if standing.suspect_offset is not None:
        safe_offset = standing.suspect_offset
    elif standing.clean:
        return len(bases)
    return sum(1 for next_base in bases[1:] if next_base <= safe_offset)


def _trust(log: Log, segment: Segment, next_base: int, listing: Listing) -> Steps[None]:
    """Take a segment as it is; only indexes that are missing or cannot be whole are made anew."""
    segment.synced_bytes = segment.size_bytes
    if next_base >= 0:
        segment.sealed = True
        segment.end_offset = next_base
    whole = all(
        base_index and index.stored_bytes % index.entry_bytes == 0
        for base_index, index in (
            (segment.base_offset in listing.of(INDEX), segment.offsets),
            (segment.base_offset in listing.of(TIME_INDEX), segment.times),
        )
    )
    if segment.size_bytes and not whole:
        yield from reindex(segment, log.settings.index_interval_bytes)
        # Nobody looks at a trusted segment again, so its new indexes must not be lost either.
        yield from segment.sync(True)
        yield from sync_folder(log.dir)
    else:
        for index in segment.indexes():
            index.synced = True
    if segment.aborted.stored_bytes % TXN_ENTRY_BYTES:
        yield from segment.aborted.cut(segment.aborted.stored_bytes // TXN_ENTRY_BYTES * TXN_ENTRY_BYTES)


def _trust_last(log: Log) -> Steps[bool]:
    """Find the end of a log that was closed; False if its last segment does not end where its file does."""
    try:
        end_offset = yield from replay.load_tail(log.segments[-1])
    except CorruptBatch:
        return False
    if end_offset is None:
        return False
    log.end_offset = end_offset
    log.producers = yield from replay.producers_at(log, end_offset)
    return True


def _recover(log: Log, trusted: int, standing: CheckpointedState) -> Steps[bool]:
    """Scan the segments that are not trusted, up to where the log proves to end, and drop what lies behind, if it may
    go. The newest goes first: whatever a crash leaves of this has no hole. Gives whether nothing was dropped."""
    is_whole = True
    first = log.segments[trusted]
    log.end_offset = first.base_offset
    yield from _drop_snapshots(log, first.base_offset)
    log.producers = yield from replay.producers_at(log, first.base_offset)
    for number in range(trusted, len(log.segments)):
        segment = log.segments[number]
        if segment.base_offset != log.end_offset:
            # The segment before ends where a batch does, and lost its tail all the same.
            is_whole = False
            yield from _judge(log, number, 0, standing)
            yield from _drop_segments(log, number)
            break
        if number > trusted:
            log.pending_snapshots[segment.base_offset] = snapshots.encode(log.producers)
        scan = _Scan(segment, log.producers, log.epochs, log.settings.index_interval_bytes)
        good_bytes = yield from scan.find_end()
        log.end_offset = scan.next_offset
        is_whole = good_bytes == segment.size_bytes
        if not is_whole:
            yield from _judge(log, number, good_bytes, standing, is_cut_off=scan.is_torn)
            yield from _drop_segments(log, number + 1)
        yield from scan.settle(good_bytes, is_sealed=is_whole and number + 1 < len(log.segments))
        if not is_whole:
            break
    log.segments[-1].sealed = False
    log.names_changed = True
    return is_whole


def _is_shorter(segment: Segment) -> Steps[bool]:
    """Whether a segment's file ends before what its index points to. Its end alone does not say: where compaction has
    left nothing below a cut, a log goes back when it is opened."""
    return bool(segment.offsets.stored_bytes) and (yield from segment.offsets.last_position()) >= segment.size_bytes


def _miss_end(log: Log, standing: CheckpointedState, now_ms: int) -> Steps[None]:
    """A log that was closed ends before it did, and no batch is cut: files were taken away, or cut by somebody."""
    if not log.segments:
        log.end_offset = log.start_offset
        log.segments = [Segment(log.dir, log.end_offset, log.context.index_cache, now_ms)]
    yield from _judge(log, len(log.segments) - 1, log.segments[-1].size_bytes, standing)


def _judge(
    log: Log, number: int, position: int, standing: CheckpointedState, *, is_cut_off: bool = False
) -> Steps[None]:
    """Let those decide who answer for the log; they are told before anything is cut. Half an append may be missing
    after a crash, which nobody was told of; anything else is a loss. A file is begun when all is written that comes
    before it, so that what lies behind a bad batch was once part of the log."""
    segment = log.segments[number]
    is_partial = is_cut_off and number + 1 == len(log.segments)
    damage = Damage(
        log.topic,
        log.partition,
        segment.log.path,
        position,
        log.end_offset,
        max(log.end_offset, standing.recovery_point, (yield from _last_seen(log))),
        sum(each.size_bytes for each in log.segments[number:]) - position,
        is_partial,
        standing.can_be_torn(log.end_offset, is_partial),
    )
    if standing.clean or not is_partial:
        yield from log.context.before_loss()
    yield from log.context.on_damage(damage)


def _last_seen(log: Log) -> Steps[int]:
    """The offset after the last batch that can still be made out, by its header alone."""
    last = log.segments[-1]
    try:
        end_offset = yield from replay.load_tail(last)
    except CorruptBatch:
        end_offset = None
    return last.base_offset if end_offset is None else end_offset


def _drop_segments(log: Log, first: int) -> Steps[None]:
    for segment in reversed(log.segments[first:]):
        for file in segment.files():
            yield Unlink(file)
    del log.segments[first:]


def _drop_snapshots(log: Log, above_offset: int) -> Steps[None]:
    """Snapshots of a history that may have been lost must not come back, not even by power loss."""
    stale = [offset for offset in log.snapshot_offsets if offset > above_offset]
    for offset in stale:
        log.snapshot_offsets.remove(offset)
        yield from snapshots.remove(log.dir, offset)
    if stale:
        yield from sync_folder(log.dir)


def _finish(log: Log, standing: CheckpointedState, now_ms: int) -> Steps[None]:
    """Settle the offsets, when all the segments that remain are known."""
    if log.end_offset < log.start_offset:
        # The end was lost together with everything from the start on.
        yield from _drop_segments(log, 0)
        log.end_offset = log.start_offset
        log.producers = Producers()
        log.epochs = LeaderEpochs()
    if not log.segments:
        log.segments = [Segment(log.dir, log.end_offset, log.context.index_cache, now_ms)]
    log.active = log.segments[-1]
    if log.end_offset and not log.size_bytes():
        yield from anchor(log)
    log.aborted_end = _aborted_end(log)
    log.written_offset = log.end_offset
    log.synced_offset = log.end_offset if standing.clean else min(standing.recovery_point, log.end_offset)
    log.epochs.truncate_end(log.end_offset)
    log.epochs.truncate_start(log.start_offset)
    log.producers.expire(now_ms, log.context.producer_id_expiration_ms)
    yield from _drop_stray_snapshots(log)


def _aborted_end(log: Log) -> int:
    """The end of the last segment in which a transaction was aborted."""
    end_offset = log.end_offset
    for segment in reversed(log.segments):
        if segment.has_aborted:
            return end_offset
        end_offset = segment.base_offset
    return 0


def _drop_stray_snapshots(log: Log) -> Steps[None]:
    """Snapshots belong to a segment's base offset; of others only the newest is of use."""
    bases = {segment.base_offset for segment in log.segments}
    for offset in [o for o in log.snapshot_offsets[:-1] if o not in bases]:
        log.snapshot_offsets.remove(offset)
        yield from snapshots.remove(log.dir, offset)


class _Scan:
    """One untrusted segment, batch by batch: indexes, producers and epochs are folded as far as it is good."""

    __slots__ = ("_aborted", "_epochs", "_index", "_last_epoch", "_producers", "_segment", "is_torn", "next_offset")

    def __init__(self, segment: Segment, producers: Producers, epoch_cache: LeaderEpochs, interval_bytes: int) -> None:
        self._segment = segment
        self._producers = producers
        self._epochs = epoch_cache
        self._index = IndexBuilder(segment.base_offset, interval_bytes)
        self._last_epoch = -1
        self._aborted = bytearray()
        self.next_offset = segment.base_offset
        # Whether the file ends with the beginning of a batch, as an append leaves it that a crash has interrupted.
        self.is_torn = False

    def find_end(self) -> Steps[int]:
        """Fold everything up to the first thing that is bad; gives how many bytes are good."""
        segment, good_bytes = self._segment, 0
        while good_bytes < segment.size_bytes:
            data = yield from read_chunk(segment.log, good_bytes, segment.size_bytes)
            taken = self._take(data)
            if not taken:
                self.is_torn = _is_beginning(data, segment.size_bytes - good_bytes)
                break
            good_bytes += taken
            yield Pause()
        return good_bytes

    def settle(self, good_bytes: int, is_sealed: bool) -> Steps[None]:
        """Cut off what is bad, and write the indexes."""
        segment = self._segment
        if good_bytes < segment.size_bytes:
            yield Truncate(segment.log, good_bytes)
            # Or power loss could bring back what was cut, behind what is appended next.
            yield from sync_file(segment.log)
        segment.size_bytes = good_bytes
        segment.sealed = is_sealed
        segment.end_offset = self.next_offset
        yield from self._index.finish(segment)
        yield from segment.aborted.rewrite(bytes(self._aborted))

    def _take(self, data: bytes) -> int:
        """Fold the good batches at the beginning of `data`; gives how many bytes that were."""
        at = 0
        while at + HEADER_BYTES <= len(data):
            header = read_header(data, at)
            if not self._is_good(data, at, header):
                break
            self._fold(data, at, header)
            at += header.size
        return at

    def _is_good(self, data: Buffer, at: int, header: BatchHeader) -> bool:
        """The checksum does not cover offset and epoch: after power loss they may be zero where the rest is whole."""
        return (
            header.magic == MAGIC
            and header.size >= HEADER_BYTES
            and header.base_offset >= self.next_offset
            and header.last_offset_delta >= 0
            and header.last_offset - self._segment.base_offset <= RELATIVE_OFFSET_MAX
            and not 0 <= header.leader_epoch < self._last_epoch
            and checksum.is_valid(data, at, header)
        )

    def _fold(self, data: Buffer, at: int, header: BatchHeader) -> None:
        self._index.add(header)
        self._last_epoch = header.leader_epoch
        if header.leader_epoch != self._epochs.at(header.base_offset):
            # The epochs were stored before this was written, perhaps in place of something that was cut off.
            self._epochs.assign(header.leader_epoch, header.base_offset)
        if header.producer_id >= 0:
            aborted = replay.replay_batch(self._producers, data, at, header, header.base_offset)
            if aborted is not None:
                self._aborted += encode_aborted(aborted)
        self.next_offset = header.next_offset


def _is_beginning(data: Buffer, size_bytes: int) -> bool:
    """Whether what is left of a file is shorter than the batch it begins with."""
    if size_bytes < HEADER_BYTES:
        return True
    header = read_header(data)
    return header.magic == MAGIC and header.size > size_bytes
