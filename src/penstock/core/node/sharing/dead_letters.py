"""Records that a share group gives up, on their way to the topic of dead letters: batch by batch of the log, each
written before the next is read.

A letter may be written twice, where the leader dies before it is stored that the record is done with, and never not at
all. What compaction or retention took meanwhile is no record any more, and no letter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Job, JobFiles, Read, RunJob, Steps
from penstock.core.delivery.dead_letter import SUFFIX, Origin, dead_letter_headers
from penstock.core.delivery.policy import GiveUp
from penstock.core.node.sharing.ports import SharingHost
from penstock.core.node.sharing.reading import Piece, read_piece
from penstock.core.node.storage.letters import BATCH_BYTES_MAX, Delivery, NewRecord, batches_of
from penstock.core.partition.partition import Partition
from penstock.core.partition.readers import UNCOMMITTED
from penstock.core.records.record import Record, iterate
from penstock.core.sharing.change import Change, GivenUp

REST_MS: Final = 1_000
"""After what failed, before it may be tried again."""
REJECTED: Final = "REJECTED"
DELIVERED: Final = "DELIVERY_COUNT_LIMIT"


class DeadLetters:
    """Of one change. `then` comes once, in a later step of the loop or when all is written: with NONE, or with why it
    is to be tried again."""

    def __init__(
        self, node: SharingHost, partition: Partition, group_id: str, then: Callable[[ErrorCode], None]
    ) -> None:
        self._node = node
        self._partition = partition
        self._group_id = group_id
        self._then = then
        self._topic = partition.topic + SUFFIX
        self._left = deque[GivenUp]()

    def write(self, change: Change) -> None:
        self._left.extend(change.given_up)
        partition, count = self._partition, sum(last - first + 1 for first, last, _, _ in change.given_up)
        self._log(
            "gives up", f"gives up {count} records of {partition.topic}-{partition.index}, which go to {self._topic}"
        )
        self._go_on()

    def _go_on(self) -> None:
        if self._left:
            self._node.tasks.run(self._next(), self._found)
        else:
            self._then(ErrorCode.NONE)

    def _next(self) -> Steps[list[NewRecord]]:
        """The letters of the next batch, or none where there is nothing left."""
        given = self._left[0]
        first = max(given.first, self._partition.log.start_offset)
        if first > given.last:
            self._left.popleft()
            return []
        piece: Piece | None = yield from read_piece(self._partition, first, first, 1, UNCOMMITTED, first=True)
        if piece is None:
            self._left.popleft()
            return []
        position, header = piece.located[0]
        if header.last_offset >= given.last:
            self._left.popleft()
        else:
            self._left[0] = given._replace(first=header.last_offset + 1)
        if header.is_control:
            return []
        data = yield Read(piece.file, position, header.size)
        job = Job(_records, (data, first, given.last))
        records: list[Record] = yield RunJob(job, is_awaited=True)
        return [self._letter(record, given) for record in records]

    def _letter(self, record: Record, given: GivenUp) -> NewRecord:
        partition, count = self._partition, given.delivery_count
        origin = Origin(partition.topic, partition.index, record.offset, record.timestamp)
        if given.is_rejected:
            reason = GiveUp(count, REJECTED, "a member rejected it")
        else:
            reason = GiveUp(count, DELIVERED, f"it was delivered {count} times, and nobody accepted it")
        headers = dead_letter_headers(record.headers, origin, reason, f"group={self._group_id}")
        return record.key, record.value, headers, record.timestamp

    def _found(self, outcome: list[NewRecord] | Exception) -> None:
        if isinstance(outcome, Exception):
            self._failed(outcome)
        elif outcome:
            self._deliver(outcome)
        else:
            self._go_on()

    def _deliver(self, letters: list[NewRecord]) -> None:
        node = self._node
        bytes_max = node.replicas.topic_settings(node.image, self._topic).max_message_bytes
        batches = batches_of(letters, min(BATCH_BYTES_MAX, bytes_max))
        largest = max(map(len, batches))
        if largest > bytes_max:
            why = f"a letter takes {largest} bytes, and max.message.bytes of {self._topic} is {bytes_max}"
            self._failed(ApiError(ErrorCode.MESSAGE_TOO_LARGE, why))
        else:
            Delivery(node, self._topic, self._partition.index, batches, self._written).go_on()

    def _written(self, error: ApiError | None) -> None:
        if error is None:
            self._go_on()
        else:
            self._failed(error)

    def _failed(self, why: Exception) -> None:
        self._log("cannot", f"cannot write to {self._topic} yet, and keeps what it gives up: {why}")
        self._node.deadlines.at(self._node.now_ms + REST_MS, lambda: self._then(ErrorCode.REQUEST_TIMED_OUT))

    def _log(self, what: str, text: str) -> None:
        self._node.log("warning", "sharing", f"group {self._group_id} {text}", f"{what}: {self._group_id}")


def _records(_files: JobFiles, batch: bytes, first: int, last: int) -> list[Record]:
    """The job: records of a batch between two offsets, both included."""
    return [record for record in iterate(batch) if first <= record.offset <= last]
