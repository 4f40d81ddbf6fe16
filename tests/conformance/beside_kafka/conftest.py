"""Kafka is started once per worker; it takes a few seconds."""

from collections.abc import Iterator

import pytest

from penstock.testing import Broker
from tests.conformance.beside_kafka.side import Side, Sides
from tests.kafka_peer import KafkaPeer
from tests.waiting import wait_until

SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
}


@pytest.fixture(scope="session")
def sides() -> Iterator[Sides]:
    with KafkaPeer(properties=SETTINGS) as kafka, Broker(SETTINGS, beside=True) as ours:
        both = Sides(Side("Kafka", kafka.port), Side("Penstock", ours.port))
        wait_until(lambda: serves(both.kafka) and serves(both.ours), what="serving groups and producers")
        yield both
        both.kafka.close()
        both.ours.close()


def serves(side: Side) -> bool:
    """Whether what is made on first use, the offsets topic and producer ids, is there."""
    found = side.ask_raw("FindCoordinator", 4, key_type=0, coordinator_keys=["anyone"]).message.coordinators[0]
    made = side.ask_raw("InitProducerId", 4, transactional_id=None, transaction_timeout_ms=1000).message
    known = side.ask_raw("DescribeGroups", 5, groups=["anyone"]).message.groups[0]
    return not found.error_code and not made.error_code and not known.error_code
