"""A source and a sink without a broker: the rows of a benchmark from memory, and rows that are dropped.

What these two cost is Spark's own: moving rows between Java and Python. No connector in Python can be faster.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from bench.spark_work import NUMBER_BYTES, PARTITIONS, STREAM_BATCHES
from penstock.spark.rows.schema import schema_of
from penstock.spark.rows.tasks import COLUMNS
from penstock.spark.rows.workers import settle

# As many bytes in an Arrow batch as a fetch brings.
BATCH_BYTES = 8_000_000
SCHEMA = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int"
KEPT = COLUMNS[:-1]


def floor_source(rows: int, value_bytes: int) -> type[DataSource]:
    """The class to register for a topic of so many rows."""

    class Floor(DataSource):
        @classmethod
        def name(cls) -> str:
            return "floor"

        def schema(self) -> str:
            return SCHEMA

        def reader(self, schema: StructType) -> DataSourceReader:
            return FloorReader(rows, value_bytes)

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:
            return FloorStreamReader(rows, value_bytes)

        def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
            return FloorWriter()

    return Floor


class FloorReader(DataSourceReader):
    def __init__(self, rows: int, value_bytes: int) -> None:
        self._rows = rows
        self._value_bytes = value_bytes

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(self._rows // PARTITIONS)] * PARTITIONS

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        settle()
        return from_memory(partition.value, self._value_bytes)


class FloorStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, rows: int, value_bytes: int) -> None:
        self._rows = rows
        self._value_bytes = value_bytes

    def prepareForTriggerAvailableNow(self) -> None:
        """All rows are there from the start."""

    def initialOffset(self) -> dict[str, int]:
        return {"row": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        return {"row": min(start["row"] + self._rows // STREAM_BATCHES, self._rows)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [InputPartition((end["row"] - start["row"]) // PARTITIONS)] * PARTITIONS

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        settle()
        return from_memory(partition.value, self._value_bytes)


class FloorWriter(DataSourceArrowWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        settle()
        for _ in iterator:
            pass
        return WriterCommitMessage()


def from_memory(rows: int, value_bytes: int) -> Iterator[pa.RecordBatch]:
    """The same Arrow batch again and again, until all rows were there."""
    batch = _batch(BATCH_BYTES // value_bytes, value_bytes)
    while rows > 0:
        yield batch.slice(0, min(rows, batch.num_rows))
        rows -= batch.num_rows


def _batch(rows: int, value_bytes: int) -> pa.RecordBatch:
    same = np.zeros(rows, np.int32)
    arrays = [
        _cells(rows, NUMBER_BYTES),
        _cells(rows, value_bytes),
        pa.repeat(pa.scalar("floor", pa.string()), rows),
        pa.array(same),
        pa.array(np.arange(rows)),
        pa.array(np.arange(rows)).cast(schema_of(KEPT).field("timestamp").type),
        pa.array(same),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema_of(KEPT))


def _cells(rows: int, cell_bytes: int) -> pa.Array:
    edges = np.arange(rows + 1, dtype=np.int32) * cell_bytes
    data = np.random.default_rng(1).integers(0, 256, rows * cell_bytes, np.uint8)
    return pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(edges), pa.py_buffer(data)])
