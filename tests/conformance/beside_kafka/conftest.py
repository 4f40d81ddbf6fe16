"""Kafka is started once per worker; it takes a few seconds."""

from collections.abc import Iterator

import pytest

from penstock.testing import Broker
from tests.conformance.beside_kafka.side import Side, Sides
from tests.kafka_peer import KafkaPeer

SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
}


@pytest.fixture(scope="session")
def sides() -> Iterator[Sides]:
    with KafkaPeer(properties=SETTINGS) as kafka, Broker(SETTINGS, beside=True) as ours:
        both = Sides(Side("Kafka", kafka.port), Side("Penstock", ours.port))
        yield both
        both.kafka.close()
        both.ours.close()
