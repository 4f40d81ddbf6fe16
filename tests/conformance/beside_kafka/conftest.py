"""Kafka is started once per worker; it takes a few seconds."""

from collections.abc import Iterator
from functools import partial

import pytest

from penstock.testing import Broker
from tests.conformance.beside_kafka.side import Side, Sides
from tests.conformance.beside_kafka.transacting import GROUP, PARTITIONS, TOPIC
from tests.kafka_peer import KafkaPeer
from tests.waiting import wait_until

SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "transaction.state.log.num.partitions": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "transaction.two.phase.commit.enable": "true",
    "unstable.api.versions.enable": "true",
}


@pytest.fixture(scope="session")
def sides() -> Iterator[Sides]:
    with KafkaPeer(properties=SETTINGS) as kafka, Broker(SETTINGS, beside=True) as ours:
        both = Sides(Side("Kafka", kafka.port), Side("Penstock", ours.port))
        wait_until(lambda: serves(both.kafka) and serves(both.ours), what="serving groups and producers")
        yield both
        both.kafka.close()
        both.ours.close()


@pytest.fixture(scope="session")
def transacting(sides: Sides) -> Sides:
    """Both with a topic for transactions, and with coordinators that serve."""
    sides.create(TOPIC, PARTITIONS)
    for side in (sides.kafka, sides.ours):
        for kind, name in ((0, GROUP), (1, "anyone")):
            wait_until(partial(coordinates, side, kind, name), what=f"coordinators at {side}")
    return sides


def coordinates(side: Side, kind: int, name: str) -> bool:
    (found,) = side.ask_raw("FindCoordinator", 4, key_type=kind, coordinator_keys=[name]).message.coordinators
    return not found.error_code


def serves(side: Side) -> bool:
    """Whether what is made on first use, the offsets topic and producer ids, is there."""
    found = side.ask_raw("FindCoordinator", 4, key_type=0, coordinator_keys=["anyone"]).message.coordinators[0]
    made = side.ask_raw("InitProducerId", 4, transactional_id=None, transaction_timeout_ms=1000).message
    known = side.ask_raw("DescribeGroups", 5, groups=["anyone"]).message.groups[0]
    return not found.error_code and not made.error_code and not known.error_code
