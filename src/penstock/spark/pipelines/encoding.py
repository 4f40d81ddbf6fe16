"""Typed columns of a pipeline's rows become values in the wire format of a registry's serialisers.

A row that does not fit its schema is routed to another topic, as JSON and with what is wrong with it: it goes out with
the others, under the same commit, and the batch goes on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from penstock.core.base.errors import PenstockError
from penstock.core.delivery.dead_letter import PREFIX
from penstock.core.delivery.policy import ERROR_CLASS_CHARS_MAX, bounded, describe
from penstock.spark.pipelines.declaration import ORIGIN_COLUMNS, Encode, Pipeline, TopicSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from penstock.spark.typed.pinned import Text

KEY: Final = "__key"
COLUMNS: Final = "topic string, key string, value binary, headers array<struct<key:string,value:binary>>"
Headers = list[dict[str, Any]]


@dataclass(frozen=True)
class EncodeRows:
    """What executors run for one sink; travels to them as a value."""

    id: int
    schema: Text
    fields: tuple[str, ...]
    topic: str
    dead_letters: str
    pipeline: str

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        from penstock.spark.typed.encoding import writer_of

        for batch in batches:
            fields = batch.select(self.fields)
            shape = pa.struct(list(fields.schema))
            write = writer_of(self.schema, shape)
            rows = fields.to_pylist(maps_as_pydicts="strict")
            yield self._records(batch, [self._encoded(write, row, shape, batch, at) for at, row in enumerate(rows)])

    def _encoded(self, write: Any, row: dict[str, Any], shape: Any, batch: Any, at: int) -> tuple[str, bytes, Headers]:
        from penstock.schemas.typed.wire import frame
        from penstock.spark.typed.encoding import as_json

        try:
            return self.topic, frame(self.id, write(row)), []
        except Exception as failure:
            text = json.dumps(as_json(row, shape), ensure_ascii=False)
            return self.dead_letters, text.encode(), self._reason(failure, batch, at)

    def _reason(self, failure: Exception, batch: Any, at: int) -> Headers:
        """It names no `topic` as a letter of a source does: what was read is not what is here, and is not redriven."""
        facts = {
            "sink": self.topic,
            "class": bounded(type(failure).__name__, ERROR_CLASS_CHARS_MAX),
            "message": describe(failure),
            "attempts": 1,
            "pipeline": self.pipeline,
        }
        for name in ORIGIN_COLUMNS[1:]:
            if name in batch.schema.names:
                facts[f"row{name.replace('_', '.')}"] = batch.column(name)[at].as_py()
        return [{"key": PREFIX + fact, "value": str(value).encode()} for fact, value in facts.items()]

    def _records(self, batch: Any, encoded: list[tuple[str, bytes, Headers]]) -> Any:
        import pyarrow as pa

        topics, values, headers = zip(*encoded, strict=True) if encoded else ((), (), ())
        header = pa.struct([("key", pa.string()), ("value", pa.binary())])
        columns = {
            "topic": pa.array(topics, pa.string()),
            "key": batch.column(KEY),
            "value": pa.array(values, pa.binary()),
            "headers": pa.array(headers, pa.list_(header)),
        }
        return pa.RecordBatch.from_pydict(columns)


def encoded(frame: DataFrame, sink: TopicSink, pipeline: str) -> DataFrame:
    """The records of a sink that encodes; each names the topic that it goes to."""
    from pyspark.sql import functions as f

    task = _task(sink, frame.schema, pipeline)
    key = f.lit(None) if sink.key is None else f.col(sink.key)
    return frame.withColumn(KEY, key.cast("string")).mapInArrow(task, COLUMNS)


def register(pipeline: Pipeline, row: StructType) -> None:
    """Before the first batch: the registry finds the schemas compatible, or the pipeline does not start."""
    for sink in pipeline.sinks:
        if isinstance(sink, TopicSink) and sink.encode is not None:
            _task(sink, row, pipeline.name)


def _task(sink: TopicSink, row: StructType, pipeline: str) -> EncodeRows:
    assert sink.encode is not None, "asked only for sinks that encode"
    assert sink.topic is not None, "a sink that encodes names its topic"
    if sink.key is not None and sink.key not in row.names:
        raise PenstockError(f"pipeline {pipeline}: the rows for {sink.topic} have no column {sink.key} for a key")
    names = tuple(name for name in row.names if name not in ORIGIN_COLUMNS)
    fields = type(row)([row[name] for name in names])
    id, schema = _registered(sink.encode, sink.topic, fields.json())
    return EncodeRows(id, schema, names, sink.topic, sink.dead_letter_topic, pipeline)


@lru_cache(maxsize=256)
def _registered(encode: Encode, topic: str, fields: str) -> tuple[int, Text]:
    """Once for all batches: a schema that is registered stays what it is."""
    from pyspark.sql.types import StructType

    from penstock.client.registry import RegistryClient
    from penstock.schemas.model import Format
    from penstock.spark.typed.deriving import schema_for
    from penstock.spark.typed.pinned import Text

    subject = encode.subject or f"{topic}-value"
    kind = Format(encode.format)
    text = encode.schema or schema_for(kind, StructType.fromJson(json.loads(fields)), subject)
    id = RegistryClient(encode.url).register(subject, encode.format.upper(), text)
    return id, Text(kind, text, name=subject)
