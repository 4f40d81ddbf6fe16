"""`spark.readStream.format("penstock")`: every offset once, while topics, partitions and nodes come and go."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition
from penstock.testing import Broker
from tests.spark.source.queries import QUERY_S_MAX, Batches, Topic, rows_of, run, start, start_with
from tests.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PARTITIONS = 3


@pytest.fixture
def topic(spark: SparkSession, broker: Broker, penstock_topic: str) -> Topic:
    topic = Topic(spark, broker, penstock_topic, PARTITIONS)
    topic.create()
    return topic


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


@pytest.fixture(autouse=True)
def _no_query_stays(spark: SparkSession) -> Iterator[None]:
    yield
    for query in spark.streams.active:
        query.stop()


def test_limits_and_the_group_that_follows(topic: Topic, checkpoint: Path) -> None:
    """Each batch takes its share of each partition, and the group has no lag when the last one is done."""
    topic.produce(250)
    batches: Batches = {}
    stream = topic.stream(startingOffsets="earliest", maxOffsetsPerTrigger="90", commitGroup=f"{topic.name}-group")
    run(stream.select("value"), checkpoint, batches)
    # Of 84, 83 and 83 records the first batch takes 30, 29 and 29, because shares are rounded down.
    assert [len(batches[number]) for number in sorted(batches)] == [88, 90, 72]
    assert topic.numbers(rows_of(batches)) == list(range(250))
    described = describe_group(topic)
    assert described["state"].lower() == "empty"
    assert described["lag"] == 0
    assert {(one["topic"], one["partition"], one["committed"]) for one in described["offsets"]} == {
        (topic.name, 0, 84),
        (topic.name, 1, 83),
        (topic.name, 2, 83),
    }
    topic.produce(20)
    assert describe_group(topic)["lag"] == 20


def describe_group(topic: Topic) -> dict[str, Any]:
    command = ["-m", "penstock.cli.main", "group", "describe", f"{topic.name}-group"]
    place = ["--bootstrap", topic.broker.bootstrap, "--output", "json"]
    said = subprocess.run([sys.executable, *command, *place], capture_output=True, text=True, check=True).stdout
    described: dict[str, Any] = json.loads(said)
    return described


def test_a_limit_in_bytes(topic: Topic, checkpoint: Path) -> None:
    """The records are alike, so the mean is exact but for the heads of batches."""
    topic.produce(3000)
    batches: Batches = {}
    with Client(topic.broker.bootstrap) as client:
        (folder,) = Admin(client).log_dirs()
    total = sum(size for where, size in folder.sizes.items() if where.topic == topic.name)
    run(topic.stream(startingOffsets="earliest", maxBytesPerTrigger=str(total // 2 + 1)), checkpoint, batches)
    sizes = [len(batches[number]) for number in sorted(batches)]
    assert sum(sizes) == 3000
    assert sizes[0] == pytest.approx(1500, abs=10)


def test_new_partitions_and_topics_are_read_from_their_beginning(topic: Topic, checkpoint: Path) -> None:
    topic.produce(30)
    batches: Batches = {}
    query = start(topic.stream(subscribePattern=f"^{topic.name}", startingOffsets="earliest"), checkpoint, batches)
    query.processAllAvailable()
    more = Topic(topic.spark, topic.broker, f"{topic.name}-more", partitions=1)
    more.create()
    more.produce(10)
    with Client(topic.broker.bootstrap) as client:
        Admin(client).add_partitions(topic.name, PARTITIONS + 1)
    topic.partitions += 1
    topic.produce(40)
    query.processAllAvailable()
    query.stop()
    rows = rows_of(batches)
    assert topic.numbers(row for row in rows if row.topic == topic.name) == list(range(70))
    assert topic.numbers(row for row in rows if row.topic == more.name) == list(range(10))
    assert any(row.partition == PARTITIONS for row in rows)


def test_a_node_that_is_killed_and_comes_back_is_read_on(
    spark: SparkSession, penstock_topic: str, checkpoint: Path
) -> None:
    with Broker(beside=True) as broker:
        topic = Topic(spark, broker, penstock_topic, PARTITIONS)
        topic.create()
        topic.produce(600)
        batches: Batches = {}
        query = start(topic.stream(startingOffsets="earliest", maxOffsetsPerTrigger="60"), checkpoint, batches)
        wait_until(lambda: len(batches) >= 2, timeout_s=QUERY_S_MAX, what="some batches")
        broker.kill()
        seen = len(batches)
        broker.start()
        topic.produce(60)
        query.processAllAvailable()
        query.stop()
        assert len(batches) > seen
        assert topic.numbers(rows_of(batches)) == list(range(660))
        assert len(rows_of(batches)) == len({(row.partition, row.offset) for row in rows_of(batches)})


def test_from_the_latest_offset_a_first_batch_that_failed_loses_nothing(topic: Topic, checkpoint: Path) -> None:
    topic.produce(9)

    def fail(rows: DataFrame, number: int) -> None:
        raise ValueError("on purpose")

    query = start_with(topic.stream(), checkpoint, fail)
    with pytest.raises(StreamingQueryException, match="on purpose"):
        query.awaitTermination(QUERY_S_MAX)
    topic.produce(12)
    batches: Batches = {}
    run(topic.stream(), checkpoint, batches)
    assert topic.numbers(rows_of(batches)) == list(range(9, 21))


def test_what_went_away_ends_the_query_or_is_passed_over(topic: Topic, checkpoint: Path) -> None:
    topic.produce(30)
    batches: Batches = {}
    run(topic.stream(startingOffsets="earliest"), checkpoint, batches)
    topic.produce(30)
    with Client(topic.broker.bootstrap) as client:
        Admin(client).delete_records({TopicPartition(topic.name, 0): 14})
    with pytest.raises(StreamingQueryException, match="failOnDataLoss"):
        run(topic.stream(), checkpoint, batches)
    run(topic.stream(failOnDataLoss="false"), checkpoint, batches)
    gone = {number for number in range(30, 42) if number % PARTITIONS == 0}
    assert topic.numbers(rows_of(batches)) == [number for number in range(60) if number not in gone]


def test_a_topic_that_was_deleted_ends_the_query_or_is_passed_over(topic: Topic, checkpoint: Path) -> None:
    topic.produce(30)
    batches: Batches = {}
    query = start(topic.stream(startingOffsets="earliest"), checkpoint, batches)
    query.processAllAvailable()
    with Client(topic.broker.bootstrap) as client:
        Admin(client).delete_topic(topic.name)
    with pytest.raises(StreamingQueryException, match=r"are gone.*failOnDataLoss"):
        query.awaitTermination(QUERY_S_MAX)
    query = start(topic.stream(failOnDataLoss="false"), checkpoint, batches)
    query.processAllAvailable()
    topic.create()
    topic.produce(15)
    query.processAllAvailable()
    query.stop()
    assert topic.numbers(rows_of(batches)) == list(range(45))


# From Spark's own source and back


def test_a_query_moves_from_spark_s_own_source_and_back(topic: Topic, checkpoint: Path) -> None:
    """On one checkpoint, with a batch that Spark planned and did not finish in between: every offset once."""
    batches: Batches = {}
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "60"}
    for format in ("kafka", "penstock", "kafka"):
        topic.produce(100)
        forget_last_commit(checkpoint)
        run(topic.stream(format, **options).select("partition", "offset", "value"), checkpoint, batches)
    rows = rows_of(batches)
    assert topic.numbers(rows) == list(range(300))
    assert {(row.partition, row.offset) for row in rows} == {(p, o) for p in range(PARTITIONS) for o in range(100)}


def forget_last_commit(checkpoint: Path) -> None:
    """What is left of a query that died in its last batch."""
    commits = checkpoint / "commits"
    if commits.exists():
        last = max(int(one.name) for one in commits.iterdir() if one.name.isdigit())
        (commits / str(last)).unlink()
        (commits / f".{last}.crc").unlink(missing_ok=True)


def test_a_query_with_state_moves_from_spark_s_own_source_and_back(topic: Topic, checkpoint: Path) -> None:
    batches: Batches = {}
    for format in ("kafka", "penstock", "kafka"):
        topic.produce(100)
        rows = topic.stream(format, startingOffsets="earliest")
        counts = rows.groupBy("topic", "partition").agg({"offset": "max", "*": "count"}).toDF("t", "p", "last", "rows")
        run(counts, checkpoint, batches, mode="complete")
    final = batches[max(batches)]
    assert sorted(final) == [Row(t=topic.name, p=partition, last=99, rows=100) for partition in range(PARTITIONS)]
