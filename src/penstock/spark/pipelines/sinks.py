"""One batch to all sinks. A batch that fails half-way is done again whole: every sink bears that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.spark.pipelines.cluster import Cluster, cluster_of
from penstock.spark.pipelines.declaration import (
    ORIGIN_COLUMNS,
    CallSink,
    ConsoleSink,
    LakeSink,
    ParquetSink,
    Pipeline,
    TableSink,
    TopicSink,
)
from penstock.spark.pipelines.encoding import encoded
from penstock.spark.pipelines.frames import FORMAT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.spark.pipelines.delivering import Delivering


def write_batch(
    pipeline: Pipeline, frame: DataFrame, number: int, cluster: Cluster, delivering: Delivering | None = None
) -> None:
    """Write a batch to each sink in turn; with several, the rows are computed once and kept until all have them."""
    if len(pipeline.sinks) == 1:
        _write(pipeline, 0, frame, number, cluster, delivering)
        return
    frame.persist()
    try:
        for place in range(len(pipeline.sinks)):
            _write(pipeline, place, frame, number, cluster, delivering)
    finally:
        frame.unpersist()


def _write(
    pipeline: Pipeline, place: int, frame: DataFrame, number: int, cluster: Cluster, delivering: Delivering | None
) -> None:
    sink = pipeline.sinks[place]
    match sink:
        case TopicSink() if delivering is not None:
            delivering.write(_records(frame, sink, pipeline.name), sink, place, number)
        case TopicSink():
            options = topic_option(sink) | cluster.merged_with(sink.options)
            _records(frame, sink, pipeline.name).write.format(FORMAT).options(**options).mode("append").save()
        case ParquetSink():
            writer = frame.write.mode("overwrite").partitionBy(*sink.partition_by)
            writer.parquet(f"{sink.path.rstrip('/')}/batch={number}")
        case TableSink():
            frame.write.mode("append").saveAsTable(sink.table)
        case LakeSink():
            _to_lake(pipeline, sink, frame, number, cluster)
        case ConsoleSink():
            frame.show(sink.rows, truncate=False)
        case CallSink():
            sink.function(frame, number)


def _to_lake(pipeline: Pipeline, sink: LakeSink, frame: DataFrame, number: int, cluster: Cluster) -> None:
    from penstock.spark.lake.places import Place
    from penstock.spark.lake.writing import write_batch
    from penstock.spark.pipelines.laking import origin_of

    source = pipeline.sources[0]
    origin, partitions = origin_of(source.topics[0], cluster_of(source, cluster))
    write_batch(frame, number, Place(sink.path, sink.options), origin, sink.by, partitions)


def topic_option(sink: TopicSink) -> dict[str, str]:
    """Rows that are encoded name their topics: some go to the dead letters."""
    return {"topic": sink.topic} if sink.topic and sink.encode is None else {}


def _records(frame: DataFrame, sink: TopicSink, pipeline: str) -> DataFrame:
    """The rows as records: as they are, as JSON under a key, or in the format of a registry."""
    from pyspark.sql import functions as f

    if sink.encode is not None:
        return encoded(frame, sink, pipeline)
    if sink.key is None:
        return frame
    routed = sink.topic is None
    hidden = {*ORIGIN_COLUMNS, "topic"} if routed else set(ORIGIN_COLUMNS)
    shown = [column for column in frame.columns if column not in hidden]
    value = f.to_json(f.struct(*shown), {"ignoreNullFields": "false"}).alias("value")
    key = f.col(sink.key).cast("string").alias("key")
    return frame.select("topic", key, value) if routed else frame.select(key, value)
