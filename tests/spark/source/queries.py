"""What the tests of whole queries share: a topic to write to, and ways to run a query over it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from confluent_kafka import Producer
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.testing import Broker
from tests.kafka_peer import KafkaPeer

Batches = dict[int, list[Row]]
NOON_MS = 1_772_366_400_000
# The records are dated, and would otherwise be old enough to be deleted while a test reads them.
KEEP = {"retention.ms": "-1"}
QUERY_S_MAX = 60


class Topic:
    """A topic of a node, and the records that a test has put in."""

    def __init__(self, spark: SparkSession, broker: Broker | KafkaPeer, name: str, partitions: int) -> None:
        self.spark, self.broker, self.name, self.partitions = spark, broker, name, partitions
        self.produced = 0

    def create(self) -> None:
        with Client(self.broker.bootstrap) as client:
            Admin(client).create_topic(self.name, partitions=self.partitions, configs=KEEP)

    def produce(self, count: int, codec: str = "none") -> None:
        """Numbers go on where they ended, over the partitions in turn, a millisecond apart."""
        producer = Producer({"bootstrap.servers": self.broker.bootstrap, "compression.type": codec})
        for number in range(self.produced, self.produced + count):
            producer.produce(self.name, b"%d" % number, partition=number % self.partitions, timestamp=NOON_MS + number)
        assert producer.flush(30) == 0
        self.produced += count

    def read(self, **options: str) -> DataFrame:
        return self.spark.read.format("penstock").options(**self.where(options), **options).load()

    def stream(self, format: str = "penstock", **options: str) -> DataFrame:
        return self.spark.readStream.format(format).options(**self.where(options), **options).load()

    def where(self, options: Iterable[str] = ()) -> dict[str, str]:
        given = {"kafka.bootstrap.servers": self.broker.bootstrap, "fetchOffset.retryIntervalMs": "10"}
        return given if {"subscribePattern", "assign"} & set(options) else {**given, "subscribe": self.name}

    def numbers(self, rows: Iterable[Row]) -> list[int]:
        return sorted(int(row.value) for row in rows)


def start(
    frame: DataFrame, checkpoint: Path, batches: Batches, *, available_now: bool = False, mode: str = "append"
) -> StreamingQuery:
    """A query whose batches land in a dict by their number, so that one that is run again takes its own place."""

    def keep(rows: DataFrame, number: int) -> None:
        batches[number] = rows.collect()

    return start_with(frame, checkpoint, keep, available_now=available_now, mode=mode)


def start_with(
    frame: DataFrame,
    checkpoint: Path,
    keep: Callable[[DataFrame, int], None],
    *,
    available_now: bool = False,
    mode: str = "append",
) -> StreamingQuery:
    writer = frame.writeStream.foreachBatch(keep).outputMode(mode).option("checkpointLocation", str(checkpoint))
    return (writer.trigger(availableNow=True) if available_now else writer).start()


def run(frame: DataFrame, checkpoint: Path, batches: Batches, *, mode: str = "append") -> None:
    """All that is available now."""
    query = start(frame, checkpoint, batches, available_now=True, mode=mode)
    try:
        assert query.awaitTermination(QUERY_S_MAX)
    finally:
        query.stop()


def rows_of(batches: Batches) -> list[Row]:
    return [row for number in sorted(batches) for row in batches[number]]
