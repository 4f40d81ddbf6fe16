"""Kafka Streams counts words with `exactly_once_v2`: every count comes once, whoever dies meanwhile."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition

from tests.chaos.cluster import ChaosCluster, on_loopback
from tests.chaos.frameworks.running import HERE, running
from tests.chaos.load import CLIENT
from tests.chaos.transfers.bank import committed_reader
from tests.chaos.transfers.run import SETTINGS
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.client, pytest.mark.java, pytest.mark.soak]

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon")
LINES, WORDS_PER_LINE, PARTITIONS = 600, 4, 3
SECONDS_MAX = 180.0


def write(cluster: ChaosCluster, chance: random.Random, expected: Counter[str]) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, **CLIENT})
    for number in range(LINES):
        line = chance.choices(WORDS, k=WORDS_PER_LINE)
        expected.update(line)
        producer.produce("lines", " ".join(line), partition=number % PARTITIONS)
    assert producer.flush(SECONDS_MAX) == 0


class Counts:
    """Every count that was ever committed, by word."""

    def __init__(self, bootstrap: str) -> None:
        self.found: dict[str, list[int]] = defaultdict(list)
        self._reader = committed_reader(bootstrap)
        self._reader.assign([TopicPartition("counts", each, 0) for each in range(PARTITIONS)])

    def wait_for(self, expected: Counter[str]) -> None:
        def all_there() -> bool:
            for message in self._reader.consume(500, 0.1):
                if message.error() is None:
                    self.found[(message.key() or b"").decode()].append(int(message.value() or b"0"))
            return {word: max(counts) for word, counts in self.found.items()} == expected

        wait_until(all_there, timeout_s=SECONDS_MAX, what=f"{expected}")

    def close(self) -> None:
        self._reader.close()


def test_word_count(tmp_path: Path) -> None:
    chance, expected = random.Random(7), Counter[str]()
    with on_loopback(3, SETTINGS) as cluster:
        for topic in ("lines", "counts"):
            cluster.create_topic(topic, PARTITIONS)
        counts = Counts(cluster.bootstrap)
        program = (HERE / "WordCount.java", cluster.bootstrap, tmp_path / "state", "consumer.session.timeout.ms=6000")
        with running(tmp_path / "talk", *program) as streams:
            write(cluster, chance, expected)
            counts.wait_for(expected)
            for topic in ("__transaction_state", "counts"):
                write(cluster, chance, expected)
                victim = cluster.leader_of(topic)
                cluster.nodes[victim].kill()
                streams.kill()
                streams.start()
                cluster.start([victim])
                counts.wait_for(expected)
        counts.close()
    assert counts.found == {word: list(range(1, count + 1)) for word, count in expected.items()}
