"""A librdkafka consumer reads from the replica in its own rack, and from the leader when that one is gone (KIP-392)."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.chaos.cluster import ChaosCluster, on_loopback, rack_of
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.client]

TOPIC = "t"
NEAREST = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}


class Reader:
    """A consumer of one rack, which knows from whom it reads."""

    def __init__(self, cluster: ChaosCluster, rack: str) -> None:
        self.values: list[bytes] = []
        self.reads_from = -1
        self._consumer = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "group.id": "racks",
                "client.rack": rack,
                "enable.auto.commit": False,
                "statistics.interval.ms": 50,
                "stats_cb": self._told,
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(TOPIC, 0, 0)])

    def _told(self, statistics: str) -> None:
        self.reads_from = json.loads(statistics)["topics"][TOPIC]["partitions"]["0"]["broker"]

    def poll(self) -> None:
        message = self._consumer.poll(0.1)
        if message is not None and message.error() is None:
            self.values.append(message.value() or b"")

    def wait(self, count: int, broker: int) -> None:
        def has_all() -> bool:
            self.poll()
            return len(self.values) == count and self.reads_from == broker

        wait_until(has_all, timeout_s=30.0, what=f"{count} records from broker {broker}")

    def close(self) -> None:
        self._consumer.close()


def write(cluster: ChaosCluster, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0})
    for number in numbers:
        producer.produce(TOPIC, b"%d" % number, partition=0)
    assert producer.flush(30) == 0


def test_who_is_near_is_read_from() -> None:
    with on_loopback(3, NEAREST) as cluster:
        cluster.create_topic(TOPIC, 1)
        leader = cluster.leader_of(TOPIC)
        near = next(number for number in cluster.nodes if number != leader)
        write(cluster, range(100))
        reader = Reader(cluster, rack_of(near))
        reader.wait(100, near)
        write(cluster, range(100, 200))
        reader.wait(200, near)
        cluster.nodes[near].kill()
        write(cluster, range(200, 300))
        reader.wait(300, leader)
        reader.close()
    assert reader.values == [b"%d" % number for number in range(300)]
