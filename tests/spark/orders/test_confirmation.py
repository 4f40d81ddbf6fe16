"""Orders meet their payments: once each, in whichever order the two arrive, and only in time."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from examples.orders.confirmation import LATENESS, confirmed_orders
from examples.orders.topics import ORDER_FIELDS, PAYMENT_RESULT_FIELDS
from tests.spark.orders.helpers import (
    at,
    order,
    orders_frame,
    payment_result,
    results_frame,
    run_stream,
    stream_frame,
)

pytestmark = pytest.mark.spark


def test_an_approved_order_carries_its_price_and_its_wait(spark: SparkSession) -> None:
    orders = orders_frame(spark, [order("1"), order("2"), order("3")])
    results = results_frame(
        spark,
        [
            payment_result("1", settled="12:00:02"),
            payment_result("2", settled="12:00:01", approved=False),
            payment_result("3", settled="12:11:00"),
        ],
    )
    rows = confirmed_orders(orders, results).collect()
    assert [(row.order_id, row.amount_cents, row.waited_s) for row in rows] == [("1", 2550, 2.0)]


def test_either_side_may_come_first(spark: SparkSession, tmp_path: Path) -> None:
    orders = [[order("1")], [order("2", placed_at=at("12:01:00"))]]
    results = [
        [payment_result("2", settled="12:01:03", placed="12:01:00")],
        [payment_result("1", settled="12:00:02")],
    ]
    joined = confirmed_orders(
        stream_frame(spark, tmp_path / "orders", orders, ORDER_FIELDS).withWatermark("placed_at", LATENESS),
        stream_frame(spark, tmp_path / "results", results, PAYMENT_RESULT_FIELDS).withWatermark("settled_at", LATENESS),
    )
    rows = [row for batch in run_stream(joined, "append") for row in batch]
    assert sorted(row.order_id for row in rows) == ["1", "2"]
