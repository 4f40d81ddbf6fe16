"""A leader on its own: check, stamp, append; move the high watermark; tell whoever waits.

What it has is committed: there is no other replica. `replicated` adds the others to it.
"""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Buffer
from penstock.core.base.settings import TopicSettings
from penstock.core.log.log import Log
from penstock.core.log.producers import Duplicate
from penstock.core.partition.in_sync import Assignment
from penstock.core.partition.partition import ACKS_ALL, NO_TIMESTAMP, AckWaiter, Appended, Partition
from penstock.core.partition.rules import rules_of
from penstock.core.partition.schema_source import NO_SCHEMAS, SchemaSource
from penstock.core.partition.stage import Ready, Stage, Staged
from penstock.core.partition.verification import ONGOING, Begins, Verification, Verifications, stale
from penstock.core.records.batch import (
    CODEC_MASK,
    HEADER_BYTES,
    TRANSACTIONAL_BIT,
    BatchHeader,
    make_tuple,
    read_header,
    set_log_append_time,
)
from penstock.core.records.control import EndTransaction, build_end_transaction
from penstock.core.records.errors import BodyTooLarge, RecordError
from penstock.core.records.examine import examine
from penstock.core.records.fitting import has_usual_heads
from penstock.core.records.schema_ids import NOTHING_KNOWN, SchemasWanted
from penstock.core.records.validate import NeedsReading, Rules, check_produced
from penstock.core.rsm.result import Marker

Waiting = deque[tuple[int, AckWaiter]]

INLINE_RATIO_MAX = 4
"""How many times its size a small batch may unpack to where it comes in."""
INLINE_RECORD_BYTES_MIN = 64
"""Smaller records than these on average are many for their size: reading them takes longer than the way to a worker."""


