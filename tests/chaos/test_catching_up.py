"""A node that was away comes back to thousands of small batches, more than the system writes at once."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from tests.chaos.cluster import on_loopback

TOPIC = "small"
BATCHES = 5_000
SECONDS_MAX = 60.0


@pytest.mark.slow
@pytest.mark.client
def test_a_node_catches_up_with_thousands_of_small_batches() -> None:
    with on_loopback(nodes=3) as cluster:
        cluster.create_topic(TOPIC, 1)
        away = next(each for each in cluster.nodes if each != cluster.leader_of(TOPIC))
        cluster.stop([away])
        errors: list[object] = []
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "batch.num.messages": 1})
        for number in range(BATCHES):
            producer.produce(
                TOPIC, b"%d" % number, on_delivery=lambda error, _: errors.append(error) if error else None
            )
            producer.poll(0)
        assert producer.flush(SECONDS_MAX) == 0
        assert errors == []
        cluster.start([away])
        cluster.wait_healed(TOPIC)
        logs = [folder / f"{0:020d}.log" for folder in cluster.partition_folders(TOPIC, 0)]
        assert len({log.read_bytes() for log in logs}) == 1
