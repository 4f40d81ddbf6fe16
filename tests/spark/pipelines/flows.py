"""Pipelines for the tests of runs: small batches, so that there is something to be interrupted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.spark.pipelines import Json, Pipeline, TopicSink, TopicSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SOURCE = TopicSource("in", Json("n LONG NOT NULL"), options={"maxOffsetsPerTrigger": "300"})


def origins(frame: DataFrame) -> DataFrame:
    """Each row says which record it was."""
    return frame.selectExpr("_partition as partition_in", "_offset as offset_in", "n")


copy = Pipeline("copy", (SOURCE,), (TopicSink("out", key="n"),), origins)
