"""Typed columns in queries: a registry beside a node, a schema that evolves between batches, bad records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

import penstock.spark
from penstock.api.schemas import Schemas
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.spark import Registry
from penstock.spark.pipelines import Pipeline, TopicSink, TopicSource
from penstock.spark.pipelines.deadletters import create_topics
from penstock.spark.pipelines.running import Settings, gate_of, start_query
from penstock.spark.typed.declaration import FormatName
from penstock.testing import Broker
from tests.registry.world import registry
from tests.spark.pipelines.runs import dead_letters, produce, records_of

pytestmark = [pytest.mark.spark, pytest.mark.slow]
QUERY_S_MAX = 300
PROTO = 'syntax = "proto3"; message Order { string id = 1; int64 total = 2; }'

FIRST = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "string"}, {"name": "total", "type": "int"}],
}
CITY = {"name": "city", "type": "string", "default": "Rome"}
SECOND = FIRST | {"fields": [*FIRST["fields"], CITY]}


@pytest.fixture(scope="module")
def url(broker: Broker) -> Iterator[str]:
    with registry(broker.bootstrap) as running:
        yield running.rest.url


def write(broker: Broker, url: str, topic: str, schema: Any, *values: Any, type: str = "AVRO") -> None:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    serialize = Schemas(url).serializer(f"{topic}-value", text, type)
    produce(
        broker.bootstrap, topic, [value if isinstance(value, bytes | None) else serialize(value) for value in values]
    )


def read(spark: SparkSession, broker: Broker, topic: str, **options: str) -> DataFrame:
    source = spark.read.format("penstock").option("kafka.bootstrap.servers", broker.bootstrap)
    return source.options(subscribe=topic, **options).load()


def test_values_are_columns_and_wrong_ones_say_why(
    spark: SparkSession, broker: Broker, url: str, penstock_topic: str
) -> None:
    broker.create_topic(penstock_topic)
    write(broker, url, penstock_topic, FIRST, {"id": "a", "total": 1}, b"junk")
    write(broker, url, penstock_topic, SECOND, {"id": "b", "total": 2, "city": "Bari"})
    raw = read(spark, broker, penstock_topic, includeHeaders="true")

    frame = penstock.spark.decode(raw, registry=url, subject=f"{penstock_topic}-value")
    found = frame.orderBy("_offset").select("id", "total", "city", "_offset", "_error").collect()

    assert [tuple(row) for row in found] == [
        ("a", 1, "Rome", 0, None),
        (None, None, None, 1, "no id of a schema stands in front: a zero and four bytes"),
        ("b", 2, "Bari", 2, None),
    ]
    pinned = Registry(url, subject=f"{penstock_topic}-value", version=1)
    with pytest.raises(Exception, match=f"{penstock_topic}-0 offset 1: no id of a schema"):
        penstock.spark.decode(raw, registry=pinned, mode="FAILFAST").collect()


def test_a_schema_evolves_between_the_batches_of_a_pipeline(
    spark: SparkSession, broker: Broker, url: str, penstock_topic: str, tmp_path: Path
) -> None:
    """The second run reads with the newest schema; what cannot be read is among the dead letters, with its place."""
    topic, out = penstock_topic, f"{penstock_topic}-out"
    for name in (topic, out):
        broker.create_topic(name)
    write(broker, url, topic, FIRST, {"id": "a", "total": 1}, b"junk", None)
    limit = {"maxOffsetsPerTrigger": "2"}
    source = TopicSource(topic, Registry(url), options=limit)
    pipeline = Pipeline(topic, (source,), (TopicSink(out, key="id"),), _fields)

    _run(pipeline, spark, broker, tmp_path)
    write(broker, url, topic, SECOND, {"id": "b", "total": 2, "city": "Bari"}, b"\x00\x00\x7f\xff\xffx")
    write(broker, url, topic, FIRST, {"id": "c", "total": 3})
    _run(pipeline, spark, broker, tmp_path)

    values = [json.loads(record.value or b"") for _, record in records_of(broker.bootstrap, out)]
    assert values[0] == {"id": "a", "total": 1}
    assert values[1:] == [
        {"id": "b", "total": 2, "city": "Bari"},
        {"id": "c", "total": 3, "city": "Rome"},
    ]
    letters = [
        (place, facts["class"], facts["message"]) for place, facts, _ in dead_letters(broker.bootstrap, f"{topic}.dlq")
    ]
    assert letters == [
        ((0, 1), "Unfit", "no id of a schema stands in front: a zero and four bytes"),
        ((0, 2), "Undecodable", "the value is null"),
        ((0, 4), "UnknownSchema", "the registry has no schema with the id 8388607"),
    ]


def _fields(frame: DataFrame) -> DataFrame:
    return frame.drop("_key", "_topic", "_partition", "_timestamp")


def _run(pipeline: Pipeline, spark: SparkSession, broker: Broker, folder: Path) -> None:
    settings = Settings(broker.bootstrap, once=True, checkpoints=str(folder))
    with Client(broker.bootstrap) as client:
        create_topics(pipeline, client)
    assert start_query(pipeline, settings, spark, gate_of(pipeline, settings)).awaitTermination(QUERY_S_MAX)


@pytest.mark.parametrize("format", ["avro", "json", "protobuf"])
def test_what_a_frame_writes_a_frame_reads(
    spark: SparkSession, broker: Broker, url: str, penstock_topic: str, format: FormatName
) -> None:
    """A schema that is not compatible with the one before it is refused before anything is written."""
    broker.create_topic(penstock_topic)
    subject = f"{penstock_topic}-value"
    schema = PROTO if format == "protobuf" else None
    rows = [("k1", "a", 1), ("k2", "b", 2)]
    frame = spark.createDataFrame(rows, "key STRING, id STRING NOT NULL, total LONG NOT NULL")

    values = penstock.spark.encode(frame, url, subject, format, schema=schema, keep=["key"])
    sink = values.write.format("penstock").option("kafka.bootstrap.servers", broker.bootstrap)
    sink.option("topic", penstock_topic).mode("append").save()

    raw = read(spark, broker, penstock_topic)
    found = penstock.spark.decode(raw, url, format, subject=subject, mode="FAILFAST")
    assert sorted(map(tuple, found.select("_key", "id", "total").collect())) == [(b"k1", "a", 1), (b"k2", "b", 2)]
    wrong = frame.selectExpr("id", "CAST(total AS BOOLEAN) AS total")
    bad = PROTO.replace("int64", "string") if format == "protobuf" else None
    with pytest.raises(ClientError, match=f"incompatible with an earlier schema for subject .{subject}"):
        penstock.spark.encode(wrong, url, subject, format, schema=bad)


def test_the_source_gives_typed_columns_by_its_options(
    spark: SparkSession, broker: Broker, url: str, penstock_topic: str, tmp_path: Path
) -> None:
    """A frame's columns stay what they were when it was made, whatever is registered since; streams have them too."""
    broker.create_topic(penstock_topic)
    write(broker, url, penstock_topic, FIRST, {"id": "a", "total": 1}, b"junk")
    frame = read(spark, broker, penstock_topic, registry=url)
    write(broker, url, penstock_topic, SECOND, {"id": "b", "total": 2, "city": "Bari"})

    found = frame.filter("_offset <> 1").select("id", "total", "_topic", "_error").collect()

    assert sorted(map(tuple, found)) == [("a", 1, penstock_topic, None), ("b", 2, penstock_topic, None)]
    assert "city" not in frame.columns
    table = "typed_orders"
    given = f"`kafka.bootstrap.servers` '{broker.bootstrap}', subscribe '{penstock_topic}', registry '{url}'"
    spark.sql(f"CREATE TABLE {table} USING penstock OPTIONS ({given})")
    assert [row.city for row in spark.sql(f"SELECT city FROM {table} ORDER BY _offset").collect()] == [
        "Rome",
        None,
        "Bari",
    ]
    spark.sql(f"DROP TABLE {table}")
    options = {"subscribe": penstock_topic, "registry": url, "startingOffsets": "earliest"}
    source = spark.readStream.format("penstock").option("kafka.bootstrap.servers", broker.bootstrap).options(**options)
    query = source.load().writeStream.format("memory").queryName("typed_source").trigger(availableNow=True)
    assert query.option("checkpointLocation", str(tmp_path)).start().awaitTermination(QUERY_S_MAX)
    rows = spark.sql("SELECT id, city, _error FROM typed_source ORDER BY _offset").collect()
    assert [row.city for row in rows] == ["Rome", None, "Bari"]
    assert [row._error is None for row in rows] == [True, False, True]
    with pytest.raises(AnalysisException, match=r"registry\.version is a number or latest"):
        read(spark, broker, penstock_topic, registry=url, **{"registry.version": "newest"})
