"""How much is ordered where, minute by minute, by the time on the order rather than the time it reached us."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from examples.orders.branches import total_cents

SLOT = "1 minute"
LATENESS = "10 minutes"
"""Phones lose their network: an order may come this much after a newer one and is still counted in its minute."""


def city_minutes(orders: DataFrame) -> DataFrame:
    """Orders and revenue of each city in each minute; the id says which, so that a newer count replaces an older."""
    counted = orders.groupBy(f.window("placed_at", SLOT).alias("slot"), "city").agg(
        f.count("*").alias("orders"), f.sum(total_cents()).alias("revenue_cents")
    )
    minute = f.date_format("slot.start", "yyyy-MM-dd'T'HH:mm")
    return counted.select(f.concat_ws("/", "city", minute).alias("id"), "city", "slot.start", "orders", "revenue_cents")
