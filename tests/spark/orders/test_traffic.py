"""The made-up orders are what they say: reproducible, mostly good, sometimes late, sometimes rubbish."""

import json
from datetime import UTC, datetime, timedelta

from examples.orders import traffic
from examples.orders.topics import ORDERS, PAYMENT_RESULTS
from examples.orders.traffic import LATE_S_MAX, POISON, Event, Traffic

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
COUNT = 5_000


def events(seed: int = 7) -> tuple[Traffic, list[Event]]:
    source = Traffic(seed)
    return source, [event for _ in range(COUNT) for event in source.next(NOW)]


def test_a_seed_says_everything() -> None:
    assert events(3)[1] == events(3)[1]
    assert events(3)[1] != events(4)[1]


def test_what_it_counts_is_what_it_gave() -> None:
    source, given = events()
    orders = [event for event in given if event.topic == ORDERS]
    results = [event for event in given if event.topic == PAYMENT_RESULTS]
    good = [event for event in orders if not event.key.startswith("poison-")]
    assert len(good) == len(results) == source.placed
    assert len(orders) - len(good) == source.poisoned
    assert source.placed + source.poisoned == COUNT
    assert len({event.key for event in orders}) == COUNT


def test_a_few_are_late_and_none_is_later_than_said() -> None:
    _, given = events()
    orders = [json.loads(event.value) for event in given if event.topic == ORDERS and event.key.isdigit()]
    delays = [NOW - datetime.fromisoformat(order["placed_at"]) for order in orders]
    late = [delay for delay in delays if delay]
    assert 0.01 * COUNT < len(late) < 0.03 * COUNT
    assert max(late) <= timedelta(seconds=LATE_S_MAX)


def test_every_kind_of_poison_occurs() -> None:
    _, given = events()
    poison = [event.value for event in given if event.key.startswith("poison-")]
    assert len(set(poison)) == len(poison) > len(POISON)
    assert set(POISON) == set(traffic.POISON)
