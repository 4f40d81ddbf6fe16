"""What each service makes of an order. None knows of another, and the app that takes the order knows of none."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

Branch = Callable[[DataFrame], DataFrame]

CENTS_PER_POINT = 100


def payment(orders: DataFrame) -> DataFrame:
    """What to charge, and how."""
    return orders.select("order_id", "customer_id", "payment_method", total_cents().alias("amount_cents"))


def restaurant(orders: DataFrame) -> DataFrame:
    """A ticket for the kitchen: dishes and how many of each, no prices."""
    dishes = f.transform("items", lambda item: f.struct(item.dish.alias("dish"), item.quantity.alias("quantity")))
    return orders.select("order_id", "restaurant", dishes.alias("dishes"), "placed_at")


def delivery(orders: DataFrame) -> DataFrame:
    """A ride from the restaurant to the customer's door."""
    return orders.select("order_id", "city", f.col("restaurant").alias("pick_up"), f.col("address").alias("drop_off"))


def notification(orders: DataFrame) -> DataFrame:
    """A message that the customer understands."""
    text = f.format_string(
        "%s is preparing your order of %.2f. We tell you when it leaves.", f.col("restaurant"), total_cents() / 100
    )
    return orders.select("order_id", "customer_id", text.alias("text"))


def loyalty(orders: DataFrame) -> DataFrame:
    """Points for the customer: one for each full unit of money spent."""
    points = f.floor(total_cents() / CENTS_PER_POINT)
    return orders.select("order_id", "customer_id", points.alias("points"))


def total_cents() -> Column:
    """The price of an order: that of all its dishes."""
    return f.aggregate("items", f.lit(0).cast("long"), lambda cents, item: cents + item.quantity * item.price_cents)
