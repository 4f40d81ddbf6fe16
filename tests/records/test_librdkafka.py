"""Batches between us and librdkafka, through the mock broker it carries: it stores what it is sent, byte by byte."""

import socket
from collections.abc import Iterator
from struct import pack, unpack

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from penstock.core.records.batch import iterate_headers
from penstock.core.records.build import build_batch
from penstock.core.records.codecs import Codec
from penstock.core.records.record import Record, iterate
from penstock.core.records.validate import Rules, check_produced, deep_check

TIMEOUT_S = 20
NOW = 1_700_000_000_000
RULES = Rules(max_message_bytes=1 << 20)
RECORDS = [(b"key%d" % i, b"value %d " % i * (i % 40), (("h", b"x"), ("none", None)), NOW + i) for i in range(200)]


class MockBroker:
    """One raw connection to the mock cluster that a librdkafka producer brings up."""

    def __init__(self) -> None:
        self.owner = Producer({"test.mock.num.brokers": 1, "log_level": 0})
        broker = next(iter(self.owner.list_topics(timeout=TIMEOUT_S).brokers.values()))
        self.address = f"{broker.host}:{broker.port}"
        self._socket = socket.create_connection((broker.host, broker.port), TIMEOUT_S)

    def _ask(self, api_key: int, version: int, body: bytes) -> bytes:
        frame = pack(">hhih", api_key, version, 1, -1) + body
        self._socket.sendall(pack(">i", len(frame)) + frame)
        with self._socket.makefile("rb") as stream:
            return stream.read(unpack(">i", stream.read(4))[0])

    def produce(self, topic: bytes, batch: bytes) -> None:
        """Produce version 3, acks of the leader, one partition."""
        head = pack(">hhiih", -1, 1, 1000, 1, len(topic)) + topic
        response = self._ask(0, 3, head + pack(">iii", 1, 0, len(batch)) + batch)
        assert unpack(">h", response[14 + len(topic) + 4 :][:2]) == (0,)

    def fetch(self, topic: bytes) -> bytes:
        """Fetch version 4 of one partition from its beginning."""
        head = pack(">iiiibih", -1, 100, 1, 1 << 20, 0, 1, len(topic)) + topic
        response = self._ask(1, 4, head + pack(">iiqi", 1, 0, 0, 1 << 20))
        partition = response[4 + 4 + 4 + 2 + len(topic) + 4 :]
        assert unpack(">ih", partition[:6]) == (0, 0)
        aborted, size = unpack(">ii", partition[22:30])
        assert aborted <= 0
        assert size == len(partition) - 30
        return partition[30:]

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(scope="module")
def broker() -> Iterator[MockBroker]:
    broker = MockBroker()
    yield broker
    broker.close()


def expected() -> list[tuple[object, ...]]:
    return [(key, value, headers, timestamp) for key, value, headers, timestamp in RECORDS]


@pytest.mark.parametrize("codec", list(Codec))
def test_we_read_what_librdkafka_sends(broker: MockBroker, codec: Codec) -> None:
    topic = f"from-{codec.name.lower()}"
    settings = {"bootstrap.servers": broker.address, "compression.type": codec.name.lower(), "log_level": 0}
    idempotent = codec is Codec.NONE
    # A batch of one or two records would not shrink, and so be sent as it is: all of them wait for the flush.
    producer = Producer({**settings, "linger.ms": 10_000, "enable.idempotence": idempotent})
    # Records of a topic that is not known yet are moved to it little by little, also while they are being flushed.
    producer.list_topics(topic, timeout=TIMEOUT_S)
    for key, value, headers, timestamp in RECORDS:
        producer.produce(topic, value, key, 0, headers=list(headers), timestamp=timestamp)
    assert producer.flush(TIMEOUT_S) == 0
    fetched = broker.fetch(topic.encode())
    read: list[Record] = []
    for position, header in iterate_headers(fetched):
        assert header.codec == codec
        deep_check(fetched, position)
        # Undo the offset that the broker stamped: this is the batch as it was sent.
        sent = bytes(8) + fetched[position + 8 : position + header.size]
        assert (check_produced(memoryview(sent), RULES, 9, NOW).producer_id >= 0) == idempotent
        read += iterate(fetched, position)
    assert [(record.key, record.value, record.headers, record.timestamp) for record in read] == expected()


@pytest.mark.parametrize("codec", list(Codec))
def test_librdkafka_reads_what_we_build(broker: MockBroker, codec: Codec) -> None:
    topic = f"to-{codec.name.lower()}"
    broker.owner.list_topics(topic, timeout=TIMEOUT_S)
    broker.produce(topic.encode(), bytes(build_batch(RECORDS, codec=codec)))
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "g", "check.crcs": True, "log_level": 0})
    consumer.assign([TopicPartition(topic, 0, 0)])
    messages = consumer.consume(len(RECORDS), TIMEOUT_S)
    consumer.close()
    assert [message.error() for message in messages if message.error()] == []
    assert [(m.key(), m.value(), tuple(m.headers()), m.timestamp()[1]) for m in messages] == expected()
