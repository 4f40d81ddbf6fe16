"""Queries that start together: settings that agree, and patience with a machine that is busy. No Spark is needed."""

from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest
from pyspark.sql.streaming.query import StreamingQuery

from penstock.client.pipeline_runs import Run
from penstock.core.base.errors import PenstockError
from penstock.spark.pipelines.cluster import Cluster
from penstock.spark.pipelines.heartbeat import Heartbeat
from penstock.spark.pipelines.running import PYTHON_WAS_LATE, STARTS_MAX, spark_settings, start_patiently
from tests.spark.pipelines.flows import copy

RUN = Run(pipeline="copy", run="1", host="here", pid=1, master="local[2]", started_ms=0)


@dataclass
class FakeQuery:
    """A query that runs, or one that has failed."""

    failure: str | None = None
    lastProgress: object = None
    status: dict[str, Any] = field(default_factory=lambda: {"isDataAvailable": True})

    @property
    def isActive(self) -> bool:
        return self.failure is None

    def exception(self) -> Exception | None:
        return None if self.failure is None else RuntimeError(self.failure)


def start_all(*queries: FakeQuery) -> tuple[FakeQuery, int]:
    """What a start ends with, and how many there were, when these come one after the other."""
    waiting = list(queries)
    heart = Heartbeat(Cluster("127.0.0.1:1"), RUN)
    found = start_patiently(lambda: cast(StreamingQuery, waiting.pop(0)), heart)
    return cast(FakeQuery, found), len(queries) - len(waiting)


def test_a_query_that_answers_is_started_once() -> None:
    good = FakeQuery()
    assert start_all(good, FakeQuery()) == (good, 1)


def test_one_whose_python_was_late_is_started_again() -> None:
    good = FakeQuery()
    assert start_all(FakeQuery(f"{PYTHON_WAS_LATE}."), good) == (good, 2)


def test_patience_ends() -> None:
    late = [FakeQuery(PYTHON_WAS_LATE) for _ in range(STARTS_MAX + 1)]
    assert start_all(*late)[1] == STARTS_MAX


def test_another_failure_is_not_tried_again() -> None:
    broken = FakeQuery("no such topic")
    assert start_all(broken, FakeQuery()) == (broken, 1)


def test_pipelines_of_one_session_share_their_settings() -> None:
    one = replace(copy, settings={"spark.sql.shuffle.partitions": "2"})
    other = replace(copy, name="other", settings={"spark.sql.ansi.enabled": "true"})
    chosen = spark_settings([one, other])
    assert (chosen["spark.sql.shuffle.partitions"], chosen["spark.sql.ansi.enabled"]) == ("2", "true")


def test_pipelines_that_disagree_cannot_share_a_session() -> None:
    one = replace(copy, settings={"spark.sql.shuffle.partitions": "2"})
    other = replace(copy, name="other", settings={"spark.sql.shuffle.partitions": "3"})
    with pytest.raises(PenstockError, match=r"spark\.sql\.shuffle\.partitions is 2 .* 3 for other: run them apart"):
        spark_settings([one, other])
