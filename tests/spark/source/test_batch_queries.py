"""`spark.read.format("penstock")` gives exactly what was produced."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from pyspark.errors import AnalysisException
from pyspark.sql import Row, SparkSession

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import edges
from penstock.client.reading import Reader
from penstock.testing import Broker
from tests.spark.source.queries import NOON_MS, Topic
from tests.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PARTITIONS = 3
MEGABYTE = 1_000_000
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture
def topic(spark: SparkSession, broker: Broker, penstock_topic: str) -> Topic:
    topic = Topic(spark, broker, penstock_topic, PARTITIONS)
    topic.create()
    return topic


def test_everything_that_a_record_can_be_comes_back(topic: Topic) -> None:
    """All codecs, headers, nulls, tombstones and large records, in one partition; another one stays empty."""
    expected: list[tuple[object, ...]] = []
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        settings = {"compression.type": codec, "message.max.bytes": 2 * MEGABYTE}
        producer = Producer({"bootstrap.servers": topic.broker.bootstrap, **settings})
        records: list[tuple[bytes | None, bytes | None, list[tuple[str, str | bytes | None]]]] = [
            (f"key-{codec}".encode(), f"value-{codec}".encode(), [("codec", codec.encode()), ("empty", None)]),
            (b"tombstone", None, []),
            (None, b"no key", [("twice", b"1"), ("twice", b"2")]),
            (b"", b"", [("", b"")]),
            ("schlüssel".encode(), bytes(range(256)), [("größe", "ü".encode())]),
            (b"large", codec.encode() * (MEGABYTE // len(codec)), []),
        ]
        for key, value, headers in records:
            at = NOON_MS + len(expected)
            producer.produce(topic.name, value, key, partition=1, timestamp=at, headers=headers)
            expected.append((key, value, len(expected), at, headers or None))
        assert producer.flush(30) == 0
    rows = topic.read(includeHeaders="true").selectExpr("*", "unix_millis(timestamp) AS ms").collect()
    found = [
        (row.key, row.value, row.offset, row.ms, row.headers and [(one.key, one.value) for one in row.headers])
        for row in sorted(rows, key=lambda row: row.offset)
    ]
    assert found == expected
    assert {(row.topic, row.partition, row.timestampType) for row in rows} == {(topic.name, 1, 0)}


def test_an_empty_topic_gives_no_rows(topic: Topic) -> None:
    assert topic.read().collect() == []


def test_offsets_and_columns(topic: Topic) -> None:
    topic.produce(30)
    begin = f'{{"{topic.name}": {{"0": 2, "1": -2, "2": 10}}}}'
    end = f'{{"{topic.name}": {{"0": 5, "1": -1, "2": -1}}}}'
    rows = topic.read(startingOffsets=begin, endingOffsets=end, columns="offset,partition", minPartitions="4")
    assert rows.columns == ["offset", "partition"]
    assert sorted((row.partition, row.offset) for row in rows.collect()) == [
        *((0, offset) for offset in (2, 3, 4)),
        *((1, offset) for offset in range(10)),
    ]
    by_schema = topic.spark.read.format("penstock").schema("value BINARY, offset BIGINT").options(**topic.where())
    assert by_schema.load().where("offset = 9").orderBy("value").collect() == [
        Row(value=b"%d" % number, offset=9) for number in (27, 28, 29)
    ]


def test_times_and_patterns(topic: Topic) -> None:
    topic.produce(30)
    pattern = f"^{topic.name}$"
    rows = topic.read(subscribePattern=pattern, startingTimestamp=str(NOON_MS + 12), endingTimestamp=str(NOON_MS + 21))
    assert topic.numbers(rows.collect()) == list(range(12, 21))


def test_offsets_that_compaction_left_out_are_no_loss(spark: SparkSession, penstock_topic: str) -> None:
    with Broker({"log.cleaner.backoff.ms": 50}, beside=True) as broker:
        broker.create_topic(penstock_topic, cleanup_policy="compact", internal_segment_bytes=2000)
        producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0, "batch.num.messages": 5})
        for number in range(200):
            producer.produce(penstock_topic, b"%d" % number, key=b"%d" % (number % 7))
        assert producer.flush(30) == 0
        wait_until(lambda: len(offsets_left(broker, penstock_topic)) < 100, what="compaction")
        rows = Topic(spark, broker, penstock_topic, 1).read(maxRecordsPerPartition="50").collect()
        found = {row.offset: row.value for row in rows}
        assert len(found) == len(rows) < 100
        assert set(found) >= set(offsets_left(broker, penstock_topic))
        assert all(value == b"%d" % offset for offset, value in found.items())
        newest = {int(value) % 7: int(value) for _, value in sorted(found.items())}
        assert sorted(newest.values()) == list(range(193, 200))


def offsets_left(broker: Broker, topic: str) -> list[int]:
    where = TopicPartition(topic, 0)
    with Client(broker.bootstrap) as client:
        first, last = edges(client, [where])[where]
        reader = Reader(client, {where: first}, until={where: last})
        return [record.offset for chunk in reader for record in chunk.records]


def test_filters_become_seeks_when_the_session_pushes_them(topic: Topic) -> None:
    topic.produce(300)
    wanted = f"partition = 1 AND offset >= 40 AND offset < 60 AND timestamp > timestamp_millis({NOON_MS + 150})"
    expected = [number for number in range(151, 300) if number % 3 == 1 and 40 <= number // 3 < 60]
    plain = topic.read().where(wanted)
    assert plain.rdd.getNumPartitions() == PARTITIONS
    assert topic.numbers(plain.collect()) == expected
    topic.spark.conf.set(PUSHDOWN, "true")
    try:
        pushed = topic.read().where(wanted)
        assert pushed.rdd.getNumPartitions() == 1
        assert topic.numbers(pushed.collect()) == expected
        assert topic.read().count() == 300
        assert topic.read().where(f"timestamp > timestamp_millis({NOON_MS + 1000})").collect() == []
    finally:
        topic.spark.conf.unset(PUSHDOWN)


def test_a_topic_is_a_view_in_sql(topic: Topic) -> None:
    topic.produce(10)
    topic.spark.sql(
        f"CREATE TEMPORARY VIEW numbers USING penstock OPTIONS ("
        f"`kafka.bootstrap.servers` '{topic.broker.bootstrap}', subscribe '{topic.name}', startingOffsets 'earliest')"
    )
    try:
        (total,) = topic.spark.sql("SELECT sum(CAST(CAST(value AS STRING) AS INT)) AS total FROM numbers").collect()
        assert total.total == 45
    finally:
        topic.spark.catalog.dropTempView("numbers")


def test_what_is_asked_for_and_gone_is_a_loss(topic: Topic) -> None:
    topic.produce(30)
    with Client(topic.broker.bootstrap) as client:
        Admin(client).delete_records({TopicPartition(topic.name, 0): 4})
    begin = f'{{"{topic.name}": {{"0": 0, "1": 0, "2": 0}}}}'
    with pytest.raises(AnalysisException, match="was asked for offsets 0 to 10 and has only 4 to 10"):
        topic.read(startingOffsets=begin).collect()
    left = topic.read(startingOffsets=begin, failOnDataLoss="false").collect()
    assert topic.numbers(left) == [number for number in range(30) if number not in (0, 3, 6, 9)]
    assert topic.read().count() == 26


def test_a_wrong_option_is_said_in_one_line(topic: Topic) -> None:
    with pytest.raises(AnalysisException, match="minPartitions cannot be 'many'"):
        topic.read(minPartitions="many").collect()
    with pytest.raises(AnalysisException, match="a topic cannot be overwritten"):
        topic.spark.range(1).selectExpr("CAST(id AS STRING) AS value").write.format("penstock").options(
            **topic.where(), topic=topic.name
        ).mode("overwrite").save()


def test_what_is_written_is_read(topic: Topic) -> None:
    frame = topic.spark.range(100).selectExpr("CAST(id AS STRING) AS value")
    frame.write.format("penstock").options(**topic.where(), topic=topic.name).mode("append").save()
    assert topic.numbers(topic.read().collect()) == list(range(100))


@pytest.fixture
def table(topic: Topic) -> Iterator[str]:
    name = topic.name.replace("-", "_")
    yield name
    topic.spark.sql(f"DROP TABLE IF EXISTS {name}")


def options_clause(**options: str) -> str:
    return ", ".join(f"`{name}` '{value}'" for name, value in options.items())


def test_a_table_is_read_with_the_options_that_it_was_created_with(topic: Topic, table: str) -> None:
    topic.produce(6)
    options = options_clause(**topic.where(), columns="offset,value")
    topic.spark.sql(f"CREATE TABLE {table} USING penstock OPTIONS ({options})")
    assert topic.spark.table(table).columns == ["offset", "value"]
    assert topic.numbers(topic.spark.sql(f"SELECT * FROM {table} WHERE offset >= 0").collect()) == [*range(6)]
    first = json.dumps({topic.name: {"0": 1, "1": 0, "2": 0}})
    assert topic.numbers(topic.spark.sql(f"SELECT * FROM {table} WITH (endingOffsets = '{first}')").collect()) == [0]


def test_a_table_that_could_never_be_read_is_refused(topic: Topic, table: str) -> None:
    options = options_clause(**topic.where(), startingOffset="earliest")
    with pytest.raises(AnalysisException, match="did you mean startingOffsets"):
        topic.spark.sql(f"CREATE TABLE {table} USING penstock OPTIONS ({options})")
    topic.spark.sql(f"CREATE TABLE {table} (value BINARY) USING penstock OPTIONS ({options})")
    with pytest.raises(AnalysisException, match="created with a list of columns keeps no options"):
        topic.spark.table(table).collect()
