"""The metadata log with a quorum of one: append, sync, fold, publish.

Two images exist: `latest` has every record that was submitted, so that decisions see each other at once; the published
one has what is committed, which for metadata means Synced. Whoever asked is answered after the node has acted on it.
What is submitted is appended in that order, large submissions after some turns, because their encoding takes that long.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Pause, Steps
from penstock.core.base.steps import Tasks
from penstock.core.log.log import Log
from penstock.core.metadata.fold import Delta, fold
from penstock.core.metadata.framing import decode_record, encode_record
from penstock.core.metadata.image import Image
from penstock.core.node.folding import fold_log
from penstock.core.records.batch import BatchHeader, read_header
from penstock.core.records.build import build_batch
from penstock.core.records.record import iterate
from penstock.core.wire.schema import StoredRecord

METADATA_TOPIC = "__cluster_metadata"
METADATA_EPOCH = 1
ENCODED_PER_TURN_MAX = 1_000
"""Records that are encoded before others get their turn: some milliseconds of work."""

Committed = Callable[[ErrorCode], None]
Publish = Callable[[Image, Delta, Committed], None]


class _Submission(NamedTuple):
    """Records on their way, the image that has them, and who waits for that."""

    image: Image
    delta: Delta
    done: Committed
    records: Sequence[StoredRecord] = ()


class Quorum:
    """The only voter: what it has synced is committed."""

    def __init__(self, log: Log, tasks: Tasks, publish: Publish) -> None:
        self._log = log
        self._tasks = tasks
        self._publish = publish
        self._unwritten: deque[_Submission] = deque()
        self._uncommitted: deque[_Submission] = deque()
        self._writing = False
        self._syncing = False
        self._committed = Image()
        self.latest = Image()
        log.on_progress = self._progressed

    @property
    def end_offset(self) -> int:
        return self._log.end_offset

    @property
    def log(self) -> Log:
        return self._log

    def load(self) -> Steps[Image]:
        """Fold what the log holds; called once, before anything is submitted."""

        def take(data: bytes, position: int, header: BatchHeader) -> None:
            records = [decode_record(record.value or b"") for record in iterate(data, position)]
            self.latest, _ = fold(self.latest, records, header.last_offset)

        yield from fold_log(self._log, take)
        self._committed = self.latest
        return self.latest

    def submit(self, records: Sequence[StoredRecord], now_ms: int, done: Committed) -> None:
        """Append records as one atomic batch; `done` is called once they are committed and acted upon."""
        if self._log.failure is not None:
            done(ErrorCode.KAFKA_STORAGE_ERROR)
            return
        self.latest, delta = fold(self.latest, records, self._next_offset + len(records) - 1)
        self._unwritten.append(_Submission(self.latest, delta, done, records))
        if not self._writing:
            self._writing = True
            self._tasks.run(self._write(now_ms))

    @property
    def is_settled(self) -> bool:
        """Whether all that `latest` has is committed, so that it can be told."""
        return not (self._unwritten or self._uncommitted)

    def when_settled(self, done: Committed) -> None:
        """Call once all that `latest` has now is committed, or with the error that leaves it open."""
        assert not self.is_settled, "there is nothing to wait for"
        if self._log.failure is not None:
            done(ErrorCode.KAFKA_STORAGE_ERROR)
            return
        queue = self._unwritten or self._uncommitted
        last = queue[-1]

        def both(code: ErrorCode) -> None:
            last.done(code)
            done(code)

        queue[-1] = last._replace(done=both)

    @property
    def _next_offset(self) -> int:
        waiting = self._unwritten
        return waiting[-1].image.offset + 1 if waiting else self._log.end_offset

    def _write(self, now_ms: int) -> Steps[None]:
        """Append what was submitted, one submission after the other."""
        while self._unwritten:
            submission = self._unwritten[0]
            values = yield from _encode(submission.records)
            if not self._unwritten or self._unwritten[0] is not submission:
                continue  # One before it was lost meanwhile, and this one with it.
            batch = build_batch([(None, value, (), now_ms) for value in values])
            try:
                self._log.append(batch, read_header(batch), METADATA_EPOCH, now_ms)
            except ApiError as error:
                self._lose([], error.code)
                continue
            self._unwritten.popleft()
            self._uncommitted.append(submission._replace(records=()))
            self._sync_written()
        self._writing = False

    def _progressed(self) -> None:
        """The log tells that appends were written, or that some were lost: those never happened."""
        queue, lost = self._uncommitted, []
        while queue and queue[-1].image.offset >= self._log.end_offset:
            lost.append(queue.pop())
        if lost:
            self._lose(lost[::-1], ErrorCode.KAFKA_STORAGE_ERROR)
        self._sync_written()

    def _lose(self, lost: list[_Submission], code: ErrorCode) -> None:
        """What is not in the log never happened, nor did anything that was decided on top of it."""
        queue = self._uncommitted
        lost += self._unwritten
        self._unwritten.clear()
        self.latest = queue[-1].image if queue else self._committed
        for submission in lost:
            submission.done(code)

    def _sync_written(self) -> None:
        queue, log = self._uncommitted, self._log
        if queue and not self._syncing and log.failure is None and queue[0].image.offset < log.written_offset:
            self._syncing = True
            self._tasks.run(log.flush(), self._synced)

    def _synced(self, outcome: object) -> None:
        """One sync serves everything appended before it; what came meanwhile needs another."""
        self._syncing = False
        queue = self._uncommitted
        if isinstance(outcome, Exception):
            self._refuse_waiting()
            return
        while queue and queue[0].image.offset < self._log.synced_offset:
            submission = queue.popleft()
            self._committed = submission.image
            self._publish(submission.image, submission.delta, submission.done)
        self._sync_written()

    def _refuse_waiting(self) -> None:
        """Nobody is kept waiting for a disk that fails. But the records are in the log, and come true with the next
        sync that succeeds."""
        waiting = list(self._uncommitted)
        self._uncommitted = deque(submission._replace(done=_told_already) for submission in waiting)
        for submission in waiting:
            submission.done(ErrorCode.KAFKA_STORAGE_ERROR)


def _encode(records: Sequence[StoredRecord]) -> Steps[list[bytes]]:
    values: list[bytes] = []
    for number, record in enumerate(records):
        if number and number % ENCODED_PER_TURN_MAX == 0:
            yield Pause()
        values.append(encode_record(record))
    return values


def _told_already(code: ErrorCode) -> None:
    """Whoever asked has heard that it failed."""
