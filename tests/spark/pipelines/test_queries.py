"""Queries of pipelines in the session of the tests: poison, several sinks, failures, a graceful end."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.client.blocking import Client
from penstock.client.pipeline_runs import Run, State
from penstock.core.records.record import Record
from penstock.spark.pipelines import CallSink, ConsoleSink, ParquetSink, Pipeline, TopicSink, TopicSource, unchanged
from penstock.spark.pipelines.cluster import Cluster
from penstock.spark.pipelines.deadletters import create_topics
from penstock.spark.pipelines.frames import TransformFailed, build, plan_text
from penstock.spark.pipelines.heartbeat import Heartbeat
from penstock.spark.pipelines.progress import Batch, batch_of
from penstock.spark.pipelines.running import Settings, gate_of, start_query
from penstock.spark.pipelines.watching import PipelineFailed, Watch
from penstock.testing import Broker
from tests.fresh_seeds import IS_SOAK
from tests.spark.pipelines.poison import DECODE, Poison, order, poisons
from tests.spark.pipelines.runs import Origin, dead_letters, origins_in, origins_out, produce, records_of

pytestmark = pytest.mark.spark

RECORDS = 100_000 if IS_SOAK else 6_000
KINDS = len(poisons(0))
POISON_EACH = RECORDS // 100 // KINDS
QUERY_S_MAX = 300
PARTITIONS = 3


def mixed(dice: random.Random) -> tuple[list[bytes | None], dict[int, Poison]]:
    """The values, and those among them that are bad."""
    places = dice.sample(range(RECORDS), POISON_EACH * KINDS)
    bad = {place: poisons(place)[index % KINDS] for index, place in enumerate(places)}
    return [bad[place].value if place in bad else order(place) for place in range(RECORDS)], bad


def with_origin(frame: DataFrame) -> DataFrame:
    return frame.selectExpr("order_id", "total", "_partition as partition_in", "_offset as offset_in")


@pytest.mark.larger
def test_rows_out_and_dead_letters_are_rows_in(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    broker.create_topic("poisoned", PARTITIONS)
    broker.create_topic("healthy", PARTITIONS)
    values, bad = mixed(random.Random(4))
    produce(broker.bootstrap, "poisoned", values)
    source = TopicSource("poisoned", DECODE, options={"maxOffsetsPerTrigger": str(RECORDS // 3 + 1)})
    sink = TopicSink("healthy", key="order_id")
    pipeline = Pipeline("poisoned", (source,), (sink,), with_origin)
    settings = Settings(broker.bootstrap, once=True, checkpoints=str(tmp_path))
    with Client(broker.bootstrap) as client:
        create_topics(pipeline, client)
    query = start_query(pipeline, settings, spark, gate_of(pipeline, settings))
    assert query.awaitTermination(QUERY_S_MAX)
    batches = [batch_of(json.loads(report.json)) for report in query.recentProgress]
    rows_in = origins_in(broker.bootstrap, "poisoned")
    rows_out = origins_out(broker.bootstrap, "healthy")
    letters = dead_letters(broker.bootstrap, "poisoned.dlq")
    assert rows_out + Counter(origin for origin, _, _ in letters) == rows_in
    assert sum(batch.rows for batch in batches) == RECORDS
    assert sum(batch.dead_letters for batch in batches) == len(letters) == len(bad)
    sent = dict(_by_origin(broker))
    for origin, facts, letter in letters:
        record = sent[origin]
        expected = bad[int(record.key or b"")]
        assert (facts["class"], facts["message"]) == (expected.error_class, expected.message)
        assert (facts["topic"], facts["pipeline"], facts["attempts"]) == ("poisoned", "poisoned", "1")
        assert int(facts["timestamp"]) == record.timestamp
        assert (letter.key, letter.value) == (record.key, record.value)


def _by_origin(broker: Broker) -> Iterator[tuple[Origin, Record]]:
    for partition, record in records_of(broker.bootstrap, "poisoned"):
        yield (partition, record.offset), record


def test_a_plan_is_told_without_running_it(spark: SparkSession, broker: Broker, penstock_topic: str) -> None:
    broker.create_topic(penstock_topic)
    pipeline = Pipeline("told", (TopicSource(penstock_topic, DECODE),), (ConsoleSink(),))
    plan = plan_text(pipeline, spark, Cluster(broker.bootstrap))

    assert "MapInArrow" in plan
    assert "order_id" in plan


def test_a_transform_that_cannot_be_planned_is_named(
    spark: SparkSession, broker: Broker, penstock_topic: str, capfd: pytest.CaptureFixture[str]
) -> None:
    pipeline = Pipeline("crooked", (TopicSource(penstock_topic),), (ConsoleSink(),), lambda frame: frame.select("no"))

    with pytest.raises(
        TransformFailed, match="pipeline crooked: its transform failed before the first batch: Analysis"
    ):
        build(pipeline, spark, Cluster(broker.bootstrap))
    assert "QueryContextLogger" not in capfd.readouterr().err, "it is said once, in one line"


def test_several_sinks_share_one_computation(
    spark: SparkSession, broker: Broker, tmp_path: Path, penstock_topic: str
) -> None:
    """The dead letters are written while the rows are computed, so one letter shows that they were computed once."""
    broker.create_topic(penstock_topic)
    produce(broker.bootstrap, penstock_topic, [order(1), b"bad", order(2)])
    seen: list[int] = []
    lake = ParquetSink(str(tmp_path / "lake"))
    sinks = (lake, CallSink(lambda frame, _: seen.append(frame.count())), lake)
    pipeline = Pipeline(penstock_topic, (TopicSource(penstock_topic, DECODE),), sinks)
    settings = Settings(broker.bootstrap, once=True, checkpoints=str(tmp_path))
    with Client(broker.bootstrap) as client:
        create_topics(pipeline, client)
    assert start_query(pipeline, settings, spark, gate_of(pipeline, settings)).awaitTermination(QUERY_S_MAX)

    assert seen == [2]
    assert len(dead_letters(broker.bootstrap, f"{penstock_topic}.dlq")) == 1
    lines = spark.read.parquet(str(tmp_path / "lake")).orderBy("_offset").collect()
    assert [(line["order_id"], line["_offset"], line["batch"]) for line in lines] == [
        ("order-1", 0, 0),
        ("order-2", 2, 0),
    ], "a batch that is written again replaces itself"


def test_a_failing_transform_and_a_graceful_end(
    spark: SparkSession, broker: Broker, tmp_path: Path, penstock_topic: str
) -> None:
    broker.create_topic(penstock_topic)
    produce(broker.bootstrap, penstock_topic, [b"%d" % n for n in range(9)])
    settings = Settings(broker.bootstrap, checkpoints=str(tmp_path))
    source = TopicSource(penstock_topic, options={"maxOffsetsPerTrigger": "2"})
    done: list[int] = []
    pipeline = Pipeline(penstock_topic, (source,), (CallSink(lambda frame, number: done.append(frame.count())),), fussy)
    heart = Heartbeat(Cluster(broker.bootstrap), Run(penstock_topic, "run-1", "host", 1, "local", 0))
    gate = gate_of(pipeline, settings)
    query = start_query(pipeline, settings, spark, gate)
    with pytest.raises(PipelineFailed) as failure:
        Watch(penstock_topic, query, gate, heart, lambda run, batch: None).until_the_end()
    offsets = [f'[{{"{penstock_topic}": {{"0": {end}}}}}]' for end in (6, 8)]
    assert str(failure.value).startswith(
        f"pipeline {penstock_topic} failed between offsets {offsets[0]} and {offsets[1]}: "
    )
    assert "seven is not liked" in str(failure.value)
    assert done == [2, 2, 2]
    assert heart.run.rows == 6

    calm = replace(pipeline, transform=unchanged)
    gate = gate_of(calm, settings)
    query = start_query(calm, settings, spark, gate)

    def ask_after_the_first(_: Run, batch: Batch | None) -> None:
        if batch is not None:
            heart.stop_asked.set()

    assert Watch(penstock_topic, query, gate, heart, ask_after_the_first).until_the_end() is State.STOPPED
    assert not query.isActive
    assert done[:4] == [2, 2, 2, 2], "it goes on with the batch that failed"


def fussy(frame: DataFrame) -> DataFrame:
    return frame.selectExpr("*", "assert_true(string(value) != '7', 'seven is not liked') as fine")
