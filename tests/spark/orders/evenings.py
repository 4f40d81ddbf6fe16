"""A short evening for tests: orders, payment results and poison, written at once, with what must come of them."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from confluent_kafka import Producer

from examples.orders.story.audit import Produced
from examples.orders.topics import PAYMENT_RESULTS
from examples.orders.traffic import Traffic

OPENING = datetime(2026, 3, 1, 18, tzinfo=UTC)
ORDERS_PER_S = 20


class Evening(NamedTuple):
    produced: Produced
    statuses: Counter[str]


def write_evening(address: str, orders: int, seed: int = 7) -> Evening:
    traffic = Traffic(seed)
    producer = Producer({"bootstrap.servers": address})
    statuses: Counter[str] = Counter()
    for number in range(orders):
        for event in traffic.next(OPENING + timedelta(seconds=number / ORDERS_PER_S)):
            producer.produce(event.topic, event.value, event.key)
            if event.topic == PAYMENT_RESULTS:
                statuses["paid" if json.loads(event.value)["approved"] else "declined"] += 1
    assert producer.flush(30) == 0
    return Evening(Produced(traffic.placed, traffic.poisoned, orders), statuses)
