"""Spark's own `format("kafka")` takes Penstock for Kafka: batch, stream and sink, with keys, nulls and headers."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming import DataStreamReader

from penstock.testing import Broker

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.java]

PARTITIONS = 3
STAMP = datetime(2026, 3, 1, 12, tzinfo=UTC)


def produce(broker: Broker, topic: str, count: int, *, codec: str = "none") -> None:
    """Records 0 to count - 1, spread over the partitions in turn."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "compression.type": codec})
    for number in range(count):
        producer.produce(
            topic,
            f"value-{number}".encode(),
            key=f"key-{number}".encode(),
            partition=number % PARTITIONS,
            timestamp=int(STAMP.timestamp() * 1000) + number,
            headers=[("number", str(number).encode()), ("empty", None)],
        )
    assert producer.flush(30) == 0


def batch(spark: SparkSession, broker: Broker, topic: str, **options: str) -> DataFrame:
    return spark.read.format("kafka").options(**where(broker, topic), **options).load()


def stream(spark: SparkSession, broker: Broker, topic: str, **options: str) -> DataStreamReader:
    return spark.readStream.format("kafka").options(**where(broker, topic), **options)


def where(broker: Broker, topic: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic}


@pytest.fixture
def topic(broker: Broker, penstock_topic: str) -> str:
    """Its records are as old as `STAMP`: retention, which passes by every five minutes, would take them away."""
    broker.create_topic(penstock_topic, partitions=PARTITIONS, retention_ms=-1)
    return penstock_topic


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_batch_read_gives_what_was_produced(spark: SparkSession, broker: Broker, topic: str, codec: str) -> None:
    produce(broker, topic, 300, codec=codec)
    rows = batch(spark, broker, topic, includeHeaders="true").collect()
    assert sorted(row.value.decode() for row in rows) == sorted(f"value-{number}" for number in range(300))
    for row in rows:
        number = int(row.key.decode().removeprefix("key-"))
        assert (row.topic, row.partition, row.offset) == (topic, number % PARTITIONS, number // PARTITIONS)
        assert row.headers == [Row(key="number", value=bytearray(b"%d" % number)), Row(key="empty", value=None)]
        assert row.timestampType == 0


def test_offsets_are_honoured(spark: SparkSession, broker: Broker, topic: str) -> None:
    produce(broker, topic, 30)
    begin = f'{{"{topic}": {{"0": 2, "1": -2, "2": 10}}}}'
    end = f'{{"{topic}": {{"0": 5, "1": -1, "2": -1}}}}'
    rows = batch(spark, broker, topic, startingOffsets=begin, endingOffsets=end).select("partition", "offset").collect()
    assert sorted((row.partition, row.offset) for row in rows) == [
        *((0, offset) for offset in (2, 3, 4)),
        *((1, offset) for offset in range(10)),
    ]


def test_a_timestamp_is_a_place_to_start(spark: SparkSession, broker: Broker, topic: str) -> None:
    produce(broker, topic, 30)
    rows = batch(spark, broker, topic, startingTimestamp=str(int(STAMP.timestamp() * 1000) + 21)).collect()
    assert sorted(int(row.value.decode().removeprefix("value-")) for row in rows) == list(range(21, 30))


def test_a_stream_goes_on_where_its_checkpoint_says(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path
) -> None:
    def run() -> None:
        rows = stream(spark, broker, topic, startingOffsets="earliest", maxOffsetsPerTrigger="40").load()
        writer = rows.selectExpr("CAST(value AS STRING)", "partition", "offset").writeStream.format("parquet")
        files = writer.option("path", str(tmp_path / "rows")).option("checkpointLocation", str(tmp_path / "state"))
        files.trigger(availableNow=True).start().awaitTermination()

    produce(broker, topic, 90)
    run()
    produce(broker, topic, 60)
    run()
    rows = spark.read.parquet(str(tmp_path / "rows")).collect()
    assert len(rows) == 150
    assert len({(row.partition, row.offset) for row in rows}) == 150


def test_the_sink_writes_keys_headers_and_tombstones(spark: SparkSession, broker: Broker, topic: str) -> None:
    schema = "key STRING, value STRING, headers ARRAY<STRUCT<key: STRING, value: BINARY>>, partition INT"
    given = [
        ("a", "one", [("trace", b"1")], 0),
        ("b", None, None, 1),
        (None, "three", [("trace", None)], 2),
    ]
    writer = spark.createDataFrame(given, schema).write.format("kafka").option("includeHeaders", "true")
    writer.option("kafka.bootstrap.servers", broker.bootstrap).option("topic", topic).save()
    rows = batch(spark, broker, topic, includeHeaders="true").orderBy("partition").collect()
    assert [(row.key, row.value) for row in rows] == [(b"a", b"one"), (b"b", None), (None, b"three")]
    assert rows[0].headers == [Row(key="trace", value=bytearray(b"1"))]
    assert rows[1].headers is None
    assert rows[2].headers == [Row(key="trace", value=None)]


def test_a_stream_from_topic_to_topic(spark: SparkSession, broker: Broker, topic: str, tmp_path: Path) -> None:
    copy = f"{topic}-copy"
    broker.create_topic(copy, partitions=PARTITIONS)
    produce(broker, topic, 300)
    rows = stream(spark, broker, topic, startingOffsets="earliest").load().select("key", "value")
    writer = rows.writeStream.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap).option("topic", copy)
    query = writer.option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True).start()
    query.awaitTermination()
    copied = pairs(batch(spark, broker, copy))
    assert len(copied) == 300
    assert copied == pairs(batch(spark, broker, topic))


def test_a_pattern_finds_topics(spark: SparkSession, broker: Broker, topic: str) -> None:
    produce(broker, topic, 30)
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap)
    assert reader.option("subscribePattern", f"{topic}.*").load().count() == 30


def pairs(rows: DataFrame) -> list[tuple[bytes, bytes]]:
    return sorted((bytes(row.key), bytes(row.value)) for row in rows.collect())
