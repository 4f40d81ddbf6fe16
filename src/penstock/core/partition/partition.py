"""A partition's leader: check, stamp, append; move the high watermark; tell whoever waits.

What a replica's end counts is decided here: Written bytes, or Synced ones where `flush.messages=1` asks for that. The
high watermark is the only thing that readers and acknowledgements look at.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple, Protocol

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Later, Slice
from penstock.core.base.settings import TopicSettings
from penstock.core.log.log import Log
from penstock.core.log.producers import Duplicate
from penstock.core.partition.rules import rules_of
from penstock.core.records.batch import BatchHeader
from penstock.core.records.validate import check_produced, conform

NO_TIMESTAMP = -1
READ_COMMITTED = 1
NEVER = 2**63 - 1

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Written by coordinators only."""


class Appended(NamedTuple):
    """Where a batch went, as the producer is told."""

    base_offset: int
    next_offset: int
    append_time_ms: int


class AckWaiter(Protocol):
    """Someone whose answer waits until an offset is committed."""

    def committed(self, partition: Partition, error: ErrorCode) -> None: ...


class Watcher(Protocol):
    """Someone who reads this partition and wants to hear of news."""

    def news(self, size: int) -> None: ...


class Partition:
    """The leader of one partition on this node."""

    __slots__ = (
        "_unannounced_bytes",
        "_waiting",
        "bytes_in",
        "high_watermark",
        "index",
        "internal",
        "leader_epoch",
        "log",
        "removed",
        "rules",
        "settings",
        "sync_each",
        "templates",
        "topic",
        "topic_id",
        "watchers",
    )

    def __init__(self, topic: str, index: int, topic_id: bytes, log: Log, epoch: int, settings: TopicSettings) -> None:
        self.topic = topic
        self.index = index
        self.topic_id = topic_id
        self.log = log
        self.leader_epoch = epoch
        self.internal = topic in INTERNAL_TOPICS
        self.removed = False
        # Replies to producers, ready but for their offsets, by version.
        self.templates: dict[int, tuple[bytes, bytes, int]] = {}
        self.watchers: dict[Watcher, None] = {}
        self._waiting: deque[tuple[int, AckWaiter]] = deque()
        self._unannounced_bytes = 0
        self.bytes_in = 0
        self.configure(settings)
        # What was recovered has been read back from the disk: it is as written as it will ever be.
        self.high_watermark = log.synced_offset if self.sync_each else log.written_offset
        log.on_progress = self.progressed

    def configure(self, settings: TopicSettings) -> None:
        """Take new topic settings, at once for everything that follows."""
        self.settings = settings
        self.rules = rules_of(settings)
        self.sync_each = settings.flush_messages == 1
        self.log.settings = settings

    @property
    def is_flushed(self) -> bool:
        """Whether the topic asks for flushes, and does not leave them to the system."""
        return self.settings.flush_messages < NEVER or self.settings.flush_ms < NEVER

    @property
    def last_stable_offset(self) -> int:
        """Below this every transaction is decided: what a read_committed reader may see."""
        return self.log.producers.last_stable_offset(self.high_watermark)

    def append(self, records: memoryview, version: int, now_ms: int) -> Appended:
        """Append what a producer sent, or find that it is here already; raises the error its producer gets."""
        self._check_log()
        before = self.bytes_in
        appended = self._accept(records, version, now_ms)
        self._write(before)
        return appended

    def append_run(self, run: list[memoryview], version: int, now_ms: int) -> list[Appended]:
        """Append batches that came in a row, with one write for all; stops before the first that is refused."""
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
        """Append a batch that this node made itself (coordinators); gives the offset after it."""
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
            self.log.request_flush()
            self._check_log()

    def _already_here(self, duplicate: Duplicate) -> Appended:
        time = duplicate.timestamp if self.rules.log_append_time else NO_TIMESTAMP
        return Appended(duplicate.base_offset, duplicate.last_offset + 1, time)

    def wait(self, next_offset: int, waiter: AckWaiter) -> bool:
        """Register for the commit of everything below `next_offset`; False when it is committed already."""
        if self.high_watermark >= next_offset:
            return False
        waiting = self._waiting
        at = len(waiting)
        # The retry of a batch that is still in flight belongs before those who came after the batch.
        while at and waiting[at - 1][0] > next_offset:
            at -= 1
        waiting.insert(at, (next_offset, waiter))
        return True

    def progressed(self) -> None:
        """The log tells that bytes were written or synced since, or that some were lost."""
        self.advance()
        log = self.log
        code = ErrorCode.KAFKA_STORAGE_ERROR
        while self._waiting and (log.failure is not None or self._waiting[-1][0] > log.end_offset):
            # Appends complete in order, so what was lost is always the newest.
            _, waiter = self._waiting.pop()
            waiter.committed(self, code)

    def advance(self) -> None:
        """Move the high watermark as far as this replica's end allows and tell those who waited."""
        log = self.log
        end = log.synced_offset if self.sync_each else log.written_offset
        if end <= self.high_watermark:
            return
        self.high_watermark = end
        waiting = self._waiting
        while waiting and waiting[0][0] <= end:
            waiting.popleft()[1].committed(self, ErrorCode.NONE)
        size, self._unannounced_bytes = self._unannounced_bytes, 0
        for watcher in self.watchers:
            watcher.news(size)

    def limit(self, isolation: int) -> int:
        """How far a reader at this isolation level may see."""
        return self.last_stable_offset if isolation == READ_COMMITTED else self.high_watermark

    def read_cached(self, offset: int, max_bytes: int, isolation: int, min_one: bool) -> Slice | Later | None:
        """Read without touching the disk, or say that `log.read` must be asked."""
        return self.log.read_cached(offset, max_bytes, self.limit(isolation), min_one)

    def remove(self) -> None:
        """The topic is gone: nobody waits for it any longer."""
        self.removed = True
        self.log.on_progress = None
        while self._waiting:
            self._waiting.popleft()[1].committed(self, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        for watcher in list(self.watchers):
            watcher.news(0)
        self.watchers.clear()
