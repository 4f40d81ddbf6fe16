"""The verdict can be trusted: it finds what is missing and what is doubled, and asks the topics alone."""

import json

import pytest
from confluent_kafka import Producer

from examples.orders import topics
from examples.orders.story.audit import Count, Produced, count, read, table
from examples.orders.story.shop import Shop
from penstock.testing import Broker
from tests.waiting import wait_until

pytestmark = pytest.mark.client

PRODUCED = Produced(orders=3, poison=1, acknowledged=4)


@pytest.fixture(scope="module")
def address(orders_broker: Broker) -> str:
    return orders_broker.bootstrap


def write(address: str, topic: str, *pairs: tuple[str, str]) -> None:
    producer = Producer({"bootstrap.servers": address})
    for key, value in pairs:
        producer.produce(topic, value, key)
    assert producer.flush(10) == 0


def test_an_order_that_is_written_twice_is_shown_and_wrong(address: str) -> None:
    write(address, "payment", ("1", "{}"), ("2", "{}"), ("2", "{}"), ("3", "{}"))
    write(address, "payment.dlq", ("poison-1", "?"), ("poison-1", "?"))
    found = count(address, "payment")
    assert found == Count("payment", orders=3, dead_letters=1, repeated=2)
    assert not found.is_complete(PRODUCED)
    assert Count("payment", orders=3, dead_letters=1).is_complete(PRODUCED)


def test_a_missing_order_is_wrong(address: str) -> None:
    write(address, "restaurant", ("1", "{}"), ("2", "{}"))
    write(address, "restaurant.dlq", ("poison-1", "?"))
    assert not count(address, "restaurant").is_complete(PRODUCED)


def test_poison_that_was_taken_for_an_order_is_wrong(address: str) -> None:
    write(address, "delivery", ("1", "{}"), ("2", "{}"), ("3", "{}"), ("poison-1", "{}"))
    assert count(address, "delivery") == Count("delivery", orders=4, dead_letters=0)
    assert not count(address, "delivery").is_complete(PRODUCED)


def test_analytics_is_the_sum_of_the_newest_counts(address: str) -> None:
    counts = [("Cork/12:00", 1), ("Delft/12:00", 1), ("Cork/12:00", 2)]
    write(address, topics.CITY_MINUTES, *((slot, json.dumps({"orders": orders})) for slot, orders in counts))
    assert count(address, "analytics") == Count("analytics", orders=3, dead_letters=0)


def test_the_table_shows_each_branch_with_its_verdict() -> None:
    good = Count("payment", 3, 1)
    bad = Count("delivery", 2, 1)
    verdicts = list(table(PRODUCED, [good, bad]).columns[-1].cells)
    assert verdicts == ["", "[green]complete[/]", "[red]WRONG[/]"]


def test_the_shop_knows_what_was_acknowledged(address: str) -> None:
    with Shop(address, per_minute=60_000) as shop:
        wait_until(lambda: shop.acknowledged >= 200, what="200 acknowledged orders")
    assert shop.failed == 0
    assert shop.acknowledged == shop.produced.orders + shop.produced.poison == len(list_of_orders(address))


def list_of_orders(address: str) -> set[bytes | None]:
    return {message.key() for message in read(address, topics.ORDERS)}
