"""`format("penstock")`: one class that Spark finds, which makes readers and writers of a query's options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from penstock.spark.shipping import Shipped

if TYPE_CHECKING:
    from penstock.spark.rows.exactly_once import ExactlyOnceStreamWriter, ExactlyOnceWriter
    from penstock.spark.rows.sink import PenstockStreamWriter, PenstockWriter
    from penstock.spark.source.batch import BatchReader
    from penstock.spark.source.stream import StreamReader
    from penstock.spark.typed.frames import DecodeColumns


class PenstockSource(Shipped, DataSource):
    """Spark calls its methods in processes of their own, so what each needs is loaded there."""

    @classmethod
    def name(cls) -> str:
        return "penstock"

    def shipped_arguments(self) -> tuple[Any, ...]:
        return (self.options,)

    def schema(self) -> StructType:
        from penstock.spark.source.options import SourceOptions
        from penstock.spark.source.tables import is_created_with, own_options, with_options

        if not is_created_with(self.options):
            return _columns(self.options)
        options = own_options(self.options)
        SourceOptions.for_batch(options)
        return with_options(_columns(options), options)

    def reader(self, schema: StructType) -> BatchReader:
        from penstock.spark.source.batch import batch_reader
        from penstock.spark.source.options import SourceOptions
        from penstock.spark.source.tables import with_kept

        options = with_kept(self.options, schema)
        columns, typed = _wanted(options, schema)
        return batch_reader(SourceOptions.for_batch(options), columns, typed)

    def streamReader(self, schema: StructType) -> StreamReader:
        from penstock.spark.source.options import SourceOptions
        from penstock.spark.source.stream import StreamReader
        from penstock.spark.source.tables import with_kept

        options = with_kept(self.options, schema)
        columns, typed = _wanted(options, schema)
        return StreamReader(SourceOptions.for_stream(options), columns, typed=typed)

    def writer(self, schema: StructType, overwrite: bool) -> PenstockWriter | ExactlyOnceWriter:
        from penstock.spark.rows.exactly_once import ExactlyOnceWriter
        from penstock.spark.rows.identity import Delivery, batch_identity, delivery_of
        from penstock.spark.rows.sink import PenstockWriter, sink_settings
        from penstock.spark.source.errors import OptionError

        if overwrite:
            raise OptionError('a topic cannot be overwritten: write with mode("append")')
        sink = sink_settings(self.options, schema)
        if delivery_of(self.options, Delivery.AT_LEAST_ONCE) is Delivery.AT_LEAST_ONCE:
            return PenstockWriter(sink)
        return ExactlyOnceWriter(sink, batch_identity(self.options, sink.client))

    def streamWriter(self, schema: StructType, overwrite: bool) -> PenstockStreamWriter | ExactlyOnceStreamWriter:
        """A query in complete mode overwrites; its rows are appended, as Spark's Kafka sink does it."""
        from penstock.spark.rows.exactly_once import ExactlyOnceStreamWriter
        from penstock.spark.rows.identity import Delivery, delivery_of, stream_identity
        from penstock.spark.rows.sink import PenstockStreamWriter, sink_settings

        sink = sink_settings(self.options, schema)
        if delivery_of(self.options, Delivery.EXACTLY_ONCE) is Delivery.AT_LEAST_ONCE:
            return PenstockStreamWriter(sink)
        return ExactlyOnceStreamWriter(sink, stream_identity(self.options, sink.client))


def _columns(options: Mapping[str, str]) -> StructType:
    from penstock.spark.source.columns import schema_of
    from penstock.spark.source.typed import is_typed, typed_schema

    raw = schema_of(options)
    return typed_schema(options, raw) if is_typed(options) else raw


def _wanted(options: Mapping[str, str], schema: StructType) -> tuple[tuple[str, ...], DecodeColumns | None]:
    """What is read of the topics, and what is made of it."""
    from penstock.spark.source.columns import columns_of, schema_of
    from penstock.spark.source.typed import decoding_of, is_typed

    if not is_typed(options):
        return columns_of(schema), None
    raw = schema_of(options)
    return tuple(raw.names), decoding_of(options, raw, schema)
