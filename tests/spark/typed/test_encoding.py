"""Rows as values, and the schemas that are made for them, without Spark's JVM: what is written is read again."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as t

from penstock.schemas.model import Format, SchemaError
from penstock.schemas.typed.wire import frame
from penstock.spark.pipelines.shapes import row_shape
from penstock.spark.typed.deriving import schema_for
from penstock.spark.typed.encoding import writer_of
from tests.spark.typed.worlds import World, rows

ROW: dict[str, Any] = {
    "id": "a",
    "total": 1.5,
    "count": None,
    "long": 1 << 40,
    "at": datetime(2023, 11, 14, 22, 13, 20, 1, tzinfo=UTC),
    "day": date(2022, 1, 8),
    "paid": True,
    "raw": b"\x00\xff",
    "tags": ["x", None],
    "counts": {"a": 1, "b": None},
    "where": {"lat": 0.5, "note": None},
}
PLACE = t.StructType([t.StructField("lat", t.DoubleType(), False), t.StructField("note", t.StringType())])
FIELDS = t.StructType(
    [
        t.StructField("id", t.StringType(), False),
        t.StructField("total", t.DoubleType()),
        t.StructField("count", t.IntegerType()),
        t.StructField("long", t.LongType(), False),
        t.StructField("at", t.TimestampType()),
        t.StructField("day", t.DateType()),
        t.StructField("paid", t.BooleanType()),
        t.StructField("raw", t.BinaryType()),
        t.StructField("tags", t.ArrayType(t.StringType())),
        t.StructField("counts", t.MapType(t.StringType(), t.LongType())),
        t.StructField("where", PLACE),
    ]
)


@pytest.mark.parametrize("format", [Format.AVRO, Format.JSON])
def test_what_is_written_with_a_made_schema_is_read_with_it(format: Format) -> None:
    world = World(format)
    kept = [each for each in FIELDS.fields if format is Format.AVRO or each.name not in ("raw",)]
    fields = t.StructType(kept)
    schema = schema_for(format, fields, "orders-value")
    row = {each.name: ROW[each.name] for each in kept}
    value = frame(world.add(schema), writer_of(world.text(schema), row_shape(fields).arrow)(row))

    (found,) = rows(world.decoder(schema), [value])

    assert found == row | {"counts": [("a", 1), ("b", None)]}


def test_avro_has_decimals() -> None:
    world = World(Format.AVRO)
    schema = schema_for(Format.AVRO, t.StructType([t.StructField("sum", t.DecimalType(6, 2))]), "1-st")
    value = frame(world.add(schema), writer_of(world.text(schema), pa.struct([]))({"sum": Decimal("12.34")}))

    assert rows(world.decoder(schema), [value]) == [{"sum": Decimal("12.34")}]


def test_protobuf_is_written_by_a_schema_that_is_given() -> None:
    world = World(Format.PROTOBUF)
    schema = 'syntax = "proto3"; message Order { string id = 1; optional int32 count = 2; bytes raw = 3; }'
    row = pa.struct([("id", pa.string()), ("count", pa.int32()), ("raw", pa.binary())])
    value = frame(world.add(schema), writer_of(world.text(schema), row)({"id": "a", "count": None, "raw": b"\x00\xff"}))

    assert rows(world.decoder(schema), [value]) == [{"id": "a", "count": None, "raw": b"\x00\xff"}]


@pytest.mark.parametrize("format", list(Format))
def test_a_row_that_does_not_fit_is_refused(format: Format) -> None:
    schema = {
        Format.AVRO: '{"type": "record", "name": "O", "fields": [{"name": "id", "type": "string"}]}',
        Format.JSON: '{"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}',
        Format.PROTOBUF: 'syntax = "proto3"; message Order { string id = 1; }',
    }[format]
    write = writer_of(World(format).text(schema), pa.struct([("id", pa.int32())]))

    with pytest.raises((SchemaError, ValueError, TypeError)):
        write({"id": 5})


@pytest.mark.parametrize(
    ("format", "kind", "words"),
    [
        (Format.PROTOBUF, t.StringType(), "numbers of Protobuf's fields"),
        (Format.JSON, t.DecimalType(5, 2), "columns of decimal"),
        (Format.AVRO, t.CalendarIntervalType(), "columns of interval"),
        (Format.AVRO, t.MapType(t.LongType(), t.LongType()), "keys of a map are text"),
    ],
)
def test_what_has_no_schema_is_refused(format: Format, kind: t.DataType, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        schema_for(format, t.StructType([t.StructField("it", kind)]), "orders-value")
