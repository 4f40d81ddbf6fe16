"""The metadata log with a quorum of one: append, sync, fold, publish.

Two images exist: `latest` has every record that was appended, so that decisions see each other at once; the published
one has what is committed, which for metadata means Synced. Whoever asked is answered after the node has acted on it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Steps
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

Committed = Callable[[ErrorCode], None]
Publish = Callable[[Image, Delta, Committed], None]


class Quorum:
    """The only voter: what it has synced is committed."""

    def __init__(self, log: Log, tasks: Tasks, publish: Publish) -> None:
        self._log = log
        self._tasks = tasks
        self._publish = publish
        self._uncommitted: deque[tuple[Image, Delta, Committed]] = deque()
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
        batch = build_batch([(None, encode_record(record), (), now_ms) for record in records])
        try:
            self._log.append(batch, read_header(batch), METADATA_EPOCH, now_ms)
        except ApiError as error:
            done(error.code)
            return
        self.latest, delta = fold(self.latest, records, self._log.end_offset - 1)
        self._uncommitted.append((self.latest, delta, done))
        self._sync_written()

    def _progressed(self) -> None:
        """The log tells that appends were written, or that some were lost: those never happened."""
        queue, lost = self._uncommitted, []
        while queue and queue[-1][0].offset >= self._log.end_offset:
            lost.append(queue.pop()[2])
        if lost:
            self.latest = queue[-1][0] if queue else self._committed
        for done in reversed(lost):
            done(ErrorCode.KAFKA_STORAGE_ERROR)
        self._sync_written()

    def _sync_written(self) -> None:
        queue, log = self._uncommitted, self._log
        if queue and not self._syncing and log.failure is None and queue[0][0].offset < log.written_offset:
            self._syncing = True
            self._tasks.run(log.flush(), self._synced)

    def _synced(self, outcome: object) -> None:
        """One sync serves everything appended before it; what came meanwhile needs another."""
        self._syncing = False
        queue = self._uncommitted
        if isinstance(outcome, Exception):
            self._refuse_waiting()
            return
        while queue and queue[0][0].offset < self._log.synced_offset:
            image, delta, done = queue.popleft()
            self._committed = image
            self._publish(image, delta, done)
        self._sync_written()

    def _refuse_waiting(self) -> None:
        """Nobody is kept waiting for a disk that fails. But the records are in the log, and come true with the next
        sync that succeeds."""
        waiting = list(self._uncommitted)
        self._uncommitted = deque((image, delta, _told_already) for image, delta, _ in waiting)
        for _, _, done in waiting:
            done(ErrorCode.KAFKA_STORAGE_ERROR)


def _told_already(code: ErrorCode) -> None:
    """Whoever asked has heard that it failed."""
