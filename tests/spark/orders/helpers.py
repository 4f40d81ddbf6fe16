"""Small frames of orders, at rest and as streams whose batches a test chooses."""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from examples.orders.topics import ORDER_FIELDS, PAYMENT_RESULT_FIELDS

Fields = dict[str, Any]
FIRST_FILE_TIME_S = 1_700_000_000


def order(order_id: str, **fields: object) -> Fields:
    """An order of 2 x 10.00 + 1 x 5.50, unless it is said otherwise."""
    items = [
        {"dish": "Ramen", "quantity": 2, "price_cents": 1000},
        {"dish": "Gyoza", "quantity": 1, "price_cents": 550},
    ]
    usual = {
        "customer_id": "c1",
        "restaurant": "Noodle Bar",
        "city": "Delft",
        "address": "1 Mill Lane",
        "items": items,
        "payment_method": "card",
        "placed_at": at("12:00:00"),
    }
    return {"order_id": order_id, **usual, **fields}


def payment_result(order_id: str, *, settled: str, approved: bool = True, placed: str = "12:00:00") -> Fields:
    return {"order_id": order_id, "placed_at": at(placed), "approved": approved, "settled_at": at(settled)}


def at(time: str) -> str:
    return f"2026-03-01T{time}.000+00:00"


def orders_frame(spark: SparkSession, orders: Iterable[Fields]) -> DataFrame:
    return frame(spark, orders, ORDER_FIELDS)


def results_frame(spark: SparkSession, results: Iterable[Fields]) -> DataFrame:
    return frame(spark, results, PAYMENT_RESULT_FIELDS)


def frame(spark: SparkSession, rows: Iterable[Fields], schema: str) -> DataFrame:
    lines = spark.createDataFrame([(json.dumps(row),) for row in rows], "line STRING")
    return lines.selectExpr(f"from_json(line, '{_nullable(schema)}') AS row").select("row.*")


def stream_frame(spark: SparkSession, folder: Path, batches: Sequence[Iterable[Fields]], schema: str) -> DataFrame:
    """A stream that gives these batches one after the other."""
    folder.mkdir()
    for number, rows in enumerate(batches):
        file = folder / f"{number}.json"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        # Spark reads the oldest file first.
        os.utime(file, (FIRST_FILE_TIME_S + number, FIRST_FILE_TIME_S + number))
    return spark.readStream.schema(_nullable(schema)).option("maxFilesPerTrigger", 1).json(str(folder))


def run_stream(rows: DataFrame, mode: str) -> list[list[Row]]:
    """Run a stream to its end; gives what each batch put out."""
    batches: list[list[Row]] = []
    keep: Callable[[DataFrame, int], None] = lambda batch, number: batches.append(batch.collect())  # noqa: E731 - typed
    query = rows.writeStream.outputMode(mode).foreachBatch(keep).trigger(availableNow=True).start()
    query.awaitTermination()
    return batches


def _nullable(schema: str) -> str:
    return schema.replace("NOT NULL", "")
