"""One batch to all sinks. A batch that fails half-way is done again whole: every sink bears that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.spark.pipelines.cluster import Cluster
from penstock.spark.pipelines.declaration import (
    ORIGIN_COLUMNS,
    CallSink,
    ConsoleSink,
    ParquetSink,
    Sink,
    TableSink,
    TopicSink,
)
from penstock.spark.pipelines.frames import FORMAT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.spark.pipelines.delivering import Delivering


def write_batch(
    sinks: Sequence[Sink], frame: DataFrame, number: int, cluster: Cluster, delivering: Delivering | None = None
) -> None:
    """Write a batch to each sink in turn; with several, the rows are computed once and kept until all have them."""
    if len(sinks) == 1:
        _write(sinks[0], frame, number, cluster, delivering, 0)
        return
    frame.persist()
    try:
        for place, sink in enumerate(sinks):
            _write(sink, frame, number, cluster, delivering, place)
    finally:
        frame.unpersist()


def _write(
    sink: Sink, frame: DataFrame, number: int, cluster: Cluster, delivering: Delivering | None, place: int
) -> None:
    match sink:
        case TopicSink() if delivering is not None:
            delivering.write(_records(frame, sink), sink, place, number)
        case TopicSink():
            options = ({"topic": sink.topic} if sink.topic else {}) | cluster.merged_with(sink.options)
            _records(frame, sink).write.format(FORMAT).options(**options).mode("append").save()
        case ParquetSink():
            writer = frame.write.mode("overwrite").partitionBy(*sink.partition_by)
            writer.parquet(f"{sink.path.rstrip('/')}/batch={number}")
        case TableSink():
            frame.write.mode("append").saveAsTable(sink.table)
        case ConsoleSink():
            frame.show(sink.rows, truncate=False)
        case CallSink():
            sink.function(frame, number)


def _records(frame: DataFrame, sink: TopicSink) -> DataFrame:
    """The rows as records: as they are, or as JSON under a key."""
    from pyspark.sql import functions as f

    if sink.key is None:
        return frame
    routed = sink.topic is None
    hidden = {*ORIGIN_COLUMNS, "topic"} if routed else set(ORIGIN_COLUMNS)
    shown = [column for column in frame.columns if column not in hidden]
    value = f.to_json(f.struct(*shown), {"ignoreNullFields": "false"}).alias("value")
    key = f.col(sink.key).cast("string").alias("key")
    return frame.select("topic", key, value) if routed else frame.select(key, value)
