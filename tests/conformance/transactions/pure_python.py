"""kafka-python 3."""

from __future__ import annotations

import warnings
from typing import Any

from tests.conformance.transactions.client import DEADLINE_S, POLL_S, TIMEOUT_MS, gather, refusing

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.errors import KafkaError
    from kafka.structs import OffsetAndMetadata

POLL_MS = int(POLL_S * 1000)


class PurePython:
    def writer(self, bootstrap: str, transactional_id: str, timeout_ms: int = TIMEOUT_MS) -> PureWriter:
        return PureWriter(bootstrap, transactional_id, timeout_ms)

    def reader(self, bootstrap: str, topic: str) -> PureReader:
        consumer = _consumer(bootstrap, None)
        consumer.assign([TopicPartition(topic, 0)])
        return PureReader(consumer)


class PureWriter:
    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
        self._bootstrap = bootstrap
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap, transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
        )
        with refusing(KafkaError):
            self._producer.init_transactions()

    def begin(self) -> None:
        with refusing(KafkaError):
            self._producer.begin_transaction()

    def send(self, topic: str, value: str) -> None:
        with refusing(KafkaError):
            self._producer.send(topic, value.encode()).get(DEADLINE_S)

    def queue(self, topic: str, partition: int, value: str) -> None:
        with refusing(KafkaError):
            self._producer.send(topic, value.encode(), partition=partition)

    def add_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        offsets = {TopicPartition(topic, partition): OffsetAndMetadata(offset, "", -1)}
        with refusing(KafkaError):
            self._producer.send_offsets_to_transaction(offsets, group)

    def copy(self, source: str, target: str, group: str, count: int) -> None:
        consumer = _consumer(self._bootstrap, group)
        try:
            consumer.subscribe([source])
            for record in gather(lambda: _poll(consumer), count):
                self._producer.send(target, record.value)
            place = TopicPartition(source, 0)
            offsets = {place: OffsetAndMetadata(consumer.position(place), "", -1)}
            with refusing(KafkaError):
                self._producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
        finally:
            consumer.close()

    def commit(self) -> None:
        with refusing(KafkaError):
            self._producer.commit_transaction()

    def abort(self) -> None:
        with refusing(KafkaError):
            self._producer.abort_transaction()

    def close(self) -> None:
        self._producer.close(timeout=DEADLINE_S)


class PureReader:
    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer

    def poll(self) -> list[str]:
        return [record.value.decode() for record in _poll(self._consumer)]

    def close(self) -> None:
        self._consumer.close()


def _consumer(bootstrap: str, group: str | None) -> Any:
    return KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        fetch_max_wait_ms=50,
    )


def _poll(consumer: Any) -> list[Any]:
    return [record for records in consumer.poll(POLL_MS).values() for record in records]
