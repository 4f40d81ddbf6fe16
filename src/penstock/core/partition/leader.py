"""A leader on its own: check, stamp, append; move the high watermark; tell whoever waits.

What it has is committed: there is no other replica. `replicated` adds the others to it.
"""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.settings import TopicSettings
from penstock.core.log.log import Log
from penstock.core.log.producers import Duplicate
from penstock.core.partition.in_sync import Assignment
from penstock.core.partition.partition import ACKS_ALL, NO_TIMESTAMP, AckWaiter, Appended, Partition
from penstock.core.partition.rules import rules_of
from penstock.core.records.batch import BatchHeader
from penstock.core.records.validate import Rules, check_produced, conform

Waiting = deque[tuple[int, AckWaiter]]


class Leader(Partition):
    """The leader of a partition that has no other replica."""

    __slots__ = ("_waiting", "rules")

    leads: ClassVar[bool] = True
    rules: Rules

    def __init__(self, topic: str, index: int, topic_id: bytes, log: Log, epoch: int, settings: TopicSettings) -> None:
        self._waiting: Waiting = deque()
        super().__init__(topic, index, topic_id, log, epoch, settings)
        # What was recovered has been read back from the disk: it is as written as it will ever be.
        self.high_watermark = self.counted_end

    def configure(self, settings: TopicSettings) -> None:
        super().configure(settings)
        self.rules = rules_of(settings)

    def update(self, assignment: Assignment) -> None:
        """This replica leads on, perhaps in another epoch."""
        self.leader_epoch = assignment.leader_epoch

    def append(self, records: memoryview, version: int, now_ms: int, acks: int) -> Appended:
        self._check_log()
        before = self.bytes_in
        appended = self._accept(records, version, now_ms)
        self._write(before)
        return appended

    def append_run(self, run: list[memoryview], version: int, now_ms: int, acks: int) -> list[Appended]:
        if self.log.failure is not None:
            return []
        before = self.bytes_in
        appended = []
        try:
            for records in run:
                appended.append(self._accept(records, version, now_ms))
        except ApiError:
            # It has changed nothing; whoever asks again for it alone hears why.
            pass
        self._write(before)
        return appended

    def _accept(self, records: memoryview, version: int, now_ms: int) -> Appended:
        """Check a batch and give it its offset; it is not handed to the file yet."""
        log, rules = self.log, self.rules
        header = check_produced(records, rules, version, now_ms)
        if header.producer_id >= 0:
            if header.is_transactional:
                # Nobody here could ever end the transaction, and committed readers would wait for that for good.
                raise ApiError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "transactions are not served here")
            duplicate = log.producers.check(header)
            if duplicate is not None:
                return self._already_here(duplicate)
        append_time_ms = NO_TIMESTAMP
        if rules.rewrites:
            records, header = conform(records, header, rules, now_ms)
            append_time_ms = now_ms if rules.log_append_time else NO_TIMESTAMP
        base_offset = log.accept(records, header, self.leader_epoch, now_ms)
        self.bytes_in += len(records)
        return Appended(base_offset, base_offset + header.last_offset_delta + 1, append_time_ms)

    def _write(self, bytes_before: int) -> None:
        """Hand to the file what has been accepted since `bytes_in` stood there; all may have been here already."""
        size = self.bytes_in - bytes_before
        if size:
            self.log.write_accepted()
            self._appended(size)

    def append_own(self, batch: bytearray, header: BatchHeader, now_ms: int) -> int:
        self._check_log()
        base_offset = self.log.append(batch, header, self.leader_epoch, now_ms)
        self._appended(len(batch))
        return base_offset + header.last_offset_delta + 1

    def _check_log(self) -> None:
        failure = self.log.failure
        if failure is not None:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, failure.message)

    def _appended(self, size: int) -> None:
        self._unannounced_bytes += size
        self.advance()
        if self.sync_each:
            self.sync_written()
            self._check_log()

    def _already_here(self, duplicate: Duplicate) -> Appended:
        time = duplicate.timestamp if self.rules.log_append_time else NO_TIMESTAMP
        return Appended(duplicate.base_offset, duplicate.last_offset + 1, time)

    def wait(self, next_offset: int, waiter: AckWaiter, acks: int = ACKS_ALL) -> bool:
        if self.high_watermark >= next_offset:
            return False
        enqueue(self._waiting, next_offset, waiter)
        return True

    def progressed(self) -> None:
        self.sync_written()
        self.advance()
        self._fail_lost(self._waiting)

    def _fail_lost(self, waiting: Waiting) -> None:
        """Appends complete in order, so what was lost is always the newest."""
        log = self.log
        while waiting and (log.failure is not None or waiting[-1][0] > log.end_offset):
            waiting.pop()[1].committed(self, ErrorCode.KAFKA_STORAGE_ERROR)

    def advance(self) -> None:
        """Move the high watermark as far as this replica's end allows and tell those who waited."""
        log = self.log
        end = log.synced_offset if self.sync_each else log.written_offset
        if end > self.high_watermark:
            self._commit(end)

    def _commit(self, end: int) -> None:
        self.high_watermark = end
        waiting = self._waiting
        while waiting and waiting[0][0] <= end:
            waiting.popleft()[1].committed(self, ErrorCode.NONE)
        size, self._unannounced_bytes = self._unannounced_bytes, 0
        for watcher in self.watchers:
            watcher.news(size)

    def remove(self, error: ErrorCode = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) -> None:
        super().remove(error)
        # The newest first, as for everything that is lost.
        self._fail_all(self._waiting, error)

    def _fail_all(self, waiting: Waiting, error: ErrorCode) -> None:
        while waiting:
            waiting.pop()[1].committed(self, error)


def enqueue(waiting: Waiting, next_offset: int, waiter: AckWaiter) -> None:
    """The retry of a batch that is still in flight belongs before those who came after the batch."""
    at = len(waiting)
    while at and waiting[at - 1][0] > next_offset:
        at -= 1
    waiting.insert(at, (next_offset, waiter))
