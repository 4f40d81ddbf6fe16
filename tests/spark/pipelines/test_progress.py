"""Spark's reports, read."""

import json
from typing import Any

from penstock.client.metadata import TopicPartition
from penstock.spark.pipelines.progress import LATEST, Batch, batch_of, lag_of, news, positions_of

REPORT: dict[str, Any] = {
    "batchId": 4,
    "numInputRows": 100,
    "processedRowsPerSecond": 512.345,
    "durationMs": {"triggerExecution": 195, "addBatch": 100},
    "observedMetrics": {
        "penstock_read_0": {"rows": 60},
        "penstock_decoded_0": {"rows": 57},
        "penstock_read_1": {"rows": 40},
        "penstock_decoded_1": {"rows": 40},
        "of the transform": {"rows": 9},
    },
    "sources": [
        {"endOffset": {"orders": {"0": 5, "1": 7}}, "latestOffset": {"orders": {"0": 9, "1": 7}}},
        {"endOffset": '{"payments": {"0": 3}}'},
        {"endOffset": 12},
        {"endOffset": None},
    ],
}


def test_a_batch() -> None:
    batch = batch_of(REPORT)

    assert batch == Batch(4, 100, 3, 512.3, 195)
    assert json.loads(batch.as_json("p", 5)) == {
        "pipeline": "p",
        "batch": 4,
        "rows": 100,
        "dead_letters": 3,
        "rows_per_second": 512.3,
        "milliseconds": 195,
        "lag": 5,
    }


def test_a_report_with_little_in_it() -> None:
    assert batch_of({"batchId": 0, "processedRowsPerSecond": float("inf")}) == Batch(0, 0, 0, 0.0, 0)
    assert batch_of({"batchId": 0, "processedRowsPerSecond": "NaN"}).rows_per_second == 0.0
    assert positions_of({"batchId": 0}) == {}


def test_positions_of_all_sources_that_have_kafkas_offsets() -> None:
    assert positions_of(REPORT) == {
        TopicPartition("orders", 0): 5,
        TopicPartition("orders", 1): 7,
        TopicPartition("payments", 0): 3,
    }


def test_what_a_query_could_have_read() -> None:
    assert positions_of(REPORT, LATEST) == {TopicPartition("orders", 0): 9, TopicPartition("orders", 1): 7}


def test_lag_counts_what_is_left() -> None:
    positions = {TopicPartition("a", 0): 5, TopicPartition("a", 1): 9, TopicPartition("gone", 0): 1}

    assert lag_of(positions, {TopicPartition("a", 0): 8, TopicPartition("a", 1): 2}) == 3


def test_each_batch_is_news_once() -> None:
    done = {"durationMs": {"addBatch": 1}}
    reports = [
        {"batchId": 3, **done},
        {"batchId": 4, "durationMs": {"triggerExecution": 0}},
        {"batchId": 4, **done},
        {"batchId": 5, **done},
        {"batchId": 6, "durationMs": {}},
    ]

    assert [report["batchId"] for report in news(reports, 3)] == [4, 5]
    assert news(reports, 5) == []
