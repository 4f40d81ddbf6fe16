"""Dead letters of a broker on their way to their topic: in batches, one after the other, each committed before the
next.

What fails for now is tried again until a request's time is over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.image import NO_LEADER
from penstock.core.node.host import Mortal
from penstock.core.node.links.purposes import DEAD_LETTERS
from penstock.core.node.membership.broker_channel import BrokerChannel
from penstock.core.node.membership.internal_topics import create_missing
from penstock.core.node.membership.ports import Asking, Registered
from penstock.core.node.storage.replicas import Replicas
from penstock.core.partition.partition import Partition
from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from penstock.core.wire.refusals import codes_in
from penstock.core.wire.schema import Response

AGAIN_MS: Final = 100
BATCH_BYTES_MAX: Final = 512 * 1024
FACTS_BYTES_MAX: Final = 8 * 1024
"""What the headers of a dead letter add to its record, at most, and a batch to one record."""
COME_AGAIN: Final = ApiError(ErrorCode.NOT_ENOUGH_REPLICAS, "dead letters could not be written yet")

NewRecord = tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes | None]], int]
Written = Callable[[ApiError | None], None]


class Reaching(Registered, Protocol):
    """A broker's way to the others."""

    @property
    def brokers(self) -> BrokerChannel: ...


class LetterHost(Mortal, Asking, Protocol):
    """The node that writes letters, to itself or to others."""

    @property
    def replicas(self) -> Replicas: ...

    @property
    def cluster(self) -> Reaching: ...


class Delivery:
    """Some batches for one partition. `written` comes once: with None when they are there, or with why not."""

    def __init__(self, node: LetterHost, topic: str, index: int, batches: deque[bytes], written: Written) -> None:
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


def batches_of(records: Sequence[NewRecord], bytes_max: int = BATCH_BYTES_MAX) -> deque[bytes]:
    return deque(_batches(records, bytes_max))


def _batches(records: Sequence[NewRecord], bytes_max: int) -> Iterator[bytes]:
    """Each of some size, and of one record at least."""
    held, size = list[NewRecord](), 0
    for record in records:
        own = len(record[0] or b"") + len(record[1] or b"") + FACTS_BYTES_MAX
        if held and size + own > bytes_max:
            yield bytes(build_batch(held))
            held, size = [], 0
        held.append(record)
        size += own
    yield bytes(build_batch(held))
