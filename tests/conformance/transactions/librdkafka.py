"""confluent-kafka."""

from __future__ import annotations

from functools import cache
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from tests.conformance.transactions.client import DEADLINE_S, POLL_S, TIMEOUT_MS, Refused, gather, refusing


class Librdkafka:
    def writer(self, bootstrap: str, transactional_id: str, timeout_ms: int = TIMEOUT_MS) -> RdWriter:
        return RdWriter(bootstrap, transactional_id, timeout_ms)

    def reader(self, bootstrap: str, topic: str) -> RdReader:
        return RdReader(_consumer(bootstrap, "nobody", topic))


class RdWriter:
    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
        self._bootstrap = bootstrap
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": timeout_ms,
                "linger.ms": 0,
                # When all brokers are gone, 2.16 begins with the first addresses again, and may forget for ever what it
                # was about to ask a coordinator.
                "metadata.recovery.strategy": "none",
                # An older instance that is fenced says so aloud.
                "log_level": 0,
            }
        )
        with refusing(KafkaException):
            self._producer.init_transactions(DEADLINE_S)

    def begin(self) -> None:
        with refusing(KafkaException):
            self._producer.begin_transaction()

    def send(self, topic: str, value: str) -> None:
        failed: list[object] = []
        with refusing(KafkaException):
            self._producer.produce(topic, value, on_delivery=lambda error, _: failed.append(error) if error else None)
            assert self._producer.flush(DEADLINE_S) == 0
        if failed:
            raise Refused(str(failed[0]))

    def queue(self, topic: str, partition: int, value: str) -> None:
        with refusing(KafkaException):
            self._producer.produce(topic, value, partition=partition)
            self._producer.poll(0)

    def add_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        places = [TopicPartition(topic, partition, offset)]
        with refusing(KafkaException):
            self._producer.send_offsets_to_transaction(places, _outsider(group), DEADLINE_S)

    def copy(self, source: str, target: str, group: str, count: int) -> None:
        consumer = _consumer(self._bootstrap, group, source)
        try:
            for message in gather(lambda: _poll(consumer), count):
                self._producer.produce(target, message.value())
            places = consumer.position(consumer.assignment())
            with refusing(KafkaException):
                self._producer.send_offsets_to_transaction(places, consumer.consumer_group_metadata(), DEADLINE_S)
        finally:
            consumer.close()

    def commit(self) -> None:
        with refusing(KafkaException):
            self._producer.commit_transaction(DEADLINE_S)

    def abort(self) -> None:
        with refusing(KafkaException):
            self._producer.abort_transaction(DEADLINE_S)

    def close(self) -> None:
        """Nothing to do: it goes with its last reference."""


class RdReader:
    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer

    def poll(self) -> list[str]:
        return [(message.value() or b"").decode() for message in _poll(self._consumer)]

    def close(self) -> None:
        self._consumer.close()


@cache
def _outsider(group: str) -> object:
    """What a consumer tells of itself that has not joined; only a consumer can say it."""
    consumer = Consumer({"group.id": group})
    try:
        return consumer.consumer_group_metadata()
    finally:
        consumer.close()


def _consumer(bootstrap: str, group: str, topic: str) -> Consumer:
    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "fetch.wait.max.ms": 50,
    }
    made = Consumer(settings)
    if group == "nobody":
        made.assign([TopicPartition(topic, 0, 0)])
    else:
        made.subscribe([topic])
    return made


def _poll(consumer: Consumer) -> list[Message]:
    found = consumer.consume(100, POLL_S)
    for message in found:
        assert message.error() is None, message.error()
    return found
