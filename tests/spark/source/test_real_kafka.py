"""The source reads from Apache Kafka as it reads from Penstock, transactions included."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from penstock.client.blocking import Client
from penstock.client.groups import Groups
from penstock.client.metadata import TopicPartition
from tests.kafka_peer import KafkaPeer
from tests.spark.source.queries import Batches, Topic, rows_of, run

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.java]


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaPeer]:
    with KafkaPeer() as peer:
        yield peer


def test_transactions_limits_and_the_group(
    spark: SparkSession, kafka: KafkaPeer, penstock_topic: str, tmp_path: Path
) -> None:
    """Numbers 0 to 9 are plain, 10 to 19 aborted, 20 to 29 committed and 30 to 39 still open."""
    topic = Topic(spark, kafka, penstock_topic, partitions=1)
    topic.create()
    topic.produce(10)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": penstock_topic})
    producer.init_transactions()
    for first, end in ((10, producer.abort_transaction), (20, producer.commit_transaction), (30, None)):
        producer.begin_transaction()
        for number in range(first, first + 10):
            producer.produce(topic.name, b"%d" % number)
        assert producer.flush(30) == 0
        if end is not None:
            end()
    assert topic.numbers(topic.read().collect()) == list(range(40))
    committed = [*range(10), *range(20, 30)]
    assert topic.numbers(topic.read(**{"kafka.isolation.level": "read_committed"}).collect()) == committed

    limits = {"maxOffsetsPerTrigger": "15", "maxBytesPerTrigger": "100000", "isolation.level": "read_committed"}
    batches: Batches = {}
    stream = topic.stream(startingOffsets="earliest", commitGroup=topic.name, **limits)
    run(stream, tmp_path / "checkpoint", batches)
    assert topic.numbers(rows_of(batches)) == committed
    # Ten plain records and two transactions of ten, each with its mark; what is open ends the readable part.
    with Client(kafka.bootstrap) as client:
        assert Groups(client).offsets(topic.name) == {TopicPartition(topic.name, 0): 32}
    producer.abort_transaction()
