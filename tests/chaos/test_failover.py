"""Client libraries ride through the death of a leader, writing and reading: no error reaches the application."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer

from tests.chaos.balancer import Balancer
from tests.chaos.cluster import ChaosCluster
from tests.chaos.failover import RECORDS, Failover
from tests.chaos.place import Loopback
from tests.kafka_peer import Tool
from tests.kafka_peer.tools import java_command

with warnings.catch_warnings():
    # Both still use what the standard library is about to drop.
    warnings.simplefilter("ignore", DeprecationWarning)
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
    from kafka import KafkaConsumer, KafkaProducer

SECONDS_MAX = 60.0
Passed = Callable[[], None]
pytestmark = [pytest.mark.slow, pytest.mark.client]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChaosCluster]:
    with ChaosCluster(Loopback(tmp_path_factory.mktemp("cluster"), 3), 3) as running:
        yield running


@pytest.fixture
def topic(cluster: ChaosCluster, request: pytest.FixtureRequest) -> Iterator[str]:
    name: str = request.node.name
    cluster.create_topic(name, 1)
    yield name
    # A test that failed half way has left one.
    cluster.start(node.number for node in cluster.nodes.values() if not node.runs)


def check(read: list[bytes], acknowledged: int) -> None:
    """Each once and in order: the producers are idempotent, and none of the consumers had to begin again."""
    assert acknowledged == RECORDS
    assert [int(value) for value in read] == list(range(RECORDS))


def test_librdkafka(cluster: ChaosCluster, topic: str) -> None:
    writing = Failover(cluster, topic)
    acknowledged = write_with_librdkafka(cluster.bootstrap, topic, writing.numbers())
    writing.repair()
    reading = Failover(cluster, topic)
    check(read_with_librdkafka(cluster.bootstrap, topic, reading.pass_one), acknowledged)
    reading.repair()


def write_with_librdkafka(bootstrap: str, topic: str, numbers: Iterator[int]) -> int:
    errors: list[KafkaError] = []
    acknowledged = 0

    def delivered(error: KafkaError | None, message: Message) -> None:
        nonlocal acknowledged
        if error is None:
            acknowledged += 1
        else:
            errors.append(error)

    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0})
    for number in numbers:
        producer.produce(topic, b"%d" % number, on_delivery=delivered)
        producer.poll(0)
    assert producer.flush(SECONDS_MAX) == 0
    assert errors == []
    return acknowledged


def read_with_librdkafka(bootstrap: str, topic: str, passed: Passed) -> list[bytes]:
    settings = {"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "earliest", "log_level": 0}
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    values: list[bytes] = []
    try:
        while len(values) < RECORDS:
            message = consumer.poll(SECONDS_MAX)
            assert message is not None, f"nothing came after {len(values)} records"
            assert message.error() is None, message.error()
            value = message.value()
            assert isinstance(value, bytes)
            values.append(value)
            passed()
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return values


@pytest.fixture
def closed_sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For a library that leaves a socket open when nobody answers at the other end."""
    made: list[socket.socket] = []

    class Remembered(socket.socket):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            made.append(self)

    with monkeypatch.context() as patch:
        patch.setattr(socket, "socket", Remembered)
        yield
    for each in made:
        each.close()


@pytest.mark.usefixtures("closed_sockets")
def test_kafka_python(cluster: ChaosCluster, topic: str) -> None:
    writing = Failover(cluster, topic)
    acknowledged = write_with_kafka_python(cluster.bootstrap, topic, writing.numbers())
    writing.repair()
    reading = Failover(cluster, topic)
    check(read_with_kafka_python(cluster.bootstrap, topic, reading.pass_one), acknowledged)
    reading.repair()


def write_with_kafka_python(bootstrap: str, topic: str, numbers: Iterator[int]) -> int:
    producer = KafkaProducer(bootstrap_servers=bootstrap.split(","), acks="all", enable_idempotence=True)
    sent = [producer.send(topic, b"%d" % number) for number in numbers]
    offsets = {future.get(SECONDS_MAX).offset for future in sent}
    producer.close()
    return len(offsets)


def read_with_kafka_python(bootstrap: str, topic: str, passed: Passed) -> list[bytes]:
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap.split(","),
        group_id=topic,
        auto_offset_reset="earliest",
        max_poll_records=RECORDS // 10,
        consumer_timeout_ms=int(SECONDS_MAX * 1000),
    )
    values: list[bytes] = []
    for record in consumer:
        values.append(record.value)
        passed()
        if len(values) == RECORDS:
            break
    consumer.commit()
    consumer.close()
    return values


def test_aiokafka(cluster: ChaosCluster, topic: str) -> None:
    writing = Failover(cluster, topic)
    acknowledged = asyncio.run(write_with_aiokafka(cluster.bootstrap, topic, writing))
    writing.repair()
    reading = Failover(cluster, topic)
    check(asyncio.run(read_with_aiokafka(cluster.bootstrap, topic, reading.pass_one)), acknowledged)
    reading.repair()


