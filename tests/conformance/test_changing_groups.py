"""A rolling restart from the classic to the consumer protocol and back, with librdkafka's consumers."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from penstock.testing import Broker
from tests.conformance.confluent import admin, consumer, is_spread, poll_once, poll_until, producer
from tests.conformance.test_consumer_groups import consumer as consumer_of_848

pytestmark = pytest.mark.client

PARTITIONS = 4
spread = partial(is_spread, PARTITIONS)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    settings = {
        "group.consumer.heartbeat.interval.ms": 200,
        "group.consumer.assignment.interval.ms": 0,
        "group.initial.rebalance.delay.ms": 0,
    }
    with Broker(settings, beside=True) as running:
        yield running


def kind(broker: Broker, name: str) -> str:
    asking = admin(broker)
    (described,) = (each.result() for each in asking.describe_consumer_groups([name]).values())
    return str(described.type.name)


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_consumers_roll_both_ways(broker: Broker, name: str, strategy: str) -> None:
    broker.create_topic(name, partitions=PARTITIONS)
    writer = producer(broker)
    seen: list[Any] = []

    def read(count: int, *clients: Any) -> None:
        """Some more in each partition; all is read once, and committed."""
        for index in range(PARTITIONS):
            writer.produce(name, b"x", partition=index)
        assert writer.flush(20) == 0
        poll_until([], lambda: len(take(seen, *clients)) >= count, "the records")
        for each in clients:
            each.commit(asynchronous=False)

    classic = {"partition_assignment_strategy": strategy}
    with consumer(broker, name, **classic) as one:
        one.subscribe([name])
        poll_until([one], lambda: spread(one), "the first assignment")
        read(PARTITIONS, one)
        with consumer_of_848(broker, name) as two:
            two.subscribe([name])
            poll_until([one, two], lambda: spread(one, two), "both protocols")
            assert kind(broker, name) == "CONSUMER"
            read(2 * PARTITIONS, one, two)
            one.unsubscribe()
            poll_until([one, two], lambda: spread(two), "the new protocol alone")
            read(3 * PARTITIONS, two)
            one.subscribe([name])
            poll_until([one, two], lambda: spread(one, two), "the way back")
        poll_until([one], lambda: spread(one), "the old protocol alone")
        assert kind(broker, name) == "CLASSIC"
        read(4 * PARTITIONS, one)
    assert sorted(seen) == [(index, offset) for index in range(PARTITIONS) for offset in range(4)]


def take(seen: list[Any], *clients: Any) -> list[Any]:
    seen += [(each.partition(), each.offset()) for each in poll_once(*clients)]
    return seen
