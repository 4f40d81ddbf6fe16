"""What the app writes: orders as people place them, the card processor's answers, and now and then rubbish.

Everything follows from a seed and the times that are given, so that a test knows what it will get.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from examples.orders.topics import ORDERS, PAYMENT_RESULTS

MENUS = {
    "Noodle Bar": {"Ramen": 1250, "Gyoza": 650, "Udon": 1150},
    "La Piazza": {"Margherita": 980, "Diavola": 1220, "Tiramisu": 590},
    "Taj Corner": {"Thali": 1400, "Masala Dosa": 890, "Lassi": 390},
    "Green Bowl": {"Falafel Bowl": 1090, "Soup of the Day": 640},
}
CITIES = ("Aarhus", "Bergen", "Cork", "Delft", "Evora")
STREETS = ("Harbour Road", "Mill Lane", "Station Street", "Church Hill")
METHODS = ("card", "wallet", "cash")
CUSTOMERS = 5_000

LATE_SHARE = 0.02
LATE_S_MAX = 240
"""Some orders come from phones that had no network for a while."""
DECLINED_SHARE = 0.03
POISON_SHARE = 0.005

Order = dict[str, Any]


class Event(NamedTuple):
    topic: str
    key: str
    value: bytes


class Traffic:
    """Gives each order's events; counts what it gave, which is what the audit at the end compares with."""

    def __init__(self, seed: int = 7) -> None:
        self._chance = random.Random(seed)
        self.placed = 0
        self.poisoned = 0

    def next(self, now: datetime) -> Iterator[Event]:
        """One order with its payment's result, or one poison record in an order's place."""
        if self._chance.random() < POISON_SHARE:
            kind = self._chance.choice(list(POISON))
            self.poisoned += 1
            yield Event(ORDERS, f"poison-{self.poisoned}", POISON[kind](self._order(now)))
            return
        order = self._order(now)
        self.placed += 1
        yield Event(ORDERS, order["order_id"], encoded(order))
        yield Event(PAYMENT_RESULTS, order["order_id"], encoded(self._payment_result(order, now)))

    def _order(self, now: datetime) -> Order:
        chance = self._chance
        restaurant = chance.choice(list(MENUS))
        late_s = chance.uniform(0, LATE_S_MAX) if chance.random() < LATE_SHARE else 0
        return {
            "order_id": f"{self.placed:08d}",
            "customer_id": f"c{chance.randrange(CUSTOMERS):05d}",
            "restaurant": restaurant,
            "city": chance.choice(CITIES),
            "address": f"{chance.randint(1, 99)} {chance.choice(STREETS)}",
            "items": [self._item(restaurant) for _ in range(chance.randint(1, 3))],
            "payment_method": chance.choice(METHODS),
            "placed_at": (now - timedelta(seconds=late_s)).isoformat(timespec="milliseconds"),
        }

    def _item(self, restaurant: str) -> dict[str, object]:
        dish, price_cents = self._chance.choice(list(MENUS[restaurant].items()))
        return {"dish": dish, "quantity": self._chance.randint(1, 3), "price_cents": price_cents}

    def _payment_result(self, order: Order, now: datetime) -> Order:
        settled_at = now + timedelta(seconds=self._chance.uniform(0.2, 3))
        return {
            "order_id": order["order_id"],
            "placed_at": order["placed_at"],
            "approved": self._chance.random() >= DECLINED_SHARE,
            "settled_at": settled_at.isoformat(timespec="milliseconds"),
        }


def encoded(value: object) -> bytes:
    return json.dumps(value).encode()


POISON: dict[str, Callable[[Order], bytes]] = {
    "cut off": lambda order: encoded(order)[:40],
    "not JSON": lambda order: b"order %s, the usual, thanks" % order["customer_id"].encode(),
    "not text": lambda order: b"\xff\xfe" + encoded(order),
    "not an object": lambda order: encoded(f"cancel order {order['order_id']} of {order['customer_id']}"),
    "no id": lambda order: encoded({name: value for name, value in order.items() if name != "order_id"}),
    "wrong type": lambda order: encoded(order | {"items": "two pizzas"}),
    "no such time": lambda order: encoded(order | {"placed_at": "yesterday"}),
}
"""What a log collects over the years, by what is wrong with it."""
