"""Groups whose assignment the coordinator makes (KIP-848), with librdkafka's consumers and with Java's tools."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, ConsumerGroupType

from penstock.testing import Broker
from tests.conformance.confluent import admin, dotted, is_spread, owned, poll_once, poll_until, producer
from tests.conformance.java.running import run
from tests.kafka_peer import Tool

pytestmark = pytest.mark.client

PARTITIONS = 6


@contextmanager
def consumer(broker: Broker, group: str, **settings: Any) -> Iterator[Consumer]:
    """Sessions and heartbeats are the coordinator's affair."""
    usual = {"bootstrap.servers": broker.bootstrap, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    made = Consumer(usual | {"group.id": group, "group.protocol": "consumer", **dotted(settings)})
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """With members that hear of changes soon."""
    settings = {"group.consumer.heartbeat.interval.ms": 200, "group.consumer.assignment.interval.ms": 0}
    with Broker(settings, beside=True) as running:
        yield running


spread = partial(is_spread, PARTITIONS)


def test_members_share_and_take_over(broker: Broker, name: str) -> None:
    broker.create_topic(name, partitions=PARTITIONS)
    writer = producer(broker)
    with consumer(broker, name) as one:
        one.subscribe([name])
        poll_until([one], lambda: spread(one), "the first assignment")
        with consumer(broker, name) as two:
            two.subscribe([name])
            poll_until([one, two], lambda: spread(one, two), "sharing")
            asking = admin(broker)
            (described,) = (each.result() for each in asking.describe_consumer_groups([name]).values())
            assert (described.state, described.type) == (ConsumerGroupState.STABLE, ConsumerGroupType.CONSUMER)
            for index in range(PARTITIONS):
                writer.produce(name, b"x", partition=index)
            assert writer.flush(10) == 0
            seen: list[tuple[int, int]] = []
            while len(seen) < PARTITIONS:
                seen += [(each.partition(), each.offset()) for each in poll_once(one, two)]
            assert sorted(seen) == [(index, 0) for index in range(PARTITIONS)]
            for each in (one, two):
                each.commit(asynchronous=False)
        poll_until([one], lambda: spread(one), "taking over from who left")


def test_a_pattern_takes_topics_that_come_later(broker: Broker, name: str) -> None:
    broker.create_topic(f"{name}.a", partitions=2)
    with consumer(broker, name) as one:
        one.subscribe([f"^{name}[.].*"])
        poll_until([one], lambda: len(one.assignment()) == 2, "the first topic")
        broker.create_topic(f"{name}.b", partitions=3)
        poll_until([one], lambda: len(one.assignment()) == 5, "the one that came later")


def test_a_static_member_comes_back_to_what_it_had(broker: Broker, name: str) -> None:
    broker.create_topic(name, partitions=PARTITIONS)
    with consumer(broker, name, group_instance_id="fixed-1") as one:
        one.subscribe([name])
        poll_until([one], lambda: spread(one), "the first assignment")
        with consumer(broker, name, group_instance_id="fixed-2") as two:
            two.subscribe([name])
            poll_until([one, two], lambda: spread(one, two), "sharing")
            before = owned(two)
        with consumer(broker, name, group_instance_id="fixed-2") as again:
            again.subscribe([name])
            poll_until([one, again], lambda: spread(one, again), "the return")
            assert owned(again) == before


@pytest.mark.java
@pytest.mark.slow
def test_java_reads_and_its_tool_describes(broker: Broker, name: str) -> None:
    broker.create_topic(name, partitions=2)
    writer = producer(broker)
    for number in range(4):
        writer.produce(name, b"%d" % number, partition=number % 2)
    assert writer.flush(10) == 0
    end = ("--max-messages", "4", "--timeout-ms", "20000", "--group", name)
    protocol = ("--command-property", "group.protocol=consumer")
    read = run(broker, Tool.CONSOLE_CONSUMER, "--topic", name, "--from-beginning", *end, *protocol)
    assert sorted(read.split()) == ["0", "1", "2", "3"]
    described = run(broker, Tool.CONSUMER_GROUPS, "--describe", "--group", name)
    rows = [line.split() for line in described.splitlines() if line.startswith(name)]
    assert sorted(row[2:6] for row in rows) == [["0", "2", "2", "0"], ["1", "2", "2", "0"]]
    assert "Empty" in run(broker, Tool.CONSUMER_GROUPS, "--describe", "--group", name, "--state")
    run(broker, Tool.CONSUMER_GROUPS, "--delete", "--group", name)
    assert name not in run(broker, Tool.CONSUMER_GROUPS, "--list").splitlines()
