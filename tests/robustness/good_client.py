"""A client that does everything right, all the time, beside whatever else is going on."""

from __future__ import annotations

import threading
import time

from penstock.client.link import Link
from penstock.core.records.build import build_batch
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from penstock.testing import Broker
from tests.node.world import values_of

PRODUCE_VERSION = 12
FETCH_VERSION = 12
TIMEOUT_S = 30.0


class GoodClient(threading.Thread):
    """Produces a record and reads it back, again and again, until it is stopped. A context manager that fails with
    whatever went wrong."""

    def __init__(self, broker: Broker, topic: str) -> None:
        super().__init__(name="good client", daemon=True)
        self._broker = broker
        self._topic = topic
        self._stopping = threading.Event()
        self._failure: BaseException | None = None
        self.rounds = 0

    def __enter__(self) -> GoodClient:
        self.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._stopping.set()
        self.join(TIMEOUT_S)
        if self._failure is not None:
            raise self._failure
        assert not self.is_alive(), "the good client hangs"

    def run(self) -> None:
        try:
            link = Link(self._broker.host, self._broker.port, "good", TIMEOUT_S)
            while not self._stopping.is_set():
                self._round(link)
            link.close()
        except BaseException as failure:
            self._failure = failure

    def _round(self, link: Link) -> None:
        value = b"record %d" % self.rounds
        offset = put(link, self._topic, value)
        assert offset == self.rounds, "somebody else wrote to the good client's topic"
        assert take(link, self._topic, offset) == [value]
        self.rounds += 1


def now_ms() -> int:
    """What is written must not be so old that retention takes it away."""
    return int(time.time() * 1000)


def put(link: Link, topic: str, *values: bytes, partition: int = 0) -> int:
    """Produce one batch and give its offset."""
    batch = bytes(build_batch([(None, value, (), now_ms()) for value in values]))
    data = [PartitionProduceData(index=partition, records=batch)]
    request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[TopicProduceData(name=topic, partition_data=data)])
    answer = link.call(request, ProduceResponse, TIMEOUT_S, newest_version=PRODUCE_VERSION)
    result = answer.responses[0].partition_responses[0]
    assert result.error_code == 0, result
    return result.base_offset


def take(link: Link, topic: str, offset: int, partition: int = 0, max_wait_ms: int = 1000) -> list[bytes | None]:
    """Fetch once and give the values."""
    wanted = [FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)]
    request = FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, topics=[FetchTopic(topic=topic, partitions=wanted)])
    answer = link.call(request, FetchResponse, TIMEOUT_S, newest_version=FETCH_VERSION)
    data = answer.responses[0].partitions[0]
    assert data.error_code == 0, data
    return values_of(data.records)
