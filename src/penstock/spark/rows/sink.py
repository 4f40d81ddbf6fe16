"""The sink as Spark sees it: checked on the driver, written on the executors, nothing left to do at the commit.

The rules are those of Spark's own Kafka sink: `value` is required, `key`, `headers`, `partition` and `topic` are
optional, the option `topic` wins over the column, and other columns are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from penstock.client.metadata import TopicPartition
from penstock.spark.rows.settings import ClientSettings, SettingRefused
from penstock.spark.rows.spelling import check_spelling
from penstock.spark.rows.workers import settle
from penstock.spark.rows.writing import SinkSettings, write_rows
from penstock.spark.shipping import Shipped

_HEADERS: Final = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
_ACCEPTED: Final[Mapping[str, tuple[DataType, ...]]] = {
    "topic": (StringType(),),
    "key": (StringType(), BinaryType()),
    "value": (StringType(), BinaryType()),
    "headers": (_HEADERS,),
    "partition": (IntegerType(),),
}


def sink_settings(options: Mapping[str, str], schema: StructType) -> SinkSettings:
    """What the options of a writing query say, or `SettingRefused` if its columns do not fit."""
    check_spelling(options)
    topic = (options.get("topic") or "").strip() or None
    column = options.get("timestampColumn")
    types = {one.name: one.dataType for one in schema.fields}
    if topic is None and "topic" not in types:
        raise SettingRefused("the rows have no column `topic`: name one topic for all with the option `topic`")
    if "value" not in types:
        raise SettingRefused("the rows have no column `value`")
    if column is not None and not isinstance(types.get(column), TimestampType):
        raise SettingRefused(f"the option timestampColumn names {column}, which is no column of timestamps")
    for name, accepted in _ACCEPTED.items():
        if name in types and not (name == "topic" and topic) and not any(_same(types[name], one) for one in accepted):
            wanted = " or ".join(one.simpleString() for one in accepted)
            raise SettingRefused(f"the column `{name}` is {types[name].simpleString()} and must be {wanted}")
    return SinkSettings(ClientSettings.of(options), topic, column)


def _same(one: DataType, other: DataType) -> bool:
    """Whether two types are the same but for what may be null."""
    return one.simpleString() == other.simpleString()


@dataclass
class RowsWritten(WriterCommitMessage):
    """What one task tells the driver: how many rows were acknowledged, and where each partition ended."""

    rows: int
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)


class PenstockWriter(Shipped, DataSourceArrowWriter):
    """The sink of a batch query."""

    def __init__(self, sink: SinkSettings) -> None:
        self._sink = sink

    def shipped_arguments(self) -> tuple[SinkSettings]:
        return (self._sink,)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        settle()
        return RowsWritten(*write_rows(self._sink, iterator))


class PenstockStreamWriter(Shipped, DataSourceStreamArrowWriter):
    """The sink of a streaming query. A batch that is run again is written again."""

    def __init__(self, sink: SinkSettings) -> None:
        self._sink = sink

    def shipped_arguments(self) -> tuple[SinkSettings]:
        return (self._sink,)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        settle()
        return RowsWritten(*write_rows(self._sink, iterator))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Every task has had its rows acknowledged before it sent its message: nothing is left to do."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """What tasks have written stays: readers may see it twice, once the batch is run again."""