class Leader(Partition):
    """The leader of a partition that has no other replica."""

    __slots__ = ("_waiting", "rules", "schemas", "verifications")

    leads: ClassVar[bool] = True
    rules: Rules

    def __init__(self, topic: str, index: int, topic_id: bytes, log: Log, epoch: int, settings: TopicSettings) -> None:
        self._waiting: Waiting = deque()
        self.verifications = Verifications()
        self.schemas: SchemaSource = NO_SCHEMAS
        super().__init__(topic, index, topic_id, log, epoch, settings)
        # What was recovered has been read back from the disk: it is as written as it will ever be.
        self.high_watermark = self.counted_end

    def configure(self, settings: TopicSettings) -> None:
        super().configure(settings)
        self.rules = rules_of(settings, self.topic)

    def update(self, assignment: Assignment) -> None:
        """This replica leads on, perhaps in another epoch."""
        self.leader_epoch = assignment.leader_epoch

    def verification(self, header: Begins, bumps_epoch: bool, now_ms: int) -> Verification:
        producer, epoch = self.log.producers.get(header.producer_id), header.producer_epoch
        if producer is not None and epoch < producer.epoch:
            raise stale(producer, header)
        if producer is not None and producer.is_in_transaction(epoch):
            return ONGOING
        return self.verifications.begin(header, bumps_epoch, now_ms)

    def append(
        self, records: memoryview, version: int, now_ms: int, acks: int, vouched: Verification | None = None
    ) -> Appended:
        self._admit(acks)
        before, end = self.bytes_in, self.log.end_offset
        appended = self._accept(records, version, now_ms, vouched)
        self._write(before, end, 1)
        if self.traffic.intake.due_ms <= now_ms:
            self.traffic.intake.sample(records, now_ms)
        return appended

    def append_run(
        self, run: list[memoryview], version: int, now_ms: int, acks: int, vouched: Verification | None = None
    ) -> list[Appended]:
        before, end = self.bytes_in, self.log.end_offset
        appended: list[Appended] = []
        if self.stage is not None:
            return appended
        rules = self.rules
        try:
            self._admit(acks)
            for records in run:
                if rules.is_plain:
                    header = check_produced(records, rules, version, now_ms)
                    appended.append(self._place(records, header, rules, now_ms, vouched))
                else:
                    appended.append(self._accept(records, version, now_ms, vouched))
        except (ApiError, NeedsReading):
            # It has changed nothing; whoever asks again for it alone hears why.
            pass
        self._write(before, end, len(appended))
        if appended and self.traffic.intake.due_ms <= now_ms:
            self.traffic.intake.sample(run[0], now_ms)
        return appended

    def _accept(self, records: memoryview, version: int, now_ms: int, vouched: Verification | None) -> Appended:
        """Check a batch and give it its offset; it is not handed to the file yet."""
        rules = self.rules
        try:
            header = check_produced(records, rules, version, now_ms)
            if (rules.rewrites and rules.recompresses(header)) or (
                rules.looks_at_heads and not self._has_usual_heads(records, header)
            ):
                raise NeedsReading(header)
        except NeedsReading as question:
            records = self._read_here(records, question.header, now_ms)
            header = read_header(records)
        return self._place(records, header, rules, now_ms, vouched)

    def _read_here(self, records: memoryview, header: BatchHeader, now_ms: int) -> memoryview:
        """What becomes of a batch that is read at once, because it is small however it is looked at."""
        rules = self.rules
        inline_bytes_max = rules.inline_bytes_max
        is_long = len(records) > inline_bytes_max or header.count * INLINE_RECORD_BYTES_MIN > inline_bytes_max
        if is_long or rules.reads_payloads:
            raise NeedsReading(header)
        unpacked_bytes_max = min(INLINE_RATIO_MAX * inline_bytes_max, rules.unpacked_bytes_max)
        known = self.schemas.known(self.topic, rules.demands) if rules.demands else NOTHING_KNOWN
        try:
            examined = examine(records, rules, now_ms, unpacked_bytes_max, known)
        except (BodyTooLarge, SchemasWanted):
            raise NeedsReading(header) from None
        except RecordError:
            if rules.diverts:
                raise NeedsReading(header) from None
            if self.has_taken(records):
                return records
            raise
        if rules.diverts and self.has_taken(records):
            # Some of it may have become dead letters when it came first.
            raise NeedsReading(header)
        return memoryview(examined)

    def _has_usual_heads(self, records: memoryview, header: BatchHeader) -> bool:
        """Whether each value begins with a schema that is known to be right."""
        rules = self.rules
        if header.attributes & CODEC_MASK or header.count * INLINE_RECORD_BYTES_MIN > rules.inline_bytes_max:
            return False
        heads = self.schemas.known(self.topic, rules.demands).heads
        return has_usual_heads(bytes(records), HEADER_BYTES, header.count, heads)

    def has_taken(self, records: Buffer) -> bool:
        """Whether a batch that would be refused is here already: its producer, who did not hear of that, must hear of
        it now, whatever has become of the schema since."""
        header = read_header(records)
        try:
            return header.producer_id >= 0 and self.log.producers.check(header) is not None
        except ApiError:
            return False

    def append_later(self, records: memoryview, version: int, now_ms: int, ready: Ready) -> None:
        needs_reading = False
        try:
            header = check_produced(records, self.rules, version, now_ms)
            if self.rules.recompresses(header) or (
                self.rules.looks_at_heads and not self._has_usual_heads(records, header)
            ):
                raise NeedsReading(header)
        except NeedsReading as question:
            try:
                records = self._read_here(records, question.header, now_ms)
            except NeedsReading:
                needs_reading = True
        if self.stage is None:
            self.stage = Stage(self)
        self.stage.put(Staged(bytearray(records), self.rules, needs_reading, now_ms, ready))

    def append_examined(
        self, records: bytearray, now_ms: int, acks: int, vouched: Verification | None = None
    ) -> Appended:
        """Append a batch that has been through the stage."""
        self._admit(acks)
        before, end = self.bytes_in, self.log.end_offset
        appended = self._place(memoryview(records), read_header(records), self.rules, now_ms, vouched)
        self._write(before, end, 1)
        return appended

    def _place(
        self, records: memoryview, header: BatchHeader, rules: Rules, now_ms: int, vouched: Verification | None
    ) -> Appended:
        """Give a batch that is fine its offset, unless it is here already."""
        log = self.log
        if header.producer_id >= 0:
            if header.attributes & TRANSACTIONAL_BIT:
                self.check_vouched(header, vouched)
            duplicate = log.producers.check(header)
            if duplicate is not None:
                return self._already_here(duplicate)
        append_time_ms = NO_TIMESTAMP
        if rules.log_append_time:
            set_log_append_time(records, 0, now_ms)
            header, append_time_ms = read_header(records), now_ms
        base_offset = log.accept(records, header, self.leader_epoch, now_ms)
        if header.attributes & TRANSACTIONAL_BIT:
            self.verifications.written(header.producer_id)
        self.bytes_in += len(records)
        return make_tuple(Appended, (base_offset, self.log.end_offset, append_time_ms))

    def check_vouched(self, header: Begins, vouched: Verification | None) -> None:
        if vouched is None:
            raise ApiError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "the batch has no transactional id")
        producer = self.log.producers.get(header.producer_id)
        if producer is None or not producer.is_in_transaction(header.producer_epoch):
            vouched.admit(producer, header)

    def _write(self, bytes_before: int, end_before: int, batches: int) -> None:
        """Hand to the file what has been accepted since `bytes_in` and the end of the log stood there; all may have
        been here already."""
        size = self.bytes_in - bytes_before
        if size:
            self.traffic.took(batches, size, self.log.end_offset - end_before)
            self.log.write_accepted()
            self._appended(size)

    def append_own(self, batch: bytearray, header: BatchHeader, now_ms: int) -> int:
        self._admit(ACKS_ALL)
        base_offset = self.log.append(batch, header, self.leader_epoch, now_ms)
        if self.verifications and header.is_transactional and not header.is_control:
            self.verifications.written(header.producer_id)
        self._appended(len(batch))
        return base_offset + header.last_offset_delta + 1

    def end_transaction(self, marker: Marker, now_ms: int) -> int:
        (producer_id, epoch), committed, coordinator_epoch, transaction_version = marker
        end = EndTransaction(committed, coordinator_epoch)
        self.log.producers.check_end(producer_id, epoch, end, transaction_version)
        batch = build_end_transaction(end, producer_id, epoch, now_ms)
        next_offset = self.append_own(batch, read_header(batch), now_ms)
        self.verifications.marked(producer_id, epoch)
        return next_offset

    def expire_producers(self, now_ms: int, expiration_ms: int) -> None:
        super().expire_producers(now_ms, expiration_ms)
        self.verifications.expire(now_ms, expiration_ms)

    def _admit(self, acks: int) -> None:
        """Whether an append may be acknowledged as its producer asks; otherwise it is better not made."""
        if self.log.failure is not None:
            self._check_log()

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
        if self.stage is not None:
            self.stage.fail(error)
        self.verifications.fail(error)
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