async def write_with_aiokafka(bootstrap: str, topic: str, failover: Failover) -> int:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True) as producer:
        sent = []
        for number in failover.numbers():
            sent.append(await producer.send(topic, b"%d" % number))
            # The count is a plain loop: the client gets its turn here.
            await asyncio.sleep(0)
        done = await asyncio.wait_for(asyncio.gather(*sent), SECONDS_MAX)
    return len({metadata.offset for metadata in done})


async def read_with_aiokafka(bootstrap: str, topic: str, passed: Passed) -> list[bytes]:
    values: list[bytes] = []
    async with AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, group_id=topic, auto_offset_reset="earliest", max_poll_records=RECORDS // 10
    ) as consumer:
        while len(values) < RECORDS:
            record = await asyncio.wait_for(consumer.getone(), SECONDS_MAX)
            values.append(record.value)
            passed()
        await consumer.commit()
    return values


@pytest.mark.java
def test_java(cluster: ChaosCluster, topic: str, tmp_path: Path) -> None:
    # The tool's own default is to try everything once.
    config = tmp_path / "producer.properties"
    config.write_text(f"retries={2**31 - 1}\nenable.idempotence=true\n")
    common = ["--bootstrap-server", cluster.bootstrap, "--topic", topic, "--max-messages", str(RECORDS)]
    writing = Failover(cluster, topic)
    steadily = ["--throughput", "200", "--acks", "-1", "--command-config", str(config)]
    sent = run_verifiable(Tool.VERIFIABLE_PRODUCER, [*common, *steadily], writing)
    assert [event for event in sent if event["name"] == "producer_send_error"] == []
    writing.repair()
    reading = Failover(cluster, topic)
    group = ["--group-id", topic, "--reset-policy", "earliest"]
    read = run_verifiable(Tool.VERIFIABLE_CONSUMER, [*common, *group, "--verbose"], reading)
    reading.repair()

    acknowledged = [event for event in sent if event["name"] == "producer_send_success"]
    values = [str(event["value"]).encode() for event in read if event["name"] == "record_data"]
    check(values, len(acknowledged))


@pytest.mark.java
def test_java_share_group(cluster: ChaosCluster, topic: str) -> None:
    """What was out when the leader died is delivered again, and nothing that was acknowledged."""
    write_with_librdkafka(cluster.bootstrap, topic, iter(range(RECORDS)))
    reading = Failover(cluster, topic)
    where = ["--bootstrap-server", cluster.bootstrap, "--topic", topic, "--group-id", topic]
    how = ["--acknowledgement-mode", "sync", "--offset-reset-strategy", "earliest", "--verbose"]
    acknowledged: list[int] = []
    command = java_command(Tool.VERIFIABLE_SHARE_CONSUMER, *where, *how)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None, "it was asked for"
        patience = threading.Timer(SECONDS_MAX, process.kill)
        patience.start()
        while len(acknowledged) < RECORDS and (line := process.stdout.readline()):
            event = json.loads(line)
            if event["name"] == "record_data":
                assert event["offset"] not in acknowledged
                reading.pass_one()
            elif event["name"] == "offsets_acknowledged" and event["success"]:
                acknowledged += [offset for each in event["partitions"] for offset in each["offsets"]]
        patience.cancel()
        process.kill()
    assert sorted(acknowledged) == list(range(RECORDS))
    reading.repair()


def run_verifiable(tool: Tool, arguments: list[str], failover: Failover) -> list[dict[str, object]]:
    """What one of Kafka's verifiable clients tells, event by event; each record that it tells of counts."""
    process = subprocess.Popen(java_command(tool, *arguments), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None, "it was asked for"
    events: list[dict[str, object]] = []
    patience = threading.Timer(SECONDS_MAX, process.kill)
    patience.start()
    try:
        for line in process.stdout:
            events.append(json.loads(line))
            if events[-1]["name"] in ("producer_send_success", "record_data"):
                failover.pass_one()
        assert process.wait() == 0, f"it ended early, after {events[-3:]}"
    finally:
        patience.cancel()
        process.kill()
        process.wait()
        process.stdout.close()
    return events


def test_a_balancer_in_front_of_bootstrap(cluster: ChaosCluster, topic: str) -> None:
    with Balancer([(node.host, node.port) for node in cluster.nodes.values()]) as balancer:
        writing = Failover(cluster, topic)
        acknowledged = write_with_librdkafka(balancer.address, topic, writing.numbers())
        # Who comes while a node is down is led to one that is not.
        values = read_with_librdkafka(balancer.address, topic, lambda: None)
        writing.repair()

    check(values, acknowledged)
    assert sum(balancer.connections.values()) >= 2
