"""The newest status of each order, for a compacted topic: a table that anybody can read from its beginning."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

REMEMBERED = "1 hour"
"""How long after a newer order a status may still change. Spark forgets the order after that; the topic does not."""


def order_status(orders: DataFrame, payment_results: DataFrame) -> DataFrame:
    """What happened last wins, in whichever order the two streams were read."""
    placed = orders.select("order_id", "placed_at", f.col("placed_at").alias("at"), f.lit("placed").alias("status"))
    verdict = f.when(f.col("approved"), "paid").otherwise("declined")
    settled = payment_results.select("order_id", "placed_at", f.col("settled_at").alias("at"), verdict.alias("status"))
    newest = f.max(f.struct("at", "status")).alias("newest")
    # Grouping by the event time too lets Spark drop the state of old orders.
    return placed.unionByName(settled).groupBy("order_id", "placed_at").agg(newest).select("order_id", "newest.*")
