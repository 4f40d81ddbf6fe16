"""kill -9 under load: what was acknowledged is there, in order; what is idempotent is there once."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import pytest

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.link import Link
from penstock.client.metadata import TopicPartition
from penstock.core.base.errors import ErrorCode
from penstock.core.records.build import build_batch
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from penstock.testing import Broker
from tests.robustness.good_client import TIMEOUT_S, put, take
from tests.waiting import wait_until

ROUNDS = 3
ROUNDS_SOAK = 50
PARTITIONS = 3
IN_FLIGHT = 4
PLAIN, ONCE = "plain", "once"


class Producer(threading.Thread):
    """Keeps batches in flight to one partition through kills and restarts, and knows which were acknowledged."""

    def __init__(self, broker: Broker, topic: str, partition: int) -> None:
        super().__init__(name=f"{topic}-{partition}", daemon=True)
        self._broker = broker
        self._topic = topic
        self._partition = partition
        self._batches = itertools.count()
        self._unanswered: list[int] = []
        self._producer_id = -1
        self.stopping = threading.Event()
        self.acknowledged: list[int] = []
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                try:
                    self._talk(Link(self._broker.host, self._broker.port, "producer", TIMEOUT_S))
                except ClientError:
                    # The node is dead for the moment. An idempotent producer repeats, the plain one gives up on what
                    # it does not know about, as a client without retries does.
                    if self._topic == PLAIN:
                        self._unanswered.clear()
        except BaseException as failure:
            self.failure = failure

    def _talk(self, link: Link) -> None:
        try:
            if self._topic == ONCE and self._producer_id < 0:
                self._producer_id = self._new_id(link)
            posted = [(number, self._post(link, number)) for number in self._unanswered]
            while not self.stopping.is_set():
                while len(posted) < IN_FLIGHT:
                    number = next(self._batches)
                    self._unanswered.append(number)
                    posted.append((number, self._post(link, number)))
                number, ticket = posted.pop(0)
                self._check(link.collect(ticket, ProduceResponse))
                self._unanswered.remove(number)
                self.acknowledged.append(number)
        finally:
            link.close()

    def _new_id(self, link: Link) -> int:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
        answer = link.call(request, InitProducerIdResponse, TIMEOUT_S)
        assert answer.error_code == 0
        return answer.producer_id

    def _post(self, link: Link, number: int) -> int:
        identity = {}
        if self._topic == ONCE:
            identity = {"producer_id": self._producer_id, "producer_epoch": 0, "base_sequence": 2 * number}
        values = [b"%d.%d" % (number, part) for part in range(2)]
        # A producer is forgotten a day after its newest record, by the record's own time.
        now_ms = time.time_ns() // 1_000_000
        batch = bytes(build_batch([(None, value, (), now_ms) for value in values], **identity))
        data = [PartitionProduceData(index=self._partition, records=batch)]
        topics = [TopicProduceData(name=self._topic, partition_data=data)]
        request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=topics)
        return link.post(request, ProduceResponse, TIMEOUT_S, newest_version=12)

    def _check(self, answer: ProduceResponse) -> None:
        code = answer.responses[0].partition_responses[0].error_code
        assert code in (0, ErrorCode.DUPLICATE_SEQUENCE_NUMBER), ErrorCode(code).name


@contextmanager
def producing(broker: Broker) -> Iterator[list[Producer]]:
    producers = [Producer(broker, topic, index) for topic in (PLAIN, ONCE) for index in range(PARTITIONS)]
    for producer in producers:
        producer.start()
    try:
        yield producers
    finally:
        for producer in producers:
            producer.stopping.set()
        for producer in producers:
            producer.join(TIMEOUT_S)
    for producer in producers:
        if producer.failure is not None:
            raise producer.failure


def everything(broker: Broker, topic: str, partition: int) -> list[bytes]:
    link = Link(broker.host, broker.port, "reader", TIMEOUT_S)
    found: list[bytes] = []
    while values := take(link, topic, len(found), partition, max_wait_ms=0):
        found += [value or b"" for value in values]
    link.close()
    return found


def check(broker: Broker, producer: Producer) -> None:
    topic, partition = producer.name.split("-")
    values = everything(broker, topic, int(partition))
    counted = Counter(values)
    lost = [number for number in producer.acknowledged for part in range(2) if b"%d.%d" % (number, part) not in counted]
    assert not lost, f"{producer.name}: acknowledged and gone: {lost[:10]}"
    assert max(counted.values()) == 1, f"{producer.name}: {counted.most_common(3)}"
    numbers = [tuple(map(int, value.split(b"."))) for value in values]
    assert numbers == sorted(numbers), f"{producer.name} is out of order"


def wait_for_more(producers: list[Producer], goal: int) -> None:
    """Until these have so many acknowledgements more, or one of them has failed."""

    def count() -> int:
        return sum(len(producer.acknowledged) for producer in producers)

    enough = count() + goal
    wait_until(
        lambda: count() >= enough or any(producer.failure for producer in producers),
        timeout_s=60,
        what=f"{goal} more acknowledgements",
    )


def kill_again_and_again(rounds: int, seed: int) -> None:
    chance = Random(seed)
    with Broker(
        {"log.segment.bytes": "1048576", "log.flush.offset.checkpoint.interval.ms": "200"}, beside=True
    ) as broker:
        broker.create_topic(PLAIN, PARTITIONS)
        broker.create_topic(ONCE, PARTITIONS)
        with producing(broker) as producers:
            for _ in range(rounds):
                wait_for_more(producers, chance.randint(50, 1500))
                broker.kill()
                broker.start()
            for producer in producers:
                wait_for_more([producer], 1)
        for producer in producers:
            check(broker, producer)


@pytest.mark.slow
def test_a_killed_node_keeps_what_it_acknowledged() -> None:
    kill_again_and_again(ROUNDS, seed=1)


@pytest.mark.soak
def test_a_node_that_is_killed_fifty_times() -> None:
    kill_again_and_again(ROUNDS_SOAK, seed=2)


@pytest.mark.slow
def test_a_killed_node_leaves_its_port_and_folder_to_the_next() -> None:
    with Broker(beside=True) as broker:
        broker.create_topic("t")
        with socket.create_connection((broker.host, broker.port)):
            broker.kill()
        broker.start()
        assert everything(broker, "t", 0) == []


@pytest.mark.slow
def test_a_topic_that_is_created_again_inherits_nothing_from_the_one_before() -> None:
    """What is stored of a partition goes by its name, and is stored again only from time to time."""
    with Broker({"log.flush.start.offset.checkpoint.interval.ms": "2000"}, beside=True) as broker:
        broker.create_topic("t")
        link = Link(broker.host, broker.port, "writer", TIMEOUT_S)
        with Client(broker.bootstrap) as client:
            put(link, "t", *(b"old" for _ in range(50)))
            assert Admin(client).delete_records({TopicPartition("t", 0): 40}) == {TopicPartition("t", 0): 40}
            starts = broker.folder / "log-start-offset-checkpoint"
            wait_until(lambda: starts.exists() and "t 0 40" in starts.read_text(), what="the start is stored")
            Admin(client).delete_topic("t")
        broker.create_topic("t")
        put(link, "t", *(b"new" for _ in range(60)))
        link.close()
        broker.kill()
        broker.start()
        assert everything(broker, "t", 0) == [b"new"] * 60
