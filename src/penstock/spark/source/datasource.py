"""`format("penstock")`: one class that Spark finds, which makes readers and writers of a query's options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from penstock.spark.shipping import Shipped

if TYPE_CHECKING:
    from penstock.spark.rows.sink import PenstockStreamWriter, PenstockWriter
    from penstock.spark.source.batch import BatchReader
    from penstock.spark.source.stream import StreamReader


class PenstockSource(Shipped, DataSource):
    """Spark calls its methods in processes of their own, so what each needs is loaded there."""

    @classmethod
    def name(cls) -> str:
        return "penstock"

    def shipped_arguments(self) -> tuple[Any, ...]:
        return (self.options,)

    def schema(self) -> StructType:
        from penstock.spark.source.columns import schema_of

        return schema_of(self.options)

    def reader(self, schema: StructType) -> BatchReader:
        from penstock.spark.source.batch import batch_reader
        from penstock.spark.source.columns import columns_of
        from penstock.spark.source.options import SourceOptions

        return batch_reader(SourceOptions.for_batch(self.options), columns_of(schema))

    def streamReader(self, schema: StructType) -> StreamReader:
        from penstock.spark.source.columns import columns_of
        from penstock.spark.source.options import SourceOptions
        from penstock.spark.source.stream import StreamReader

        return StreamReader(SourceOptions.for_stream(self.options), columns_of(schema))

    def writer(self, schema: StructType, overwrite: bool) -> PenstockWriter:
        from penstock.spark.rows.sink import PenstockWriter, sink_settings
        from penstock.spark.source.errors import OptionError

        if overwrite:
            raise OptionError('a topic cannot be overwritten: write with mode("append")')
        return PenstockWriter(sink_settings(self.options, schema))

    def streamWriter(self, schema: StructType, overwrite: bool) -> PenstockStreamWriter:
        """A query in complete mode overwrites; its rows are appended, as Spark's Kafka sink does it."""
        from penstock.spark.rows.sink import PenstockStreamWriter, sink_settings

        return PenstockStreamWriter(sink_settings(self.options, schema))
