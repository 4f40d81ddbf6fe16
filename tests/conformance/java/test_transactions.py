"""Kafka's tools about transactions: which are open, which hang, what is committed, and what was written down."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.transactional import TransactionalProducer
from penstock.testing import Broker
from tests.client.test_transactional import VerificationOff, write_outside
from tests.conformance.java.running import run
from tests.kafka_peer import Tool, java_tool

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.client]

HANGING_PRODUCER = 77_000
HOUR_MS = 3_600_000
EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = range(6)


@pytest.fixture
def client(broker: Broker) -> Iterator[Client]:
    with Client(broker.bootstrap, timeout=20) as one:
        yield one


@pytest.fixture
def topic(client: Client, name: str) -> str:
    Admin(client).create_topic(name, 1)
    client.topic(name)
    return name


def rows(table: str) -> list[dict[str, str]]:
    """What a tool prints, by the names of its columns."""
    head, *lines = [[cell.strip() for cell in line.split("\t")] for line in table.splitlines() if line.strip()]
    return [dict(zip(head, line, strict=False)) for line in lines]


def send(producer: TransactionalProducer, topic: str, value: bytes) -> None:
    producer.send(topic, None, value, partition=0)
    producer.flush()


def test_an_open_transaction_is_listed_and_described(broker: Broker, client: Client, topic: str) -> None:
    producer = TransactionalProducer(client, topic, timeout_ms=50_000)
    producer.begin()
    send(producer, topic, b"open")
    (listed,) = [row for row in rows(run(broker, Tool.TRANSACTIONS, "list")) if row["TransactionalId"] == topic]
    assert (listed["Coordinator"], listed["TransactionState"]) == ("1", "Ongoing")
    (described,) = rows(run(broker, Tool.TRANSACTIONS, "describe", "--transactional-id", topic))
    assert described["ProducerId"] == listed["ProducerId"]
    assert (described["TransactionState"], described["TransactionTimeoutMs"]) == ("Ongoing", "50000")
    assert described["TopicPartitions"] == f"{topic}-0"
    where = ("--topic", topic, "--partition", "0")
    (writing,) = rows(run(broker, Tool.TRANSACTIONS, "describe-producers", *where))
    assert (writing["ProducerId"], writing["CurrentTransactionStartOffset"]) == (listed["ProducerId"], "0")
    producer.commit()
    (ended,) = rows(run(broker, Tool.TRANSACTIONS, "describe", "--transactional-id", topic))
    assert (ended["TransactionState"], ended["TopicPartitions"]) == ("CompleteCommit", "")


def test_a_transaction_is_ended_over_the_head_of_its_producer(broker: Broker, client: Client, topic: str) -> None:
    producer = TransactionalProducer(client, topic)
    producer.begin()
    send(producer, topic, b"never")
    run(broker, Tool.TRANSACTIONS, "forceTerminateTransaction", "--transactionalId", topic)
    with pytest.raises(ClientError, match="FENCED"):
        producer.commit()


def test_a_hanging_transaction_is_found_and_aborted(broker: Broker, client: Client, topic: str) -> None:
    with VerificationOff(client):
        write_outside(client, TopicPartition(topic, 0), HANGING_PRODUCER, ago_ms=HOUR_MS)
    (found,) = rows(run(broker, Tool.TRANSACTIONS, "find-hanging", "--broker-id", "1", "--topic", topic))
    assert (found["Topic"], found["Partition"], found["ProducerId"]) == (topic, "0", str(HANGING_PRODUCER))
    where = ("--topic", topic, "--partition", "0", "--start-offset", found["StartOffset"])
    run(broker, Tool.TRANSACTIONS, "abort", *where)
    assert rows(run(broker, Tool.TRANSACTIONS, "find-hanging", "--broker-id", "1", "--topic", topic)) == []


def test_the_console_consumer_reads_what_is_committed(broker: Broker, client: Client, topic: str) -> None:
    producer = TransactionalProducer(client, topic)
    for value, ends_well in ((b"kept", True), (b"dropped", False), (b"kept too", True)):
        producer.begin()
        send(producer, topic, value)
        if ends_well:
            producer.commit()
        else:
            producer.abort()
    how = ("--topic", topic, "--from-beginning", "--isolation-level", "read_committed", "--timeout-ms", "20000")
    assert run(broker, Tool.CONSOLE_CONSUMER, *how, "--max-messages", "2").splitlines() == ["kept", "kept too"]


def test_what_coordinators_and_partitions_wrote_is_sound() -> None:
    with Broker(beside=True) as broker, Client(broker.bootstrap, timeout=20) as client:
        Admin(client).create_topic("t", 1)
        producer = TransactionalProducer(client, "writer")
        producer.begin()
        send(producer, "t", b"x")
        producer.commit()
        producer.begin()
        send(producer, "t", b"y")
        producer.abort()
        broker.stop()
        files = [each for each in broker.folder.glob("__transaction_state-*/*.log") if each.stat().st_size]
        states = dump(files, "--transaction-log-decoder")
        assert '"transactionalId":"writer"' in states
        assert "isvalid: false" not in states
        statuses = [int(each) for each in re.findall(r'"transactionStatus":(\d)', states)]
        assert statuses == [EMPTY, ONGOING, PREPARE_COMMIT, COMPLETE_COMMIT, ONGOING, PREPARE_ABORT, COMPLETE_ABORT]
        written = dump(sorted((broker.folder / "t-0").glob("*.log")), "--print-data-log")
        assert written.count("endTxnMarker: COMMIT") == written.count("endTxnMarker: ABORT") == 1
        index = dump(sorted((broker.folder / "t-0").glob("*.txnindex")))
        assert "firstOffset: 2" in index


def dump(files: list[Path], *options: str) -> str:
    dumped = java_tool(Tool.DUMP_LOG, "--files", ",".join(map(str, files)), *options)
    assert dumped.returncode == 0, dumped.stderr
    return dumped.stdout
