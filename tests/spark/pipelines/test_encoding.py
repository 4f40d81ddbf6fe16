"""Typed columns out: values as a registry's serialisers write them, and rows that do not fit among the dead letters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.api.schemas import Schemas
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.core.delivery.dead_letter import PREFIX
from penstock.core.records.record import Record
from penstock.spark.pipelines import Encode, Json, Misdeclared, Pipeline, TopicSink, TopicSource
from penstock.spark.pipelines.cluster import Cluster
from penstock.spark.pipelines.deadletters import create_topics
from penstock.spark.pipelines.running import Settings, gate_of, start_query
from penstock.spark.pipelines.showing import sink_text
from penstock.spark.pipelines.verifying import findings
from penstock.testing import Broker
from tests.registry.world import registry
from tests.spark.pipelines.runs import produce, records_of

QUERY_S_MAX = 300
SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "string"}, {"name": "total", "type": "double"}],
    }
)
ORDERS = [b'{"id": "a", "total": 1.5}', b'{"id": "b"}', b"junk", b'{"id": "c", "total": 2}']


@pytest.fixture(scope="module")
def url(broker: Broker) -> Iterator[str]:
    with registry(broker.bootstrap) as running:
        yield running.rest.url


def as_it_is(frame: DataFrame) -> DataFrame:
    return frame


def with_words(frame: DataFrame) -> DataFrame:
    return frame.selectExpr("id", "CAST(total AS STRING) AS total")


def pipeline_of(topic: str, *sinks: TopicSink) -> Pipeline:
    return Pipeline(topic, (TopicSource(topic, Json("id STRING NOT NULL, total DOUBLE")),), sinks, as_it_is)


def run(pipeline: Pipeline, spark: SparkSession, broker: Broker, folder: Path) -> None:
    settings = Settings(broker.bootstrap, once=True, checkpoints=str(folder))
    with Client(broker.bootstrap) as client:
        create_topics(pipeline, client)
    assert start_query(pipeline, settings, spark, gate_of(pipeline, settings)).awaitTermination(QUERY_S_MAX)


def facts_of(record: Record) -> dict[str, str]:
    return {name.removeprefix(PREFIX): (value or b"").decode() for name, value in record.headers}


@pytest.mark.spark
@pytest.mark.slow
def test_values_are_encoded_and_rows_that_do_not_fit_are_letters(
    spark: SparkSession, broker: Broker, url: str, penstock_topic: str, tmp_path: Path
) -> None:
    topic, out, loose = penstock_topic, f"{penstock_topic}-out", f"{penstock_topic}-loose"
    for name in (topic, out, loose):
        broker.create_topic(name)
    produce(broker.bootstrap, topic, ORDERS)
    strict = TopicSink(out, key="id", encode=Encode(url, schema=SCHEMA))
    pipeline = pipeline_of(topic, strict, TopicSink(loose, encode=Encode(url, "json")))

    run(pipeline, spark, broker, tmp_path)

    read = Schemas(url).deserialize
    found = [(record.key, read(record.value)) for _, record in records_of(broker.bootstrap, out)]
    assert found == [(b"a", {"id": "a", "total": 1.5}), (b"c", {"id": "c", "total": 2.0})]
    assert [read(record.value)["id"] for _, record in records_of(broker.bootstrap, loose)] == ["a", "b", "c"]
    ((_, letter),) = records_of(broker.bootstrap, f"{out}.dlq")
    facts = facts_of(letter)
    assert (letter.key, json.loads(letter.value or b"")) == (b"b", {"id": "b"})
    assert (facts["sink"], facts["pipeline"], facts["row.topic"], facts["row.offset"]) == (out, topic, topic, "1")
    assert "topic" not in facts, "what was read is not what is here: it is not redriven"
    checked = list(findings(pipeline, Cluster(broker.bootstrap)))
    assert [(each.where, each.told, each.found) for each in checked if each.what != "in"] == [
        (f"{topic}.dlq", 1, 1),
        (out, 2, 2),
        (f"{out}.dlq", 1, 1),
        (loose, 3, 3),
        (f"{loose}.dlq", 0, 0),
    ]
    wrong = replace(pipeline, transform=with_words, sinks=(TopicSink(loose, encode=Encode(url, "json")),))
    with pytest.raises(ClientError, match=f"incompatible with an earlier schema for subject .{loose}-value"):
        run(wrong, spark, broker, tmp_path)


@pytest.mark.spark
@pytest.mark.slow
def test_at_least_once_encodes_as_well(
    spark: SparkSession, broker: Broker, url: str, penstock_topic: str, tmp_path: Path
) -> None:
    out = f"{penstock_topic}-out"
    broker.create_topic(penstock_topic)
    broker.create_topic(out)
    produce(broker.bootstrap, penstock_topic, ORDERS)
    encode, options = Encode(url, schema=SCHEMA), {"delivery": "at-least-once"}
    sink = TopicSink(out, "id", options, encode, dead_letters=f"{out}-bad")

    run(pipeline_of(penstock_topic, sink), spark, broker, tmp_path)

    assert [record.key for _, record in records_of(broker.bootstrap, out)] == [b"a", b"c"]
    assert [record.key for _, record in records_of(broker.bootstrap, f"{out}-bad")] == [b"b"]


def test_what_contradicts_itself_is_found_when_it_is_declared() -> None:
    with pytest.raises(Misdeclared, match="names its topic"):
        TopicSink(encode=Encode("http://localhost:1"))
    with pytest.raises(Misdeclared, match="encodes nothing"):
        TopicSink("out", dead_letters="bad")
    with pytest.raises(Misdeclared, match="give a `schema`"):
        Encode("http://localhost:1", "protobuf")
    with pytest.raises(Misdeclared, match="one of avro, json, protobuf"):
        Encode("http://localhost:1", "xml")  # type: ignore[arg-type]  # On purpose.


def test_a_sink_says_what_it_encodes() -> None:
    sink = TopicSink("out", "id", encode=Encode("http://localhost:1"))
    assert sink_text(sink) == "topic out keyed by id, as avro of a registry (out-value), dead letters to out.dlq"
