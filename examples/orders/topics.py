"""The topics of the example, and the fields of the two that come from outside."""

from __future__ import annotations

from penstock.client.admin import Admin
from penstock.client.blocking import Client

PARTITIONS = 2

ORDERS = "orders"
PAYMENT_RESULTS = "payment-results"
CONFIRMED_ORDERS = "confirmed-orders"
ORDER_STATUS = "order-status"
CITY_MINUTES = "city-minutes"
SERVICES = ("payment", "restaurant", "delivery", "notification")

ORDER_FIELDS = """
    order_id STRING NOT NULL,
    customer_id STRING NOT NULL,
    restaurant STRING NOT NULL,
    city STRING NOT NULL,
    address STRING,
    items ARRAY<STRUCT<dish: STRING, quantity: INT, price_cents: INT>> NOT NULL,
    payment_method STRING NOT NULL,
    placed_at TIMESTAMP NOT NULL
"""

PAYMENT_RESULT_FIELDS = """
    order_id STRING NOT NULL,
    placed_at TIMESTAMP NOT NULL,
    approved BOOLEAN NOT NULL,
    settled_at TIMESTAMP NOT NULL
"""

LOGS = (ORDERS, PAYMENT_RESULTS, CONFIRMED_ORDERS, *SERVICES)
TABLES = (ORDER_STATUS, CITY_MINUTES)
"""Topics that keep the newest value of each key for ever."""


def create(bootstrap: str) -> None:
    with Client(bootstrap) as client:
        admin = Admin(client)
        for name in LOGS:
            admin.create_topic(name, partitions=PARTITIONS)
        for name in TABLES:
            admin.create_topic(name, partitions=PARTITIONS, configs={"cleanup.policy": "compact"})
