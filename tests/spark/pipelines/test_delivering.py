"""A batch of a pipeline under one commit: done again it changes nothing, and `verify` counts what is there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import READ_COMMITTED
from penstock.client.producing import Producer
from penstock.client.reading import Reader
from penstock.core.records.record import Record
from penstock.spark.pipelines import CallSink, Pipeline, TopicSink, TopicSource
from penstock.spark.pipelines.cluster import Cluster
from penstock.spark.pipelines.deadletters import create_topics
from penstock.spark.pipelines.running import Settings, gate_of, start_query
from penstock.spark.pipelines.verifying import Finding, careless_readers, findings
from penstock.testing import Broker
from tests.spark.pipelines.poison import DECODE, order, poisons
from tests.spark.pipelines.runs import produce

pytestmark = pytest.mark.spark

GOOD, BAD = 400, 20
QUERY_S_MAX = 120


def narrow(frame: DataFrame) -> DataFrame:
    return frame.selectExpr("order_id", "total")


class Shop:
    """A topic of orders, some of them bad, and a pipeline that writes to two topics."""

    def __init__(self, spark: SparkSession, broker: Broker, name: str, folder: Path) -> None:
        self.spark, self.broker, self.folder = spark, broker, folder
        self.cluster = Cluster(broker.bootstrap)
        sinks = (TopicSink(f"{name}.one", key="order_id"), TopicSink(f"{name}.two", key="order_id"))
        self.pipeline = Pipeline(name, (TopicSource(name, DECODE),), sinks, narrow)
        for topic in (name, f"{name}.one", f"{name}.two"):
            broker.create_topic(topic, 2)
        self.more()
        with Client(broker.bootstrap) as client:
            create_topics(self.pipeline, client)

    def more(self) -> None:
        produce(self.broker.bootstrap, self.pipeline.name, [order(place) for place in range(GOOD)])
        produce(self.broker.bootstrap, self.pipeline.name, [poisons(place)[0].value for place in range(BAD)])

    def run(self, pipeline: Pipeline | None = None) -> None:
        settings = Settings(self.broker.bootstrap, once=True, checkpoints=str(self.folder))
        chosen = pipeline or self.pipeline
        assert start_query(chosen, settings, self.spark, gate_of(chosen, settings)).awaitTermination(QUERY_S_MAX)

    def forget(self, batch: int) -> None:
        """As a driver that was killed behind the commit, and before Spark has noted it."""
        for name in (f"{batch}", f".{batch}.crc"):
            (self.folder / self.pipeline.name / "commits" / name).unlink(missing_ok=True)

    def records(self, suffix: str) -> list[Record]:
        with Client(self.broker.bootstrap) as client:
            topic = f"{self.pipeline.name}{suffix}"
            places = [TopicPartition(topic, one.number) for one in client.topic(topic).partitions]
            reader = Reader(client, dict.fromkeys(places, 0), isolation=READ_COMMITTED, wait_ms=50)
            found: list[Record] = []
            while not all(map(reader.is_caught_up, places)):
                found += [record for chunk in reader.poll() for record in chunk.records]
            return found

    def counts(self) -> tuple[int, int, int]:
        one, two, letters = (len(self.records(suffix)) for suffix in (".one", ".two", ".dlq"))
        return one, two, letters

    def findings(self) -> list[Finding]:
        return list(findings(self.pipeline, self.cluster))


@pytest.fixture
def shop(spark: SparkSession, broker: Broker, request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    return Shop(spark, broker, request.node.name, tmp_path)


def test_all_of_a_batch_counts_once(shop: Shop) -> None:
    shop.run()
    assert shop.counts() == (GOOD, GOOD, BAD)
    shop.forget(0)
    shop.run()
    assert shop.counts() == (GOOD, GOOD, BAD)
    shop.more()
    shop.run()
    assert shop.counts() == (2 * GOOD, 2 * GOOD, 2 * BAD)
    found = shop.findings()
    assert [each.what for each in found] == ["in", "in", "dead letters", "out", "out"]
    assert all(each.adds_up for each in found)
    assert sum(each.told for each in found if each.what == "in") == 2 * (GOOD + BAD)
    letter = shop.records(".dlq")[0]
    with Client(shop.broker.bootstrap) as client:
        producer = Producer(client)
        producer.send(f"{shop.pipeline.name}.dlq", letter.key, letter.value, list(letter.headers))
        producer.send(f"{shop.pipeline.name}.two", b"1", b"{}")
        producer.flush()
    wrong = [each for each in shop.findings() if not each.adds_up]
    assert [(each.what, each.found) for each in wrong] == [("dead letters", 2 * BAD + 1), ("out", 2 * GOOD + 1)]
    assert [each.note for each in wrong] == [
        "1 of them are there again",
        "somebody else writes there, too, or did so before",
    ]


def test_what_fails_behind_its_sinks_counts_when_it_is_done_again(shop: Shop) -> None:
    """One topic is written, then a sink fails: nothing of the batch counts, its dead letters included."""
    calls: list[int] = []

    def fails_once(frame: DataFrame, number: int) -> None:
        calls.append(number)
        if len(calls) == 1:
            raise ValueError("not today")

    first, second = shop.pipeline.sinks
    pipeline = replace(shop.pipeline, sinks=(first, CallSink(fails_once), second))
    with pytest.raises(Exception, match="not today"):
        shop.run(pipeline)
    assert shop.counts() == (0, 0, 0)
    shop.run(pipeline)
    assert shop.counts() == (GOOD, GOOD, BAD)
    assert calls == [0, 0]
    assert all(each.adds_up for each in shop.findings())


def test_who_reads_what_does_not_count_is_warned_of(shop: Shop) -> None:
    careless = Pipeline(
        "careless",
        (TopicSource(f"{shop.pipeline.name}.one", options={"isolation.level": "read_uncommitted"}),),
        (TopicSink("elsewhere"),),
    )
    careful = replace(careless, name="careful", sources=(TopicSource(f"{shop.pipeline.name}.one"),))
    (warning,) = careless_readers(shop.pipeline, [careless, careful])
    assert "pipeline careless reads" in warning
