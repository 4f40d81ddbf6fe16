"""Reading, writing, streams and pipelines at a node that encrypts and asks who it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.cli import main
from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.pipeline_runs import Registry, Run
from penstock.client.security import security_of
from penstock.spark.pipelines import Json, Pipeline, TopicSink, TopicSource
from penstock.spark.pipelines.cluster import Cluster
from penstock.spark.pipelines.deadletters import create_topics
from penstock.spark.pipelines.frames import plan_text
from penstock.spark.pipelines.running import Settings, gate_of, start_query
from penstock.spark.rows.links import close_idle
from tests.conformance.security.nodes import PASSWORD, Nodes, scram
from tests.spark.source.queries import QUERY_S_MAX
from tests.tls.certificates import STORE_PASSWORD, Files, files

pytestmark = [pytest.mark.spark, pytest.mark.slow]

LISTENER = {
    "listeners": "CLIENTS://localhost:@,CONTROLLER://localhost:#",
    "listener.security.protocol.map": "CLIENTS:SASL_SSL,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "CLIENTS",
    "sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
    "listener.name.clients.scram-sha-512.sasl.jaas.config": scram("node", PASSWORD),
    "ssl.keystore.type": "PEM",
    "ssl.truststore.type": "PEM",
}
NUMBERS = 40


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return files(tmp_path_factory.mktemp("own"), "node")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory, own: Files) -> Iterator[Nodes]:
    stores = {"ssl.keystore.location": own.pem, "ssl.truststore.location": own.ca}
    with Nodes(tmp_path_factory.mktemp("node"), {**LISTENER, **stores}) as node:
        node.wait()
        yield node
    close_idle()


@pytest.fixture(scope="module")
def settings(own: Files) -> dict[str, str]:
    """As they stand in the file of a Java client."""
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": scram("alice", PASSWORD),
        "ssl.truststore.location": own.trust12,
        "ssl.truststore.password": STORE_PASSWORD,
    }


@pytest.fixture(scope="module")
def cluster(node: Nodes, settings: dict[str, str]) -> Cluster:
    return Cluster(node.bootstrap, settings)


def test_written_streamed_and_read(
    spark: SparkSession, cluster: Cluster, penstock_topic: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = f"{penstock_topic}.copy"
    with cluster.client("test") as client:
        for topic in (penstock_topic, copy):
            Admin(client).create_topic(topic, 1)
    there = cluster.options()
    rows = spark.range(NUMBERS).selectExpr("CAST(id AS STRING) AS value")
    rows.coalesce(1).write.format("penstock").options(**there, topic=penstock_topic).mode("append").save()
    reader = spark.readStream.format("penstock").options(**there, startingOffsets="earliest", subscribe=penstock_topic)
    stream = reader.load()
    writer = stream.writeStream.format("penstock").options(**there, topic=copy).trigger(availableNow=True)
    assert writer.option("checkpointLocation", str(tmp_path)).start().awaitTermination(QUERY_S_MAX)
    read = spark.read.format("penstock").options(**there, subscribe=copy).load()
    assert [int(row.value) for row in read.collect()] == [*range(NUMBERS)]
    for frame in (read, stream):
        frame.explain(extended=True)
    told = capsys.readouterr().out
    assert told.count("Physical Plan") == 2
    assert PASSWORD not in told
    assert STORE_PASSWORD not in told


@pytest.mark.java
def test_sparks_own_connector_writes_streams_and_reads(
    spark: SparkSession, cluster: Cluster, penstock_topic: str, tmp_path: Path
) -> None:
    """With the settings of any Java client, and from topic to topic."""
    copy = f"{penstock_topic}.copy"
    with cluster.client("test") as client:
        for topic in (penstock_topic, copy):
            Admin(client).create_topic(topic, 1)
    there = cluster.options()
    assert there["kafka.security.protocol"] == "SASL_SSL"
    rows = spark.range(NUMBERS).selectExpr("CAST(id AS STRING) AS key", "CAST(id AS STRING) AS value")
    rows.coalesce(1).write.format("kafka").options(**there, topic=penstock_topic).save()
    stream = spark.readStream.format("kafka").options(**there, startingOffsets="earliest", subscribe=penstock_topic)
    writer = stream.load().select("key", "value").writeStream.format("kafka").options(**there, topic=copy)
    query = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    assert query.awaitTermination(QUERY_S_MAX)
    read = spark.read.format("kafka").options(**there, subscribe=copy).load()
    assert sorted((int(row.key), int(row.value)) for row in read.collect()) == [(n, n) for n in range(NUMBERS)]


@pytest.mark.java
def test_sparks_own_connector_is_not_let_in_with_a_wrong_password(spark: SparkSession, cluster: Cluster) -> None:
    wrong = cluster.options() | {"kafka.sasl.jaas.config": scram("alice", "guessed"), "fetchOffset.numRetries": "1"}
    reader = spark.read.format("kafka").options(**wrong, subscribe="any")
    with pytest.raises(Exception, match="SaslAuthenticationException"):
        reader.load().collect()


def test_who_is_not_let_in_hears_why(spark: SparkSession, cluster: Cluster) -> None:
    wrong = {"kafka.sasl.jaas.config": scram("alice", "guessed"), "fetchOffset.numRetries": "1"}
    reader = spark.read.format("penstock").options(**(cluster.options() | wrong), subscribe="any")
    with pytest.raises(Exception, match="does not let us in: Authentication failed") as caught:
        reader.load().collect()
    assert "guessed" not in str(caught.value)


def test_a_pipeline(spark: SparkSession, cluster: Cluster, tmp_path: Path, penstock_topic: str) -> None:
    with cluster.client("test") as client:
        admin = Admin(client)
        admin.create_topic(penstock_topic, 1)
        admin.create_topic(f"{penstock_topic}.out", 1)
    words = ['{"number": 1}', "no JSON", '{"number": 2}']
    rows = spark.createDataFrame([(word,) for word in words], "value STRING").coalesce(1)
    there = {**cluster.options(), "topic": penstock_topic}
    rows.write.format("penstock").options(**there).mode("append").save()
    source = TopicSource(penstock_topic, Json("number INT"))
    sink = TopicSink(f"{penstock_topic}.out", key="number")
    pipeline = Pipeline("secure", (source,), (sink,))
    assert PASSWORD not in plan_text(pipeline, spark, cluster)
    how = Settings(cluster.bootstrap, once=True, checkpoints=str(tmp_path), client=cluster.settings)
    with cluster.client("test") as client:
        create_topics(pipeline, client)
    query = start_query(pipeline, how, spark, gate_of(pipeline, how))
    assert query.awaitTermination(QUERY_S_MAX)
    found = spark.read.format("penstock").options(**cluster.options(), subscribePattern=f"{penstock_topic}\\..*").load()
    assert sorted((row.topic.rpartition(".")[2], bytes(row.value)) for row in found.collect()) == [
        ("dlq", b"no JSON"),
        ("out", b'{"number":1}'),
        ("out", b'{"number":2}'),
    ]


def test_the_commands_take_a_file(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "client.properties"
    lines = {**cluster.settings, "bootstrap.servers": cluster.bootstrap}
    config.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    monkeypatch.delenv("PENSTOCK_COMMAND_CONFIG", raising=False)
    with Client(cluster.bootstrap, security=security_of(cluster.settings)) as client:
        registry = Registry(client)
        registry.create()
        registry.tell(Run("secure", "run-1", "host", 1, "local", 0))
    monkeypatch.setenv("PENSTOCK_COMMAND_CONFIG", str(config))
    assert main.main(["pipeline", "status", "secure", "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["pipeline"] == "secure"
