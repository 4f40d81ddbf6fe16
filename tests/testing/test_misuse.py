"""What cannot be meant is a TypeError or a ValueError that says what would be right, before anything happens."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.testing import Broker
from tests.ports import free_base_port


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num.partition": 3}, r"num\.partition is no setting of a broker: did you mean num\.partitions\?"),
        ({"num.partitions": "many"}, r"num\.partitions"),
        ({"retention.ms": 1}, r"log\.retention\.ms"),
        ({"listeners": "PLAINTEXT://:9092"}, "say port="),
        ({"log.dirs": "/data"}, "say folder="),
    ],
)
def test_settings_that_cannot_be_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Broker(settings)


@pytest.mark.parametrize("arguments", [{"settings": ["num.partitions"]}, {"settings": {1: 2}}, {"port": "9092"}])
def test_arguments_of_another_kind_are_type_errors(arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        Broker(**arguments)


@pytest.mark.parametrize("port", [-1, 70_000])
def test_a_port_is_one(port: int) -> None:
    with pytest.raises(ValueError, match="port is from 0"):
        Broker(port=port)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        running.create_topic("orders", partitions=2)
        yield running


@pytest.mark.parametrize(
    ("misuse", "kind", "message"),
    [
        (lambda broker: broker.start(), ValueError, "running already"),
        (lambda broker: broker.kill(), ValueError, "beside=True"),
        (lambda broker: broker.pid, ValueError, "beside=True"),
        (lambda broker: broker.create_topic("new", partitions="3"), TypeError, "partitions is a number"),
        (lambda broker: broker.create_topic("new", partitions=0), ValueError, "at least 1"),
        (lambda broker: broker.create_topic("new", retention_mss=1), ValueError, r"did you mean retention\.ms"),
        (lambda broker: broker.create_topic(7), TypeError, "topic is a text"),
        (lambda broker: broker.produce("orders"), TypeError, "give produce a value"),
        (lambda broker: broker.produce("orders", {"total": 1}), TypeError, "bytes, str or None"),
        (lambda broker: broker.produce("orders", "v", partition="0"), TypeError, "partition is a number"),
        (lambda broker: broker.produce("orders", "v", kei="k"), TypeError, "kei"),
        (lambda broker: broker.records("orders", partition=2), ValueError, "no partition 2"),
        (lambda broker: broker.records("orders", 0), ValueError, "at least 1"),
        (lambda broker: broker.fail("Produc", "REQUEST_TIMED_OUT"), ValueError, "did you mean Produce"),
        (lambda broker: broker.fail("Produce", "REQUEST_TIMEOUT"), ValueError, "did you mean REQUEST_TIMED_OUT"),
        (lambda broker: broker.fail("Produce", "NONE"), ValueError, "no error"),
        (lambda broker: broker.fail("Produce", 6, times=0), ValueError, "times is at least 1"),
        (lambda broker: broker.delay("Fetch", "1"), TypeError, "seconds is a number"),
        (lambda broker: broker.delay("Fetch", -1), ValueError, "seconds are from 0"),
    ],
)
def test_misuse_is_named(broker: Broker, misuse: Callable[[Any], object], kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        misuse(broker)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda broker: broker.port,
        lambda broker: broker.produce("orders", "v"),
        lambda broker: broker.records("orders"),
        lambda broker: broker.create_topic("orders"),
        lambda broker: broker.heal(),
        lambda broker: broker.disconnect("Fetch"),
    ],
)
def test_what_needs_a_running_broker_says_so(misuse: Callable[[Broker], object]) -> None:
    broker = Broker()
    with pytest.raises(ValueError, match="start"):
        misuse(broker)
    broker.close()


def test_a_port_that_is_given_is_used() -> None:
    port = free_base_port()
    broker = Broker(port=port)
    assert broker.bootstrap == f"127.0.0.1:{port}"
    with broker:
        broker.produce("orders", "here")
        assert broker.port == port
