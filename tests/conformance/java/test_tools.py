"""Each tool does what it does with Kafka."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from penstock.testing import Broker
from tests.conformance.java.running import run, run_failing
from tests.kafka_peer import Tool, java_command, java_tool

pytestmark = [pytest.mark.java, pytest.mark.slow]

LINES = "k1:one\nk2:two\nk3:three\n"


def fill(broker: Broker, topic: str) -> None:
    """Three records with keys, written by the console producer."""
    properties = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    run(broker, Tool.CONSOLE_PRODUCER, "--topic", topic, *properties, input=LINES)


def test_topics(broker: Broker, name: str) -> None:
    creation = ("--create", "--topic", name, "--partitions", "3", "--config", "retention.ms=1234")
    assert f"Created topic {name}." in run(broker, Tool.TOPICS, *creation)
    assert "already exists" in run_failing(broker, Tool.TOPICS, *creation)
    assert name in run(broker, Tool.TOPICS, "--list").splitlines()
    run(broker, Tool.TOPICS, "--alter", "--topic", name, "--partitions", "5")
    described = run(broker, Tool.TOPICS, "--describe", "--topic", name)
    assert "PartitionCount: 5" in described
    assert "retention.ms=1234" in described
    assert described.count("Leader: 1\tReplicas: 1\tIsr: 1") == 5
    run(broker, Tool.TOPICS, "--delete", "--topic", name)
    assert name not in run(broker, Tool.TOPICS, "--list").splitlines()


def test_configs_of_topics(broker: Broker, name: str) -> None:
    broker.create_topic(name)
    entity = ("--entity-type", "topics", "--entity-name", name)
    run(broker, Tool.CONFIGS, "--alter", *entity, "--add-config", "retention.ms=4321,cleanup.policy=[compact,delete]")
    described = run(broker, Tool.CONFIGS, "--describe", *entity)
    assert "retention.ms=4321 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=4321" in described
    assert "cleanup.policy=compact,delete" in described
    run(broker, Tool.CONFIGS, "--alter", *entity, "--delete-config", "retention.ms")
    everything = run(broker, Tool.CONFIGS, "--describe", *entity, "--all")
    assert "retention.ms=604800000" in everything
    said = run_failing(broker, Tool.CONFIGS, "--alter", *entity, "--add-config", "retention.ms=soon")
    assert "InvalidConfigurationException" in said


def test_configs_of_brokers(broker: Broker) -> None:
    entity = ("--entity-type", "brokers", "--entity-name", "1")
    run(broker, Tool.CONFIGS, "--alter", *entity, "--add-config", "log.cleaner.threads=2")
    assert "log.cleaner.threads=2" in run(broker, Tool.CONFIGS, "--describe", *entity)
    said = run_failing(broker, Tool.CONFIGS, "--alter", *entity, "--add-config", "node.id=7")
    assert "Exception" in said
    loggers = ("--entity-type", "broker-loggers", "--entity-name", "1")
    assert "root=" in run(broker, Tool.CONFIGS, "--describe", *loggers)


def test_console_clients(broker: Broker, name: str) -> None:
    broker.create_topic(name)
    fill(broker, name)
    form = ("--formatter-property", "print.key=true", "--formatter-property", "print.offset=true")
    end = ("--max-messages", "3", "--timeout-ms", "20000")
    read = run(broker, Tool.CONSOLE_CONSUMER, "--topic", name, "--from-beginning", *end, *form)
    assert read.splitlines() == ["Offset:0\tk1\tone", "Offset:1\tk2\ttwo", "Offset:2\tk3\tthree"]


def test_groups(broker: Broker, name: str) -> None:
    broker.create_topic(name)
    fill(broker, name)
    end = ("--max-messages", "3", "--timeout-ms", "20000")
    run(broker, Tool.CONSOLE_CONSUMER, "--topic", name, "--from-beginning", "--group", name, *end)
    group = ("--group", name)
    assert name in run(broker, Tool.CONSUMER_GROUPS, "--list").splitlines()
    described = run(broker, Tool.CONSUMER_GROUPS, "--describe", *group)
    (row,) = [line.split() for line in described.splitlines() if line.startswith(name)]
    assert row[:6] == [name, name, "0", "3", "3", "0"], "group, topic, partition, committed, end, lag"
    state = run(broker, Tool.CONSUMER_GROUPS, "--describe", *group, "--state")
    assert "Empty" in state
    reset = ("--reset-offsets", *group, "--topic", name, "--to-offset", "1", "--execute")
    run(broker, Tool.CONSUMER_GROUPS, *reset)
    described = run(broker, Tool.CONSUMER_GROUPS, "--describe", *group)
    (row,) = [line.split() for line in described.splitlines() if line.startswith(name)]
    assert row[3:6] == ["1", "3", "2"]
    run(broker, Tool.CONSUMER_GROUPS, "--delete", *group)
    assert name not in run(broker, Tool.CONSUMER_GROUPS, "--list").splitlines()


def test_offsets_and_deletion_of_records(broker: Broker, name: str, tmp_path: Path) -> None:
    broker.create_topic(name)
    fill(broker, name)
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": name, "partition": 0, "offset": 2}]}))
    deleted = run(broker, Tool.DELETE_RECORDS, "--offset-json-file", plan)
    assert f"partition: {name}-0\tlow_watermark: 2" in deleted
    for time, offset in (("earliest", 2), ("latest", 3), ("earliest-local", 2)):
        found = run(broker, Tool.GET_OFFSETS, "--topic-partitions", f"{name}:0", "--time", time)
        assert found.strip() == f"{name}:0:{offset}", time


def test_what_the_broker_says_of_itself(broker: Broker, name: str) -> None:
    broker.create_topic(name)
    versions = run(broker, Tool.BROKER_API_VERSIONS)
    assert f"{broker.bootstrap} (id: 1 rack: null isFenced: false) -> (" in versions
    assert "Produce(0): 0 to 13 [usable: 13]" in versions
    cluster = java_tool(Tool.CLUSTER, "cluster-id", "--bootstrap-server", broker.bootstrap)
    assert cluster.stdout.startswith("Cluster ID: ")
    sizes = run(broker, Tool.LOG_DIRS, "--describe", "--topic-list", name)
    answer = json.loads(sizes.splitlines()[-1])
    (folder,) = answer["brokers"][0]["logDirs"]
    assert folder["error"] is None
    assert [each["partition"] for each in folder["partitions"]] == [f"{name}-0"]


def test_performance_tools(broker: Broker, name: str) -> None:
    broker.create_topic(name, partitions=2)
    count = ("--num-records", "2000", "--record-size", "100", "--throughput", "-1")
    produced = java_tool(
        Tool.PRODUCER_PERF_TEST, "--topic", name, *count, "--bootstrap-server", broker.bootstrap, timeout=60
    )
    assert "2000 records sent" in produced.stdout, produced.stdout + produced.stderr
    consumed = run(broker, Tool.CONSUMER_PERF_TEST, "--topic", name, "--num-records", "2000", "--timeout", "20000")
    assert "2000" in consumed.splitlines()[-1]


def test_verifiable_clients(broker: Broker, name: str) -> None:
    broker.create_topic(name, partitions=2)
    produced = run(broker, Tool.VERIFIABLE_PRODUCER, "--topic", name, "--max-messages", "200", "--acks", "-1")
    told = [json.loads(line) for line in produced.splitlines()]
    assert sum(each["name"] == "producer_send_success" for each in told) == 200
    command = java_command(
        Tool.VERIFIABLE_CONSUMER, "--bootstrap-server", broker.bootstrap, "--topic", name, "--group-id", name,
        "--max-messages", "200", "--reset-policy", "earliest",
    )  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        read = 0
        for line in process.stdout:
            event = json.loads(line)
            read += event["count"] if event["name"] == "records_consumed" else 0
            if read >= 200 and event["name"] == "offsets_committed":
                assert event["success"] is True
                break
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
    assert read == 200


def test_metadata_quorum(broker: Broker) -> None:
    status = run(broker, Tool.METADATA_QUORUM, "describe", "--status")
    found = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    assert found["LeaderId"].strip() == "1"
    assert int(found["LeaderEpoch"]) >= 1
    assert found["MaxFollowerLag"].strip() == "0"
    assert '"id": 1' in found["CurrentVoters"]
    replication = run(broker, Tool.METADATA_QUORUM, "describe", "--replication")
    (row,) = [line for line in replication.splitlines() if line.startswith("1")]
    assert row.split()[-1] == "Leader"
