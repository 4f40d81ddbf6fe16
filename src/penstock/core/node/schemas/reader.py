"""Folds the registry's topic on this node: from the log where this node leads it, else from whoever does, as a consumer
would. What is committed is folded, record by record, in slices.

The reader always knows whether it has all there is, as far as it was last told: a schema that it does not have then is
one that nobody has registered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import FileFailure, Pause, Read, Steps
from penstock.core.metadata.image import NO_LEADER
from penstock.core.node.folding import SLICE_BYTES
from penstock.core.node.links.purposes import SCHEMAS
from penstock.core.node.membership.broker_channel import Then
from penstock.core.node.schemas.ports import SchemaHost
from penstock.core.partition.partition import Partition
from penstock.core.partition.readers import UNCOMMITTED
from penstock.core.records.batch import iterate_headers
from penstock.core.records.errors import BodyTooLarge, CorruptBatch
from penstock.core.records.record import Record, iterate
from penstock.core.schemas.records import TOPIC
from penstock.core.schemas.table import SchemaTable
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from penstock.core.wire.api.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from penstock.core.wire.schema import Request, Response

_EARLIEST: Final = ListOffsetsRequest(
    replica_id=-1,
    topics=[ListOffsetsTopic(name=TOPIC, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-2)])],
)
WAIT_MS: Final = 300
"""Two rounds fit into the time that is waited for a schema: one that began before, and one behind it."""
ANSWER_MS_MAX: Final = 2_000
FETCH_BYTES: Final = 1 << 20
AGAIN_MS: Final = 100
PAUSE_BYTES: Final = 16 * 1024
"""So much of schemas takes about a millisecond."""


class SchemaReader:
    """The table, and how far it is folded."""

    def __init__(self, node: SchemaHost, news: Callable[[], None]) -> None:
        """`news` is called when the table, or what is known of its end, has changed."""
        self._node = node
        self._news = news
        self._is_running = False
        self._watched: Partition | None = None
        # How often the topic's leader was asked, and the last such question that was answered.
        self._rounds = self._heard_rounds = 0
        self._begin(b"")

    def _begin(self, topic_id: bytes) -> None:
        self._topic_id = topic_id
        self.table = SchemaTable()
        self.next_offset = 0
        self.is_complete = False
        """Whether the table had everything when the topic was last looked at."""
        self._is_own = False

    def mark(self) -> int:
        """What `has_looked_since` is to be asked later."""
        return self._rounds

    def has_looked_since(self, mark: int) -> bool:
        """Whether the table has everything that was committed then. Who leads the topic has it at once; others must
        have asked since."""
        return self.is_complete and (self._is_own or self._heard_rounds > mark)

    def image_changed(self) -> None:
        """There may be another topic, or another leader."""
        if self._node.image.topic(TOPIC) is None and not self._topic_id:
            self.is_complete = self._is_own = True
        elif not self._is_running:
            self._is_running = True
            self._node.deadlines.soon(self._look)

    def _look(self) -> None:
        node = self._node
        if node.state not in ("starting", "running"):
            self._is_running = False
            return
        topic = node.image.topic(TOPIC)
        topic_id = b"" if topic is None else topic.id
        if topic_id != self._topic_id:
            self._begin(topic_id)
        if topic is None:
            self._rest(is_complete=True)
            return
        leader = topic.partition(0).leader
        if leader == NO_LEADER:
            self._later()
        elif leader == node.node_id:
            self._read_own()
        else:
            self._is_own = False
            self._rounds += 1
            self._ask(leader, self._request(), partial(self._heard, leader))

    def _rest(self, *, is_complete: bool) -> None:
        """Nothing more is to be read until somebody says so."""
        self._is_running = False
        self.is_complete = self._is_own = is_complete
        self._news()

    def _later(self) -> None:
        """Nobody can be asked, or has answered."""
        self.is_complete = self._is_own = False
        self._node.deadlines.at(self._node.now_ms + AGAIN_MS, self._look)

    # Where this node leads the topic

    def _read_own(self) -> None:
        partition = self._node.replicas.get(TOPIC, 0)
        if partition is None or not partition.leads:
            self._later()  # The image has just changed.
            return
        self._node.tasks.run(
            self._fold_own(partition, self.table), lambda outcome: self._folded_own(partition, outcome)
        )

    def _fold_own(self, partition: Partition, table: SchemaTable) -> Steps[None]:
        self.next_offset = max(self.next_offset, partition.log.start_offset)
        while table is self.table and self.next_offset < partition.high_watermark:
            piece = yield from partition.read(self.next_offset, SLICE_BYTES, UNCOMMITTED, True)
            if piece is None:
                self.next_offset = partition.high_watermark
                return
            data: bytes = yield Read(piece.file, piece.position, piece.length)
            yield from self._fold(data, table)

    def _folded_own(self, partition: Partition, outcome: object) -> None:
        if isinstance(outcome, Exception):
            self._complain(outcome)
            self._later()
        elif partition.removed or self.next_offset < partition.high_watermark:
            self._look()
        else:
            if self._watched is not partition:
                self._watched = partition
                partition.watchers[self] = None
            self._rest(is_complete=True)

    def news(self, size: int) -> None:
        """The partition that this node leads has news, or is no longer one that it leads."""
        if self._watched is not None and self._watched.removed:
            self._watched = None
        self.image_changed()

    # Where others do

    def _ask(self, leader: int, request: Request, then: Then) -> None:
        self._node.cluster.brokers.send(leader, SCHEMAS, request, then, WAIT_MS + ANSWER_MS_MAX)

    def _request(self) -> FetchRequest:
        wanted = FetchPartition(partition=0, fetch_offset=self.next_offset, partition_max_bytes=FETCH_BYTES)
        topic = FetchTopic(topic=TOPIC, topic_id=self._topic_id, partitions=[wanted])
        # What is not complete yet is not waited for: it is to be known that it is.
        wait_ms = WAIT_MS if self.is_complete else 0
        return FetchRequest(max_wait_ms=wait_ms, min_bytes=1, max_bytes=FETCH_BYTES, topics=[topic])

    def _heard(self, leader: int, answer: Response | ErrorCode) -> None:
        data = _data_of(answer)
        if data is not None and data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._ask(leader, _EARLIEST, self._begin_anew)
        elif data is None or data.error_code:
            self._later()
        else:
            assert isinstance(data.records, bytes | bytearray | memoryview | None), "what has arrived is in memory"
            steps = self._fold(bytes(data.records or b""), self.table)
            self._node.tasks.run(steps, lambda outcome: self._folded(data.high_watermark, outcome))

    def _begin_anew(self, answer: Response | ErrorCode) -> None:
        """What was folded may be of records that are no longer there."""
        found = answer.topics[0].partitions[0] if isinstance(answer, ListOffsetsResponse) and answer.topics else None
        if found is not None and not found.error_code:
            self._begin(self._topic_id)
            self.next_offset = found.offset
        self._later()

    def _folded(self, high_watermark: int, outcome: object) -> None:
        if isinstance(outcome, Exception):
            self._complain(outcome)
            self._later()
            return
        self.is_complete = self.next_offset >= high_watermark
        self._heard_rounds = self._rounds
        self._news()
        self._look()

    # Both

    def _fold(self, data: bytes, table: SchemaTable) -> Steps[None]:
        budget = PAUSE_BYTES
        for header_at, header in iterate_headers(data, partial_tail=True):
            if header.next_offset <= self.next_offset:
                continue
            if not header.is_control:
                for record in self._new(self._unpacked(data, header_at)):
                    table.replay(record.key, record.value)
                    budget -= len(record.value or b"")
                    if budget < 0:
                        yield Pause()
                        budget = PAUSE_BYTES
            if table is not self.table:
                return
            self.next_offset = header.next_offset

    def _unpacked(self, data: bytes, header_at: int) -> Iterator[Record]:
        """Whatever somebody has written there: what nobody can ever unpack must not keep the others from being read."""
        try:
            return iterate(data, header_at)
        except BodyTooLarge as failure:
            self._node.log("error", "schemas", f"a batch of {TOPIC} is passed over: {failure}", kind="schemas")
            return iter(())

    def _new(self, records: Iterator[Record]) -> Iterator[Record]:
        return (record for record in records if record.offset >= self.next_offset)

    def _complain(self, outcome: Exception) -> None:
        if not isinstance(outcome, CorruptBatch | FileFailure):
            raise outcome
        self._node.log("error", "schemas", f"reading {TOPIC} failed and will be tried again: {outcome}", kind="schemas")


def _data_of(answer: Response | ErrorCode) -> PartitionData | None:
    """What is said of the partition; a leader that has just begun may say nothing of the topic."""
    if not isinstance(answer, FetchResponse) or answer.error_code:
        return None
    return next((data for topic in answer.responses for data in topic.partitions), None)
