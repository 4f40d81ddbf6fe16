"""Kafka's own `TransactionalMessageCopier`, two of them in one group, which abort at random: what comes out is what
went in, while one of them and the coordinators are killed."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition

from tests.chaos.cluster import on_loopback
from tests.chaos.frameworks.running import Framework, running
from tests.chaos.load import CLIENT
from tests.chaos.transfers.bank import committed_reader
from tests.chaos.transfers.run import SETTINGS
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.client, pytest.mark.java, pytest.mark.soak]

RECORDS, PARTITIONS = 12_000, 4
COPIER = "org.apache.kafka.tools.TransactionalMessageCopier"
SECONDS_MAX = 300.0


class Copies:
    """How often each record has been seen by a reader of committed records."""

    def __init__(self, bootstrap: str) -> None:
        self.seen: Counter[bytes] = Counter()
        self._reader = committed_reader(bootstrap)
        self._reader.assign([TopicPartition("copies", each, 0) for each in range(PARTITIONS)])

    def wait_for(self, count: int, copiers: list[Framework]) -> None:
        """A copier ends when it has nothing more to do, or when it is refused too often."""

        def all_there() -> bool:
            for message in self._reader.consume(500, 0.1):
                if message.error() is None:
                    self.seen[message.value() or b""] += 1
            for copier in copiers:
                if not copier.runs:
                    copier.start()
            return self.seen.total() >= count

        wait_until(all_there, timeout_s=SECONDS_MAX, what=f"{count} copies")

    def close(self) -> None:
        self._reader.close()


def write(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, **CLIENT})
    for number in range(RECORDS):
        producer.produce("originals", b"%d" % number, key=b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(SECONDS_MAX) == 0


def options(bootstrap: str, number: int) -> list[str]:
    what = ["--input-topic", "originals", "--input-partition", "-1", "--output-topic", "copies"]
    who = ["--broker-list", bootstrap, "--consumer-group", "copiers", "--transactional-id", f"copier-{number}"]
    how = ["--transaction-size", "20", "--transaction-timeout", "10000", "--enable-random-aborts", "--group-mode"]
    return [COPIER, *what, *who, *how, "--use-group-metadata"]


def test_two_copiers(tmp_path: Path) -> None:
    with on_loopback(3, SETTINGS) as cluster, ExitStack() as until:
        for topic in ("originals", "copies"):
            cluster.create_topic(topic, PARTITIONS)
        write(cluster.bootstrap)
        copies = Copies(cluster.bootstrap)
        copiers = [
            until.enter_context(running(tmp_path / f"talk-{number}", *options(cluster.bootstrap, number)))
            for number in (1, 2)
        ]
        for turn, topic in enumerate(("__transaction_state", "__consumer_offsets"), 1):
            copies.wait_for(turn * RECORDS // 4, copiers)
            victim = cluster.leader_of(topic)
            cluster.nodes[victim].kill()
            copiers[0].kill()
            cluster.start([victim])
        copies.wait_for(RECORDS, copiers)
        cluster.wait_healed("copies")
        copies.wait_for(RECORDS, copiers)
        copies.close()
    assert copies.seen == Counter(b"%d" % number for number in range(RECORDS))
