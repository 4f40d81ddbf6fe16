"""The exactly-once sink under Spark itself: what was done again counts once, and what keeps a query from going on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from penstock.client.blocking import Client
from penstock.client.transactions import Transactions
from penstock.testing import Broker

pytestmark = pytest.mark.spark

ROWS = 3_000


class Copying:
    """A stream that copies one topic to another, exactly once."""

    def __init__(self, spark: SparkSession, bootstrap: str, topic: str, folder: Path) -> None:
        self._spark = spark
        self._servers = {"kafka.bootstrap.servers": bootstrap}
        self.topic, self.copy = topic, f"{topic}-copy"
        self.checkpoint = folder / "checkpoint"
        self.bootstrap = bootstrap
        self.name = topic

    def fill(self, rows: int = ROWS) -> None:
        number = f.col("id").cast("string")
        made = self._spark.range(rows).select(number.alias("key"), number.alias("value"))
        made.write.format("penstock").options(**self._servers, topic=self.topic).mode("append").save()

    def run(self, **options: str) -> None:
        query = self.writer(**options).start()
        query.awaitTermination()

    def writer(self, **options: str) -> Any:
        source = self._spark.readStream.format("penstock").options(**self._servers, subscribe=self.topic)
        rows = source.option("startingOffsets", "earliest").load().select("key", "value")
        sink = rows.writeStream.format("penstock").options(**self._servers, topic=self.copy)
        sink = sink.option("checkpointLocation", str(self.checkpoint)).options(**options)
        return sink.queryName(self.name).trigger(availableNow=True)

    def forget(self, batch: int) -> None:
        """As a driver that was killed behind the commit, and before Spark has noted it."""
        for name in (f"{batch}", f".{batch}.crc"):
            (self.checkpoint / "commits" / name).unlink(missing_ok=True)

    def read(self, isolation: str = "read_committed") -> DataFrame:
        reader = self._spark.read.format("penstock").options(**self._servers, subscribe=self.copy)
        return reader.option("isolation.level", isolation).load()

    def counts(self) -> tuple[int, int]:
        """Rows, and different rows."""
        (found,) = self.read().select(f.count("*"), f.countDistinct("value")).collect()
        return found[0], found[1]

    def ids(self) -> list[str]:
        with Client(self.bootstrap) as client:
            return sorted(each.transactional_id for each in Transactions(client).list())


@pytest.fixture
def copying(spark: SparkSession, broker: Broker, topic: str, tmp_path: Path) -> Copying:
    broker.create_topic(f"{topic}-copy", 2)
    return Copying(spark, broker.bootstrap, topic, tmp_path)


def test_a_batch_that_is_done_again_counts_once(copying: Copying) -> None:
    copying.fill()
    copying.run()
    assert copying.counts() == (ROWS, ROWS)
    for _ in range(2):
        copying.forget(0)
        copying.run()
        assert copying.counts() == (ROWS, ROWS)
    copying.fill(10)
    copying.run()
    assert copying.counts() == (ROWS + 10, ROWS)
    mine = [name for name in copying.ids() if name.startswith(copying.name)]
    assert mine == [f"{copying.name}-{which}" for which in ("0-0", "1-0", "2-0", "driver")]


def test_a_checkpoint_that_was_deleted_is_told_of(copying: Copying) -> None:
    copying.fill(10)
    copying.run()
    shutil.rmtree(copying.checkpoint)
    with pytest.raises(Exception, match="has written its batches up to 0, and its checkpoint was deleted since"):
        copying.run()
    copying.checkpoint = copying.checkpoint.with_name("another")
    with pytest.raises(Exception, match=f"the name {copying.name} belongs to another query with the checkpoint"):
        copying.run()
    assert copying.counts() == (10, 10)


def test_a_batch_query_with_a_number_counts_once(copying: Copying, spark: SparkSession) -> None:
    rows = spark.range(100).select(f.col("id").cast("string").alias("value"))
    options = {"kafka.bootstrap.servers": copying.bootstrap, "topic": copying.copy, "delivery": "exactly-once"}
    for number in ("7", "7", "8"):
        write = rows.write.format("penstock").options(**options, queryName=copying.name, batchId=number)
        write.mode("append").save()
    assert copying.counts() == (200, 100)
    rows.write.format("penstock").options(**options, queryName=copying.name).mode("append").save()
    assert copying.counts() == (300, 100)


def test_what_a_failed_write_left_open_ends_with_the_next_one(copying: Copying, spark: SparkSession) -> None:
    options = {"kafka.bootstrap.servers": copying.bootstrap, "topic": copying.copy, "delivery": "exactly-once"}
    bad = f.when(f.col("id") == 9, f.raise_error(f.lit("spoilt"))).otherwise(f.col("id").cast("string"))
    rows = spark.range(0, 10, 1, 2)
    with pytest.raises(Exception, match="spoilt"):
        rows.select(bad.alias("value")).write.format("penstock").options(**options, queryName=copying.name).mode(
            "append"
        ).save()
    good = rows.select(f.col("id").cast("string").alias("value")).write.format("penstock")
    good.options(**options, queryName=copying.name).mode("append").save()
    assert copying.counts() == (10, 10)
    with Client(copying.bootstrap) as client:
        listed = Transactions(client).list(states=["Ongoing"])
        assert [each for each in listed if each.transactional_id.startswith(copying.name)] == []


def test_options_that_contradict_it_are_refused(copying: Copying, spark: SparkSession) -> None:
    rows = spark.range(1).select(f.col("id").cast("string").alias("value"))
    servers = {"kafka.bootstrap.servers": copying.bootstrap, "topic": copying.copy}
    for options, words in (
        ({"delivery": "twice"}, "it is exactly-once or at-least-once"),
        ({"delivery": "exactly-once"}, "needs a name that stays the same: the option queryName"),
        ({"delivery": "exactly-once", "queryName": "q", "batchId": "x"}, "the option batchId cannot be 'x'"),
        ({"delivery": "exactly-once", "queryName": "q", "kafka.acks": "1"}, "leave kafka.acks and"),
    ):
        with pytest.raises(Exception, match=words):
            rows.write.format("penstock").options(**servers, **options).mode("append").save()
