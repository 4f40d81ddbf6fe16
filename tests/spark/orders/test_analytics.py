"""Counting by event time: late orders are counted where they belong, hopelessly late ones are not."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from examples.orders.analytics import LATENESS, city_minutes
from examples.orders.topics import ORDER_FIELDS
from tests.spark.orders.helpers import at, order, orders_frame, run_stream, stream_frame

pytestmark = pytest.mark.spark


def test_each_city_and_minute_is_counted_by_itself(spark: SparkSession) -> None:
    orders = [
        order("1", city="Cork", placed_at=at("12:00:01")),
        order("2", city="Cork", placed_at=at("12:00:59")),
        order("3", city="Cork", placed_at=at("12:01:00")),
        order("4", city="Delft", placed_at=at("12:00:30")),
    ]
    rows = city_minutes(orders_frame(spark, orders)).orderBy("id").collect()
    assert [(row.id, row.orders, row.revenue_cents) for row in rows] == [
        ("Cork/2026-03-01T12:00", 2, 5100),
        ("Cork/2026-03-01T12:01", 1, 2550),
        ("Delft/2026-03-01T12:00", 1, 2550),
    ]


def test_late_orders_correct_their_minute_until_the_watermark_has_passed_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = [
        [order("1", placed_at=at("12:00:10")), order("2", placed_at=at("12:09:00"))],
        # Nine minutes late and still counted. The newest order then moves the watermark on to 12:15.
        [order("3", placed_at=at("12:00:50")), order("4", placed_at=at("12:25:00"))],
        # Spark drops rows by the watermark of the batch before, so one more batch has to pass.
        [order("5", placed_at=at("12:26:00"))],
        [order("6", placed_at=at("12:00:55"))],
    ]
    orders = stream_frame(spark, tmp_path / "orders", batches, ORDER_FIELDS).withWatermark("placed_at", LATENESS)
    counts = [(row.id, row.orders) for rows in run_stream(city_minutes(orders), "update") for row in rows]
    assert sorted(counts) == [
        ("Delft/2026-03-01T12:00", 1),
        ("Delft/2026-03-01T12:00", 2),
        ("Delft/2026-03-01T12:09", 1),
        ("Delft/2026-03-01T12:25", 1),
        ("Delft/2026-03-01T12:26", 1),
    ]
