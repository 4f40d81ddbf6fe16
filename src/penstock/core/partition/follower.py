"""A follower: keeps its log equal to its leader's, batch for batch, as far as it goes.

Its one idea is its `position`: where its log ends and in which epoch. The leader compares that with its own log and
sends what comes next, or says where the two part; then the follower cuts and asks again. It asks for nothing while a
write, a sync or a cut is under way, because asking for an offset tells the leader that everything below it is safe
here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import FileFailure, Steps
from penstock.core.base.settings import TopicSettings
from penstock.core.log.log import Log
from penstock.core.partition.divergence import NO_EPOCH, EpochEnd, truncation_offset
from penstock.core.partition.in_sync import Assignment
from penstock.core.partition.partition import Partition
from penstock.core.records import checksum
from penstock.core.records.batch import BatchHeader, iterate_headers
from penstock.core.records.errors import CorruptBatch
from penstock.core.wire.api.fetch import PartitionData


class Position(NamedTuple):
    """What a follower asks for, and what it says of itself with that."""

    offset: int
    last_epoch: int
    start_offset: int
    leader_epoch: int

    def is_at(self, asked: Position) -> bool:
        """Whether an answer to what was asked goes on here. Where the log begins does not matter: retention may have
        moved that meanwhile, and with it what is known of the epoch before."""
        return self.offset == asked.offset and self.leader_epoch == asked.leader_epoch


class Loss(NamedTuple):
    """From a segment on the log is not what was written."""

    offset: int
    found_ms: int
    cut: Callable[[], None]


class Follower(Partition):
    """A replica that follows one leader through one epoch."""

    __slots__ = (
        "_committed",
        "_copied_end",
        "_lost",
        "copied_batches",
        "is_cutting",
        "leader",
        "lost_by",
        "may_lose",
        "on_change",
        "on_stop",
        "stopped",
        "truncations",
    )

    def __init__(
        self,
        topic: str,
        index: int,
        topic_id: bytes,
        log: Log,
        settings: TopicSettings,
        assignment: Assignment,
        high_watermark: int,
        *,
        may_lose: bool,
    ) -> None:
        """`may_lose`: the leader may lack what was committed, because its election was unclean, or because nobody here
        can tell that it and all elections before it were not."""
        super().__init__(topic, index, topic_id, log, assignment.leader_epoch, settings)
        self.leader = assignment.leader
        self.may_lose = may_lose
        self.high_watermark = max(log.start_offset, min(high_watermark, log.end_offset))
        # As far as the leader has said that it is committed; it may be ahead of what is here.
        self._committed = self.high_watermark
        self.is_cutting = False
        # What is to be cut off as soon as nothing is in flight, and whom to tell.
        self._lost: Loss | None = None
        self._copied_end = log.end_offset
        # Why the disk did not take what was copied; asking again at once would only find it as it was before.
        self.lost_by: FileFailure | None = None
        self.stopped: str | None = None
        self.truncations = 0
        self.copied_batches = 0
        # Told whenever the position may have changed by itself: a write is done, a cut is.
        self.on_change: Callable[[], None] = lambda: None
        self.on_stop: Callable[[str], None] = lambda why: None
        # An epoch in which this replica led and wrote nothing leaves no trace.
        log.epochs.truncate_end(log.end_offset)
        self.sync_written()

    @property
    def is_busy(self) -> bool:
        """Whether the disk still has to do something before it can be said what is here."""
        return (
            self.is_cutting
            or self._lost is not None
            or self.log.blocked is not None
            or self.counted_end < self.log.end_offset
        )

    @property
    def beyond_end(self) -> ErrorCode:
        return ErrorCode.OFFSET_NOT_AVAILABLE

    @property
    def position(self) -> Position | None:
        """What to fetch next; None while that cannot be said."""
        log = self.log
        if self.stopped is not None or self.removed or self.is_busy:
            return None
        last_epoch = log.epoch_at(log.end_offset - 1) if log.end_offset > log.start_offset else NO_EPOCH
        return Position(log.end_offset, last_epoch, log.start_offset, self.leader_epoch)

    def take(self, data: PartitionData, now_ms: int) -> ErrorCode:
        """Act on what the leader says of this partition, in answer to the position that still is this follower's."""
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and data.log_start_offset >= 0:
            self._restart(data.log_start_offset, now_ms)
            return ErrorCode.NONE
        if data.error_code:
            return ErrorCode(data.error_code)
        diverging = data.diverging_epoch
        if diverging is not None and diverging.end_offset >= 0:
            self._truncate(truncation_offset(self.log, EpochEnd(diverging.epoch, diverging.end_offset)))
            return ErrorCode.NONE
        try:
            self._copy(data, now_ms)
        except CorruptBatch:
            return ErrorCode.CORRUPT_MESSAGE
        except ApiError as error:
            return error.code
        # Our log is the beginning of our leader's: whatever was in doubt is decided.
        self.may_lose = False
        self._committed = max(self._committed, data.high_watermark)
        self._catch_up()
        self._move_start(data.log_start_offset)
        return ErrorCode.NONE

    # Copying

    def _copy(self, data: PartitionData, now_ms: int) -> None:
        """Append the whole batches of an answer, whose end may have been cut anywhere."""
        records = data.records
        if not records:
            return
        assert isinstance(records, bytes | bytearray | memoryview), "what has arrived is in memory"
        view = memoryview(records)
        if view.readonly:
            # The log stamps what it accepts, though here with what stands there already.
            view = memoryview(bytearray(records))
        try:
            for at, header in iterate_headers(view, partial_tail=True):
                if not self._continues(view, at, header):
                    break
                batch = view[at : at + header.size]
                self.log.accept_copy(batch, header, now_ms)
                self._unannounced_bytes += len(batch)
                self.copied_batches += 1
        finally:
            self._copied_end = self.log.end_offset
            self.log.write_accepted()
        self.sync_written()

    def _continues(self, data: memoryview, at: int, header: BatchHeader) -> bool:
        """Whether a batch belongs behind what is here; False ends an answer that has nothing more for us."""
        log = self.log
        if header.leader_epoch > self.leader_epoch:
            # Written by a leader that we do not follow yet: there may be more to compare first.
            raise ApiError(ErrorCode.UNKNOWN_LEADER_EPOCH)
        if not checksum.is_valid(data, at, header):
            raise CorruptBatch("the checksum does not match", position=at, offset=header.base_offset)
        if header.base_offset < log.end_offset:
            # The leader has put batches together since, and our log ends within one of them.
            self._cut(log.truncate_to(header.base_offset))
            return False
        if header.leader_epoch < log.epochs.latest:
            raise CorruptBatch(
                f"epoch {header.leader_epoch} after {log.epochs.latest}", position=at, offset=header.base_offset
            )
        return True

    def _catch_up(self) -> None:
        """Follow the leader's high watermark as far as the log reaches."""
        reached = min(self._committed, self.counted_end)
        if reached > self.high_watermark:
            self.high_watermark = reached
            self.announce()

    def _move_start(self, offset: int) -> None:
        """What the leader has deleted goes here too, if it is known to be committed."""
        offset = min(offset, self.high_watermark)
        if offset > self.log.start_offset:
            self.log.context.tasks.run(self.log.delete_records(offset))

    def progressed(self) -> None:
        self._begin_loss()
        if self.log.end_offset < self._copied_end:
            self._copied_end = self.log.end_offset
            self.lost_by = self.log.undone
        self.sync_written()
        self._catch_up()
        self.on_change()

    # Cutting

    def _truncate(self, offset: int) -> None:
        """Cut off what the leader does not have. Were that committed, either we or our leader would be mistaken; only
        an unclean election explains it, and otherwise what is here may be the last copy."""
        if offset < self.high_watermark and not self.may_lose:
            self._stop(f"leader {self.leader} lacks what is committed: {offset}..{self.high_watermark}")
            return
        self.truncations += 1
        self._cut(self.log.truncate_to(offset))

    def _restart(self, start_offset: int, now_ms: int) -> None:
        """The leader has nothing that would come next here: begin where it begins."""
        if start_offset < self.high_watermark and not self.may_lose:
            self._stop(f"leader {self.leader} begins at {start_offset} and lacks what is committed here")
            return
        self._cut(self.log.restart_at(start_offset, now_ms))

    def lose(self, offset: int, now_ms: int, cut: Callable[[], None]) -> None:
        """Cut off a segment that is damaged, and what lies behind it; then `cut` is called. The leader has all of it,
        and nobody takes this replica for one that has."""
        self._lost = Loss(offset, now_ms, cut)
        self._begin_loss()

    def _begin_loss(self) -> None:
        """What is in flight has to end first, though nobody waits for it."""
        lost = self._lost
        if lost is None or self.is_cutting or self.removed or self.log.is_writing:
            return
        is_all = lost.offset <= self.log.segments[0].base_offset
        # Where records were deleted within the first segment, the log does not begin where that does.
        self._cut(
            self.log.restart_at(self.log.start_offset, lost.found_ms) if is_all else self.log.truncate_to(lost.offset)
        )

    def _stop(self, why: str) -> None:
        """Follow no further in this epoch: a person, or another leader, has to decide."""
        self.stopped = why
        self.on_stop(why)

    def _cut(self, steps: Steps[None]) -> None:
        self.is_cutting = True
        self._copied_end = 0
        self.log.context.tasks.run(steps, self._is_cut)

    def _is_cut(self, result: object) -> None:
        self.is_cutting = False
        if isinstance(result, FileFailure):
            self.log.fail(result)
        elif isinstance(result, Exception):
            raise result
        self.high_watermark = max(self.log.start_offset, min(self.high_watermark, self.log.end_offset))
        self._committed = self.high_watermark
        lost, self._lost = self._lost, None
        if lost is not None and self.log.end_offset <= max(lost.offset, self.log.start_offset):
            lost.cut()
        self.on_change()
