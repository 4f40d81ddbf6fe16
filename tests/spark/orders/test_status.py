"""The newest status wins, whatever was read first."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from examples.orders.status import REMEMBERED, order_status
from examples.orders.topics import ORDER_FIELDS, PAYMENT_RESULT_FIELDS
from tests.spark.orders.helpers import order, orders_frame, payment_result, results_frame, run_stream, stream_frame

pytestmark = pytest.mark.spark


def test_an_order_is_placed_then_paid_or_declined(spark: SparkSession) -> None:
    orders = orders_frame(spark, [order("1"), order("2"), order("3")])
    results = results_frame(
        spark,
        [payment_result("1", settled="12:00:02"), payment_result("2", settled="12:00:03", approved=False)],
    )
    rows = order_status(orders, results).orderBy("order_id").collect()
    assert [(row.order_id, row.status) for row in rows] == [("1", "paid"), ("2", "declined"), ("3", "placed")]


def test_a_result_that_was_read_before_its_order_is_not_forgotten(spark: SparkSession, tmp_path: Path) -> None:
    orders = [[order("9")], [order("1")]]
    results = [[payment_result("1", settled="12:00:02")], [payment_result("9", settled="12:00:04")]]
    statuses = order_status(
        stream_frame(spark, tmp_path / "orders", orders, ORDER_FIELDS).withWatermark("placed_at", REMEMBERED),
        stream_frame(spark, tmp_path / "results", results, PAYMENT_RESULT_FIELDS).withWatermark(
            "placed_at", REMEMBERED
        ),
    )
    newest: dict[str, str] = {}
    for batch in run_stream(statuses, "update"):
        newest |= {row.order_id: row.status for row in batch}
    assert newest == {"1": "paid", "9": "paid"}
