"""The same reader and writer on Apache Kafka, with the transactions that only it has so far."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer as RealProducer

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import LATEST, READ_COMMITTED, list_offsets
from penstock.core.records.codecs import Codec
from penstock.spark.rows import ClientSettings, DataLost, ReadTask, SinkSettings, read_range
from penstock.spark.rows.writing import write_rows
from tests.kafka_peer import KafkaPeer
from tests.spark.rows.test_reading import fill, keys, task
from tests.spark.rows.test_writing import frame, read_all
from tests.waiting import wait_until

pytestmark = [pytest.mark.java, pytest.mark.slow]


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaPeer]:
    with KafkaPeer() as peer:
        yield peer


@pytest.fixture
def settings(kafka: KafkaPeer) -> ClientSettings:
    return ClientSettings(kafka.bootstrap, api_timeout_ms=10_000)


@pytest.fixture
def client(kafka: KafkaPeer) -> Iterator[Client]:
    with Client(kafka.bootstrap) as connected:
        yield connected


@pytest.mark.parametrize("codec", Codec)
def test_what_is_written_is_read(client: Client, settings: ClientSettings, codec: Codec) -> None:
    topic = f"both-{codec.name}"
    Admin(client).create_topic(topic, 2)
    values = [b"%d" % number * 50 for number in range(2000)]
    rows = frame(key=[b"%d" % (number % 9) for number in range(2000)], value=values)
    written = write_rows(SinkSettings(settings._replace(codec=codec), topic), [rows])
    assert written.rows == sum(map(len, read_all(client, topic).values())) == 2000
    found = [
        value
        for where, end in written.ends.items()
        for batch in read_range(ReadTask(settings, topic, where.partition, 0, end, fetch_bytes=20_000))
        for value in batch.column("value").to_pylist()
    ]
    assert sorted(found) == sorted(values)


def test_losses_are_named(client: Client, settings: ClientSettings) -> None:
    Admin(client).create_topic("lossy", 1)
    fill(client, "lossy", 100)
    planned = client.topic("lossy").topic_id
    Admin(client).delete_records({TopicPartition("lossy", 0): 40})
    with pytest.raises(DataLost, match="offsets 10 to 39 of lossy-0 are gone"):
        keys(read_range(task(settings, "lossy", 10, 90, topic_id=planned)))
    with pytest.raises(DataLost, match="the partition ends at offset 100 now"):
        keys(read_range(task(settings, "lossy", 50, 150, topic_id=planned)))
    Admin(client).delete_topic("lossy")
    wait_until(lambda: all(topic.name != "lossy" for topic in client.topics()), what="the topic's end")
    Admin(client).create_topic("lossy", 1)
    with pytest.raises(DataLost, match="made anew"):
        keys(read_range(task(settings, "lossy", 50, 100, topic_id=planned)))


def test_transactions_show_when_they_are_committed(client: Client, settings: ClientSettings, kafka: KafkaPeer) -> None:
    Admin(client).create_topic("moves", 1)
    producer = RealProducer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "mover"})
    producer.init_transactions()
    for first, committed in ((0, True), (10, False), (20, True)):
        producer.begin_transaction()
        for number in range(first, first + 10):
            producer.produce("moves", b"", b"%d" % number)
        # Without this, what is aborted would never have been sent.
        producer.flush()
        producer.commit_transaction() if committed else producer.abort_transaction()
    # Ten records and one mark each.
    everything = task(settings, "moves", 0, 33)
    wait_until(lambda: committed_end(client) == 33, what="the last mark")
    assert keys(read_range(everything)) == [*range(30)]
    assert keys(read_range(everything._replace(isolation="read_committed"))) == [*range(10), *range(20, 30)]
    assert keys(read_range(everything._replace(isolation="read_committed", start=15, end=25))) == [20, 21, 22]

    producer.begin_transaction()
    producer.produce("moves", b"", b"30")
    producer.flush()
    hasty = task(settings._replace(api_timeout_ms=300), "moves", 33, 34, isolation="read_committed")
    with pytest.raises(ClientError, match="a transaction is open there"):
        keys(read_range(hasty))
    producer.abort_transaction()


def committed_end(client: Client) -> int:
    where = TopicPartition("moves", 0)
    return list_offsets(client, {where: LATEST}, READ_COMMITTED)[where].offset
