"""Two streams become one: an order is confirmed when the card processor has approved it in time."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from examples.orders.branches import total_cents

ANSWER_WITHIN = "10 minutes"
LATENESS = "5 minutes"


def confirmed_orders(orders: DataFrame, payment_results: DataFrame) -> DataFrame:
    """Each approved order with its price and how long the approval took.

    The bound on the time between both sides is what lets Spark forget orders that nobody will ever answer.
    """
    order, approval = orders.alias("order"), payment_results.where("approved").alias("approval")
    placed_at, settled_at = f.col("order.placed_at"), f.col("approval.settled_at")
    in_time = settled_at.between(placed_at, placed_at + f.expr(f"INTERVAL {ANSWER_WITHIN}"))
    same_order = f.col("order.order_id") == f.col("approval.order_id")
    return order.join(approval, same_order & in_time).select(
        "order.order_id",
        "order.customer_id",
        "order.restaurant",
        total_cents().alias("amount_cents"),
        placed_at,
        (settled_at.cast("double") - placed_at.cast("double")).alias("waited_s"),
    )
