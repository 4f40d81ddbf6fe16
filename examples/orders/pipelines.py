"""The example as declared pipelines: `penstock pipeline list --from examples/orders/pipelines.py`."""

from __future__ import annotations

from examples.orders import analytics, branches, confirmation, status, topics
from penstock.spark.pipelines import Every, Json, Pipeline, TopicSink, TopicSource, Watermark

PACE = Every(seconds=3)


def orders(reader: str, *, lateness: str | None = None) -> TopicSource:
    """The orders from the first one on. Each reader judges them by itself, so each has dead letters of its own."""
    watermark = Watermark("placed_at", lateness) if lateness else None
    return TopicSource(topics.ORDERS, Json(topics.ORDER_FIELDS), watermark, dead_letters=f"{reader}.dlq")


def payment_results(reader: str, *, time: str, lateness: str) -> TopicSource:
    """The card processor's answers, timed by the column that the reader cares about."""
    decode = Json(topics.PAYMENT_RESULT_FIELDS)
    return TopicSource(topics.PAYMENT_RESULTS, decode, Watermark(time, lateness), dead_letters=f"{reader}.dlq")


def branch(name: str, description: str, transform: branches.Branch) -> Pipeline:
    """A service that reads the orders and writes what it makes of each to a topic of its own."""
    sinks = (TopicSink(name, key="order_id"),)
    return Pipeline(name, (orders(name),), sinks, transform, trigger=PACE, description=description)


payment = branch("payment", "what to charge", branches.payment)
restaurant = branch("restaurant", "tickets for the kitchen", branches.restaurant)
delivery = branch("delivery", "rides for the couriers", branches.delivery)
notification = branch("notification", "messages to the customers", branches.notification)
loyalty = branch("loyalty", "the branch that came later: points for every order ever placed", branches.loyalty)

city_minutes = Pipeline(
    name="analytics",
    description="orders and revenue by city and minute, late orders included",
    sources=(orders("analytics", lateness=analytics.LATENESS),),
    transform=analytics.city_minutes,
    sinks=(TopicSink(topics.CITY_MINUTES, key="id"),),
    trigger=PACE,
    mode="update",
)

confirmed_orders = Pipeline(
    name="confirmation",
    description="orders joined with the card processor's answers",
    sources=(
        orders("confirmation", lateness=confirmation.LATENESS),
        payment_results("confirmation", time="settled_at", lateness=confirmation.LATENESS),
    ),
    transform=confirmation.confirmed_orders,
    sinks=(TopicSink(topics.CONFIRMED_ORDERS, key="order_id"),),
    trigger=PACE,
)

order_status = Pipeline(
    name="status",
    description="the newest status of each order, as a compacted topic",
    sources=(
        orders("status", lateness=status.REMEMBERED),
        payment_results("status", time="placed_at", lateness=status.REMEMBERED),
    ),
    transform=status.order_status,
    sinks=(TopicSink(topics.ORDER_STATUS, key="order_id"),),
    trigger=PACE,
    mode="update",
)
