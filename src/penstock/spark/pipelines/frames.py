"""From a declaration to Spark's frames: sources are read, decoded and watermarked, then the transform sees them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from penstock.core.base.errors import PenstockError
from penstock.spark.pipelines.cluster import Cluster, cluster_of
from penstock.spark.pipelines.declaration import ORIGIN_COLUMNS, Json, PerRecord, Pipeline, TopicSource
from penstock.spark.pipelines.progress import DECODED_METRIC, READ_METRIC, ROWS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from penstock.spark.pipelines.decoding import BatchDecoder
    from penstock.spark.pipelines.handing import Ledger
    from penstock.spark.pipelines.typed import Pinned
    from penstock.spark.typed.declaration import Registry

FORMAT: Final = "penstock"
_SUBSCRIPTIONS: Final = frozenset({"subscribe", "assign", "subscribepattern"})


class TransformFailed(PenstockError):
    """The transform raised while the query was put together."""


@dataclass(frozen=True)
class DecodeTask:
    """What the executors run for one source; it travels to them as a value."""

    decode: Json | PerRecord | Pinned
    schema: StructType
    cluster: Cluster
    pipeline: str
    topics: Mapping[str, str]
    source: int = 0
    tell: Any = None
    """The accumulator in which tasks tell what they have read, where batches are exactly once."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        from penstock.spark.pipelines import deadletters
        from penstock.spark.pipelines.decoding import decode_batches
        from penstock.spark.pipelines.letters import decode_once, handed_to_task

        decoder = self._decoder()
        handed = handed_to_task()
        if self.tell is not None and handed is not None and self.source in handed.queries:
            return decode_once(self, decoder, handed, batches)
        bury = partial(deadletters.bury, cluster=self.cluster, pipeline=self.pipeline, topics=self.topics)
        return decode_batches(batches, decoder, bury)

    def _decoder(self) -> BatchDecoder:
        from penstock.spark.pipelines.decoding import RowDecoder

        if isinstance(self.decode, Json | PerRecord):
            return RowDecoder(self.decode, self.schema)
        from penstock.spark.pipelines.typed import RegistryDecoder

        return RegistryDecoder(self.decode)


def build(pipeline: Pipeline, spark: SparkSession, cluster: Cluster, ledger: Ledger | None = None) -> DataFrame:
    """The frame that goes to the sinks. With a ledger, tasks tell there what they have read and written."""
    tell = None if ledger is None else ledger.teller(spark.sparkContext)
    frames = [_source_frame(pipeline, index, spark, cluster, tell) for index in range(len(pipeline.sources))]
    try:
        with _unlogged():
            return pipeline.transform(*frames)
    except Exception as failure:
        raise TransformFailed(
            f"pipeline {pipeline.name}: its transform failed before the first batch: "
            f"{type(failure).__name__}: {str(failure).strip().partition(chr(10))[0]}"
        ) from failure


@contextmanager
def _unlogged() -> Iterator[None]:
    """Spark logs what it refuses, with all of Java's stack, beside raising it. Who runs a pipeline reads one line."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("DataFrame", "SQL")]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was


def plan_text(pipeline: Pipeline, spark: SparkSession, cluster: Cluster) -> str:
    """Spark's plan of a pipeline, from what was written to what would run."""
    frame = build(pipeline, spark, cluster)
    told = io.StringIO()
    with redirect_stdout(told):
        frame.explain(extended=True)
    return told.getvalue().rstrip()


def source_options(pipeline: Pipeline, source: TopicSource, cluster: Cluster) -> dict[str, str]:
    """Options of the data source; those that the declaration gives win, whatever their case."""
    chosen = {
        "subscribe": ",".join(source.topics),
        "startingOffsets": source.starting,
        "commitGroup": pipeline.name,
        # What another pipeline has written and does not count must not be read.
        "isolation.level": "read_committed",
    }
    if source.decode is not None:
        chosen["includeHeaders"] = "true"
    given = {name.lower() for name in source.options}
    if "kafka.isolation.level" in given:
        given.add("isolation.level")
    if given & _SUBSCRIPTIONS:
        given |= _SUBSCRIPTIONS
    own = {name: value for name, value in chosen.items() if name.lower() not in given}
    return own | cluster.merged_with(source.options)


def _source_frame(pipeline: Pipeline, index: int, spark: SparkSession, cluster: Cluster, tell: Any) -> DataFrame:
    source = pipeline.sources[index]
    options = source_options(pipeline, source, cluster)
    frame = spark.readStream.format(FORMAT).options(**options).load()
    if source.decode is not None:
        frame = _decoded(frame, pipeline, index, cluster, tell)
    if source.watermark is not None:
        frame = frame.withWatermark(source.watermark.column, source.watermark.delay)
    return frame


def _decoded(raw: DataFrame, pipeline: Pipeline, index: int, cluster: Cluster, tell: Any) -> DataFrame:
    from pyspark.sql import functions as f

    from penstock.spark.pipelines.decoding import RAW_COLUMNS

    source = pipeline.sources[index]
    assert source.decode is not None, "asked only for sources that decode"
    decode = _settled(source.decode, source.topics)
    fields = fields_of(decode) if isinstance(decode, Json | PerRecord) else decode.fields
    topics = {topic: source.dead_letter_topic(topic) for topic in source.topics}
    task = DecodeTask(decode, fields, cluster_of(source, cluster), pipeline.name, topics, index, tell)
    counted = raw.select(*RAW_COLUMNS).observe(f"{READ_METRIC}{index}", f.count(f.lit(1)).alias(ROWS))
    decoded = counted.mapInArrow(task, with_origin(fields))
    return decoded.observe(f"{DECODED_METRIC}{index}", f.count(f.lit(1)).alias(ROWS))


def _settled(decode: Json | PerRecord | Registry, topics: tuple[str, ...]) -> Json | PerRecord | Pinned:
    """With the schema that a registry has now, where it is one."""
    if isinstance(decode, Json | PerRecord):
        return decode
    from penstock.spark.pipelines.typed import Pinned

    return Pinned.of(decode, topics)


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
