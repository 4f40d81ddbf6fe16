"""Records that did not fit, on their way to the topic of dead letters: in batches, one after the other, each committed
before the next.

Whoever produced them is not answered before they are there. What fails for now is tried again until a request's time is
over; then the producer is told to come again. A letter may be written twice, and never not at all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import FileFailure, Job, Read, RunJob, Steps
from penstock.core.delivery.dead_letter import SUFFIX, Origin, dead_letter_headers
from penstock.core.delivery.policy import ERROR_MESSAGE_CHARS_MAX, GiveUp, bounded
from penstock.core.metadata.image import NO_LEADER
from penstock.core.node.links.purposes import DEAD_LETTERS
from penstock.core.node.membership.internal_topics import create_missing
from penstock.core.node.schemas.ports import SchemaHost
from penstock.core.partition.partition import Partition
from penstock.core.partition.schema_source import Diverting, Written
from penstock.core.records.batch import iterate_headers, read_header
from penstock.core.records.build import build_batch
from penstock.core.records.diverting import Diverted, Letter, missing
from penstock.core.records.errors import CorruptBatch, RecordError
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from penstock.core.wire.refusals import codes_in
from penstock.core.wire.schema import Response

AGAIN_MS: Final = 100
BATCH_BYTES_MAX: Final = 512 * 1024
FACTS_BYTES_MAX: Final = 8 * 1024
"""What the headers of a dead letter add to its record, at most, and a batch to one record."""
ERROR_CLASS: Final = "INVALID_RECORD"
COME_AGAIN: Final = ApiError(ErrorCode.NOT_ENOUGH_REPLICAS, "dead letters could not be written yet")

NewRecord = tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes | None]], int]


class DeadLetters:
    """Of one node."""

    def __init__(self, node: SchemaHost) -> None:
        self._node = node

    def check(self, source: Diverting, letters: Sequence[Letter]) -> None:
        """Raise what a producer hears whose records cannot become dead letters, before anything is stored."""
        topic = source.topic + SUFFIX
        bytes_max = self._node.replicas.topic_settings(self._node.image, topic).max_message_bytes - FACTS_BYTES_MAX
        found = [letter.record.offset for letter in letters if _size(letter) > bytes_max]
        if found:
            why = f"is too large for {topic}, which takes {bytes_max} bytes"
            raise RecordError(ErrorCode.INVALID_RECORD, f"record {found[0]} {why}", tuple((at, why) for at in found))

    def write(self, source: Diverting, base_offset: int, letters: Sequence[Letter], written: Written) -> None:
        """`written` comes once, with what the producer hears if they could not be written."""
        records = [self._record(source, base_offset, letter) for letter in letters]
        topic, node = source.topic + SUFFIX, self._node
        node.log(
            "warning",
            "schemas",
            f"{len(letters)} records of {source.topic}-{source.index} go to {topic}, the first because "
            f"{letters[0].reason}",
            kind=f"dead letters of {source.topic}",
        )
        _Delivery(node, topic, source.index, deque(_batches(records)), written).go_on()

    def write_again(self, source: Diverting, base_offset: int, whole: Diverted, written: Written) -> None:
        """The same for a batch that was taken before: what counts is what was left out of it then."""

        def found(outcome: list[Letter] | Exception) -> None:
            if isinstance(outcome, ApiError):
                written(outcome)
            elif isinstance(outcome, FileFailure | CorruptBatch):
                written(ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(outcome)))
            elif isinstance(outcome, Exception):
                raise outcome
            elif outcome:
                self.write(source, base_offset, outcome, written)
            else:
                written(None)

        self._node.tasks.run(_left_out(source, base_offset, whole), found)

    def _record(self, source: Diverting, base_offset: int, letter: Letter) -> NewRecord:
        record = letter.record
        origin = Origin(source.topic, source.index, base_offset + record.offset, record.timestamp)
        reason = GiveUp(1, ERROR_CLASS, bounded(letter.reason, ERROR_MESSAGE_CHARS_MAX))
        headers = dead_letter_headers(record.headers, origin, reason, f"broker={self._node.node_id}")
        return record.key, record.value, headers, record.timestamp


class _Delivery:
    """Some batches for one partition."""

    def __init__(self, node: SchemaHost, topic: str, index: int, batches: deque[bytes], written: Written) -> None:
        self._node = node
        self._topic = topic
        self._index = index
        self._batches = batches
        self._written = written
        self._until_ms = node.now_ms + node.settings["request.timeout.ms"]

    def go_on(self) -> None:
        """Write the next batch, or tell that all are there."""
        node = self._node
        topic = node.image.topic(self._topic)
        if not self._batches:
            self._written(None)
        elif topic is None:
            create_missing(node, [self._topic], lambda code: self._again())
        else:
            # What comes from one partition stays in order, and is spread as its records are.
            index = self._index % len(topic)
            leader = topic.partition(index).leader
            if leader == NO_LEADER:
                self._again()
            elif leader == node.node_id:
                self._append(node.replicas.get(self._topic, index))
            else:
                node.cluster.brokers.send(leader, DEAD_LETTERS, self._request(topic.id, index), self._heard)

    def _append(self, partition: Partition | None) -> None:
        batch = bytearray(self._batches[0])
        try:
            if partition is None:
                raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            next_offset = partition.append_own(batch, read_header(batch), self._node.now_ms)
        except ApiError:
            self._again()
            return
        if not partition.wait(next_offset, self):
            self._done()

    def committed(self, partition: Partition, error: ErrorCode) -> None:
        if error is ErrorCode.NONE:
            self._node.deadlines.soon(self._done)
        else:
            self._again()

    def _request(self, topic_id: bytes, index: int) -> ProduceRequest:
        data = PartitionProduceData(index=index, records=memoryview(bytearray(self._batches[0])))
        topic = TopicProduceData(name=self._topic, topic_id=topic_id, partition_data=[data])
        return ProduceRequest(acks=-1, timeout_ms=self._node.settings["request.timeout.ms"], topic_data=[topic])

    def _heard(self, answer: Response | ErrorCode) -> None:
        if isinstance(answer, ProduceResponse) and not any(codes_in(answer)):
            self._done()
        else:
            self._again()

    def _done(self) -> None:
        self._batches.popleft()
        self.go_on()

    def _again(self) -> None:
        if self._node.now_ms >= self._until_ms:
            self._written(COME_AGAIN)
        else:
            self._node.deadlines.at(self._node.now_ms + AGAIN_MS, self.go_on)


def _left_out(source: Diverting, base_offset: int, whole: Diverted) -> Steps[list[Letter]]:
    """The letters of a batch that is stored already, by what is stored of it."""
    log, header = source.log, read_header(whole.whole)
    end_offset = base_offset + header.last_offset_delta + 1
    if base_offset < log.start_offset:
        return []
    if log.written_offset < end_offset:
        raise COME_AGAIN
    piece = yield from log.read(base_offset, 1, end_offset, True)
    data: bytes = b"" if piece is None else (yield Read(piece.file, piece.position, piece.length))
    for position, stored in iterate_headers(data, partial_tail=True):
        if stored.base_offset == base_offset and stored.count < header.count:
            part = data[position : position + stored.size]
            letters: list[Letter] = yield RunJob(Job(missing, (part, bytes(whole.whole))), is_awaited=True)
            return letters
    return []


def _size(letter: Letter) -> int:
    record = letter.record
    headers = sum(len(name) * 4 + len(value or b"") + 10 for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers


def _batches(records: Sequence[NewRecord]) -> Iterator[bytes]:
    """Each of some size, and of one record at least."""
    held, size = list[NewRecord](), 0
    for record in records:
        own = len(record[0] or b"") + len(record[1] or b"") + FACTS_BYTES_MAX
        if held and size + own > BATCH_BYTES_MAX:
            yield bytes(build_batch(held))
            held, size = [], 0
        held.append(record)
        size += own
    yield bytes(build_batch(held))
