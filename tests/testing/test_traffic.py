"""A test writes to its broker and reads from it without a client library, and puts faults into its answers."""

import threading
import time
from collections.abc import Iterator

import pytest

from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.producing import Producer
from penstock.testing import Broker

pytestmark = pytest.mark.client


@pytest.fixture(params=[False, True], ids=["inside", "beside"], scope="module")
def shared(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with Broker(beside=request.param) as running:
        yield running


@pytest.fixture
def broker(shared: Broker) -> Iterator[Broker]:
    """Without what an earlier test has left."""
    yield shared
    shared.heal()


def test_what_is_produced_is_read_as_it_was(broker: Broker, penstock_topic: str) -> None:
    offsets = broker.produce(penstock_topic, "one", b"\xff", None, key="k", headers={"a": "1"}, timestamp_ms=7)
    assert offsets == [0, 1, 2]
    found = broker.records(penstock_topic)
    assert [(each.offset, each.value, each.key, each.timestamp_ms) for each in found] == [
        (0, b"one", b"k", 7),
        (1, b"\xff", b"k", 7),
        (2, None, b"k", 7),
    ]
    assert found[0].headers == (("a", b"1"),)


def test_partitions_are_read_one_by_one_or_all(broker: Broker, penstock_topic: str) -> None:
    broker.create_topic(penstock_topic, partitions=2)
    broker.produce(penstock_topic, "later", partition=1)
    broker.produce(penstock_topic, "first", partition=0)
    assert [each.text for each in broker.records(penstock_topic)] == ["first", "later"]
    assert [each.text for each in broker.records(penstock_topic, partition=1)] == ["later"]


def test_records_waits_for_as_many_as_it_is_told_to(broker: Broker, penstock_topic: str) -> None:
    writer = threading.Timer(0.05, broker.produce, (penstock_topic, "one", "two"))
    writer.start()
    assert [each.text for each in broker.records(penstock_topic, 2)] == ["one", "two"]
    writer.join()
    with pytest.raises(TimeoutError, match=r"has 2 records after 0\.01 s, not 3"):
        broker.records(penstock_topic, 3, timeout_s=0.01)


def test_the_next_requests_fail_and_no_more(broker: Broker, penstock_topic: str) -> None:
    broker.create_topic(penstock_topic)
    broker.fail("Produce", "MESSAGE_TOO_LARGE", times=2)
    for _ in range(2):
        with pytest.raises(ClientError, match="MESSAGE_TOO_LARGE"):
            broker.produce(penstock_topic, "lost")
    assert broker.produce(penstock_topic, "kept") == [0]


def test_an_error_that_passes_is_tried_again_and_doubles_nothing(broker: Broker, penstock_topic: str) -> None:
    broker.create_topic(penstock_topic)
    broker.fail("Produce", "NOT_LEADER_OR_FOLLOWER", times=2)
    assert broker.produce(penstock_topic, "once") == [0]
    assert [each.text for each in broker.records(penstock_topic)] == ["once"]


def test_a_connection_that_is_cut_is_opened_again(broker: Broker, penstock_topic: str) -> None:
    broker.create_topic(penstock_topic)
    broker.disconnect("Produce")
    assert broker.produce(penstock_topic, "once") == [0]


def test_a_producer_that_wants_no_answer_loses_its_connection(broker: Broker, penstock_topic: str) -> None:
    broker.create_topic(penstock_topic)
    broker.fail("Produce", "NOT_LEADER_OR_FOLLOWER")
    with Client(broker.bootstrap) as client, Producer(client, acks=0) as producer:
        producer.send(penstock_topic, None, b"lost")
    assert broker.produce(penstock_topic, "kept") == [0]


def test_an_answer_is_late_and_those_behind_it_come_in_order(broker: Broker, penstock_topic: str) -> None:
    broker.create_topic(penstock_topic)
    broker.delay("Produce", 0.2)
    began = time.monotonic()
    assert broker.produce(penstock_topic, "late") == [0]
    assert time.monotonic() - began >= 0.2
    assert broker.produce(penstock_topic, "next") == [1]


def test_what_is_healed_fails_no_more(broker: Broker, penstock_topic: str) -> None:
    broker.create_topic(penstock_topic)
    broker.fail("Produce", "MESSAGE_TOO_LARGE", times=1000)
    broker.heal()
    assert broker.produce(penstock_topic, "kept") == [0]
