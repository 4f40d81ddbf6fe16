"""A rolling restart from the classic to the consumer protocol and back, with librdkafka's consumers and Java's."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import Thread
from typing import Any

import pytest

from penstock.testing import Broker
from tests.conformance.confluent import admin, consumer, is_spread, poll_once, poll_until, producer
from tests.conformance.test_consumer_groups import consumer as consumer_of_848
from tests.kafka_peer import Tool, java_command
from tests.waiting import wait_until

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


@contextmanager
def java_member(broker: Broker, name: str, protocol: str, seen: dict[str, Any]) -> Iterator[None]:
    """Java's verifiable consumer, which says what it is given, has given up, and has read."""
    command = java_command(
        Tool.VERIFIABLE_CONSUMER, "--bootstrap-server", broker.bootstrap, "--topic", name, "--group-id", name,
        "--reset-policy", "earliest", "--group-protocol", protocol,
    )  # fmt: skip

    def listen(process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            event = json.loads(line)
            numbers = {each["partition"] for each in event.get("partitions", ()) if isinstance(each, dict)}
            if event["name"] == "partitions_assigned":
                seen["held"] = seen["held"] | numbers
            elif event["name"] == "partitions_revoked":
                seen["held"] = seen["held"] - numbers
            elif event["name"] == "records_consumed":
                seen["count"] += event["count"]

    seen.update(held=set(), count=0)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        listener = Thread(target=listen, args=(process,))
        listener.start()
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            listener.join()


@pytest.mark.java
@pytest.mark.slow
def test_java_rolls_both_ways(broker: Broker, name: str) -> None:
    broker.create_topic(name, partitions=PARTITIONS)
    everything = set(range(PARTITIONS))
    old: dict[str, Any] = {}
    new: dict[str, Any] = {}
    writer = producer(broker)

    def is_shared() -> bool:
        return len(old["held"]) == len(new["held"]) == PARTITIONS / 2 and old["held"] | new["held"] == everything

    with java_member(broker, name, "classic", old):
        wait_until(lambda: old["held"] == everything, what="the first assignment")
        with java_member(broker, name, "consumer", new):
            wait_until(is_shared, what="both protocols")
            assert kind(broker, name) == "CONSUMER"
            for index in range(PARTITIONS):
                writer.produce(name, b"x", partition=index)
            assert writer.flush(20) == 0
            wait_until(lambda: old["count"] + new["count"] == PARTITIONS, what="the records")
        wait_until(lambda: old["held"] == everything, what="the old protocol alone")
        assert kind(broker, name) == "CLASSIC"
    assert old["count"] + new["count"] == PARTITIONS
