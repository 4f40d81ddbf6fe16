"""A Kafka Streams application as a streams group, of which an instance dies; and Kafka's tool for such groups."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from penstock.client.blocking import Client
from penstock.client.groups import Groups
from penstock.testing import Broker
from tests.chaos.frameworks.running import HERE, Framework, running
from tests.chaos.transfers.bank import committed_reader
from tests.conformance.confluent import producer
from tests.conformance.java.running import run
from tests.kafka_peer import Tool
from tests.waiting import wait_until

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.soak]

PARTITIONS = 2
SECONDS_MAX = 120.0
GROUP = "word-count"
SETTINGS = {
    "group.streams.heartbeat.interval.ms": 500,
    "group.streams.session.timeout.ms": 6_000,
    "group.streams.initial.rebalance.delay.ms": 0,
    "group.streams.assignment.interval.ms": 0,
    "group.streams.num.standby.replicas": 1,
}


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(SETTINGS, beside=True) as running:
        yield running


def application(broker: Broker, folder: Path) -> tuple[Path | str, ...]:
    return (HERE / "WordCount.java", broker.bootstrap, folder, "group.protocol=streams", "replication.factor=1")


def write(broker: Broker, expected: Counter[str]) -> None:
    writer = producer(broker)
    for number in range(60):
        line = ["alpha", "beta", "gamma"][: number % 3 + 1]
        expected.update(line)
        writer.produce("lines", " ".join(line), partition=number % PARTITIONS)
    assert writer.flush(SECONDS_MAX) == 0


class Counts:
    """Every count that was committed, by word."""

    def __init__(self, bootstrap: str, framework: Framework) -> None:
        self.found: dict[str, list[int]] = defaultdict(list)
        self._framework = framework
        self._reader = committed_reader(bootstrap)
        self._reader.assign([TopicPartition("counts", each, 0) for each in range(PARTITIONS)])

    def wait_for(self, expected: Counter[str]) -> None:
        def all_there() -> bool:
            for message in self._reader.consume(500, 0.1):
                if message.error() is None:
                    self.found[(message.key() or b"").decode()].append(int(message.value() or b"0"))
            return {word: max(counts) for word, counts in self.found.items()} == expected

        wait_until(all_there, timeout_s=SECONDS_MAX, what=f"{expected}; {self._framework.talk()[-2_000:]}")

    def close(self) -> None:
        self._reader.close()


def members(broker: Broker) -> int:
    with Client(broker.bootstrap) as client:
        return len(Groups(client).describe(GROUP).members)


def test_word_count_goes_on_where_one_instance_dies(broker: Broker, tmp_path: Path) -> None:
    expected = Counter[str]()
    for topic in ("lines", "counts"):
        broker.create_topic(topic, partitions=PARTITIONS)
    with running(tmp_path / "first-talk", *application(broker, tmp_path / "first")) as first:
        counts = Counts(broker.bootstrap, first)
        write(broker, expected)
        counts.wait_for(expected)
        with running(tmp_path / "second-talk", *application(broker, tmp_path / "second")):
            wait_until(lambda: members(broker) == 2, timeout_s=SECONDS_MAX, what="two members")
            write(broker, expected)
            counts.wait_for(expected)
            described = run(broker, Tool.STREAMS_GROUPS, "--describe", "--group", GROUP, "--members")
            assert described.count("ACTIVE") == 2, described
            first.kill()
            wait_until(lambda: members(broker) == 1, timeout_s=SECONDS_MAX, what="one member")
            write(broker, expected)
            counts.wait_for(expected)
        counts.close()
    assert counts.found == {word: list(range(1, count + 1)) for word, count in expected.items()}
    wait_until(lambda: members(broker) == 0, timeout_s=SECONDS_MAX, what="no member")
    listed = run(broker, Tool.STREAMS_GROUPS, "--list", "--state")
    assert [line.split() for line in listed.splitlines() if GROUP in line] == [[GROUP, "Empty"]]
    run(broker, Tool.STREAMS_GROUPS, "--delete", "--group", GROUP)
    assert GROUP not in run(broker, Tool.STREAMS_GROUPS, "--list").split()
