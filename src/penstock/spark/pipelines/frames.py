"""From a declaration to Spark's frames: sources are read, decoded and watermarked, then the transform sees them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from penstock.core.base.errors import PenstockError
from penstock.spark.pipelines.declaration import ORIGIN_COLUMNS, Json, PerRecord, Pipeline, TopicSource
from penstock.spark.pipelines.progress import DECODED_METRIC, READ_METRIC, ROWS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

FORMAT: Final = "penstock"
_SUBSCRIPTIONS: Final = frozenset({"subscribe", "assign", "subscribepattern"})


class TransformFailed(PenstockError):
    """The transform raised while the query was put together."""


@dataclass(frozen=True)
class DecodeTask:
    """What the executors run for one source; it travels to them as a value."""

    decode: Json | PerRecord
    schema: StructType
    bootstrap: str
    pipeline: str
    topics: Mapping[str, str]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        from penstock.spark.pipelines import deadletters
        from penstock.spark.pipelines.decoding import RowDecoder, decode_batches

        bury = partial(deadletters.bury, bootstrap=self.bootstrap, pipeline=self.pipeline, topics=self.topics)
        return decode_batches(batches, RowDecoder(self.decode, self.schema), bury)


def build(pipeline: Pipeline, spark: SparkSession, bootstrap: str) -> DataFrame:
    """The frame that goes to the sinks."""
    frames = [_source_frame(pipeline, index, spark, bootstrap) for index in range(len(pipeline.sources))]
    try:
        return pipeline.transform(*frames)
    except Exception as failure:
        raise TransformFailed(
            f"pipeline {pipeline.name}: its transform failed before the first batch: "
            f"{type(failure).__name__}: {str(failure).strip().partition(chr(10))[0]}"
        ) from failure


def plan_text(pipeline: Pipeline, spark: SparkSession, bootstrap: str) -> str:
    """Spark's plan of a pipeline, from what was written to what would run."""
    frame = build(pipeline, spark, bootstrap)
    told = io.StringIO()
    with redirect_stdout(told):
        frame.explain(extended=True)
    return told.getvalue().rstrip()


def source_options(pipeline: Pipeline, source: TopicSource, bootstrap: str) -> dict[str, str]:
    """Options of the data source; those that the declaration gives win, whatever their case."""
    chosen = {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": ",".join(source.topics),
        "startingOffsets": source.starting,
        "commitGroup": pipeline.name,
    }
    if source.decode is not None:
        chosen["includeHeaders"] = "true"
    given = {name.lower() for name in source.options}
    if given & _SUBSCRIPTIONS:
        given |= _SUBSCRIPTIONS
    return {name: value for name, value in chosen.items() if name.lower() not in given} | dict(source.options)


def _source_frame(pipeline: Pipeline, index: int, spark: SparkSession, bootstrap: str) -> DataFrame:
    source = pipeline.sources[index]
    options = source_options(pipeline, source, bootstrap)
    frame = spark.readStream.format(FORMAT).options(**options).load()
    if source.decode is not None:
        frame = _decoded(frame, pipeline, index, bootstrap)
    if source.watermark is not None:
        frame = frame.withWatermark(source.watermark.column, source.watermark.delay)
    return frame


def _decoded(raw: DataFrame, pipeline: Pipeline, index: int, bootstrap: str) -> DataFrame:
    from pyspark.sql import functions as f

    from penstock.spark.pipelines.decoding import RAW_COLUMNS

    source = pipeline.sources[index]
    assert source.decode is not None, "asked only for sources that decode"
    fields = fields_of(source.decode)
    topics = {topic: source.dead_letter_topic(topic) for topic in source.topics}
    task = DecodeTask(source.decode, fields, source.cluster or bootstrap, pipeline.name, topics)
    counted = raw.select(*RAW_COLUMNS).observe(f"{READ_METRIC}{index}", f.count(f.lit(1)).alias(ROWS))
    decoded = counted.mapInArrow(task, with_origin(fields))
    return decoded.observe(f"{DECODED_METRIC}{index}", f.count(f.lit(1)).alias(ROWS))


def fields_of(decode: Json | PerRecord) -> StructType:
    """The declared fields; DDL is read by Spark itself, so there must be a session."""
    from pyspark.sql.types import StructType

    fields = StructType.fromDDL(decode.schema) if isinstance(decode.schema, str) else decode.schema
    assert isinstance(fields, StructType), "DDL of a row gives a row"
    return fields


def with_origin(fields: StructType) -> StructType:
    """The columns of a decoded frame: the fields, then where each row came from."""
    from pyspark.sql import types as t

    kinds = (t.BinaryType(), t.StringType(), t.IntegerType(), t.LongType(), t.TimestampType())
    origin = [t.StructField(name, kind) for name, kind in zip(ORIGIN_COLUMNS, kinds, strict=True)]
    return t.StructType([*fields.fields, *origin])
