"""Values against a schema: what fits, and what is said about what does not."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as t

from penstock.spark.pipelines.declaration import Misdeclared
from penstock.spark.pipelines.shapes import DEPTH_MAX, WrongSchema, row_shape


def fit(kind: t.DataType, value: Any, *, nullable: bool = True) -> Any:
    """A value through a row of one field `f` and through Arrow, as the executors do it."""
    shape = row_shape(t.StructType([t.StructField("f", kind, nullable)]))
    fitted = shape.fit({"f": value}, "")
    return pa.array([fitted["f"]], shape.arrow.field("f").type).to_pylist()[0]


ITEM = t.StructType([t.StructField("name", t.StringType(), False), t.StructField("price", t.DoubleType())])

FITTING = [
    (t.StringType(), "ü", "ü"),
    (t.BooleanType(), True, True),
    (t.ByteType(), -128, -128),
    (t.ShortType(), 32767, 32767),
    (t.IntegerType(), -(2**31), -(2**31)),
    (t.LongType(), 2**63 - 1, 2**63 - 1),
    (t.DoubleType(), 3, 3.0),
    (t.FloatType(), 0.5, 0.5),
    (t.DecimalType(5, 2), 12.5, Decimal("12.50")),
    (t.DecimalType(5, 2), "999.99", Decimal("999.99")),
    (t.DecimalType(5, 2), 0, Decimal("0.00")),
    (t.DecimalType(5, 2), "1E+2", Decimal("100.00")),
    (t.DateType(), "2026-01-31", date(2026, 1, 31)),
    (t.TimestampType(), "2026-01-31T12:00:00+02:00", datetime(2026, 1, 31, 10, tzinfo=UTC)),
    (t.TimestampType(), "2026-01-31T12:00:00.123456", datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)),
    (t.TimestampType(), "2026-01-31T12:00:00Z", datetime(2026, 1, 31, 12, tzinfo=UTC)),
    (t.TimestampNTZType(), "2026-01-31T12:00:00", datetime(2026, 1, 31, 12)),
    (t.BinaryType(), "aGk=", b"hi"),
    (t.BinaryType(), b"hi", b"hi"),
    (t.ArrayType(t.IntegerType()), [1, None], [1, None]),
    (t.MapType(t.StringType(), t.LongType()), {"a": 1}, [("a", 1)]),
    (ITEM, {"name": "tea", "price": 2, "unknown": 7}, {"name": "tea", "price": 2.0}),
    (t.StringType(), None, None),
]


@pytest.mark.parametrize(("kind", "value", "expected"), FITTING)
def test_what_fits(kind: t.DataType, value: Any, expected: Any) -> None:
    assert fit(kind, value) == expected


NOT_FITTING = [
    (t.StringType(), 5, "f: expected string, found integer"),
    (t.StringType(), "\ud800", "f: the text has a lone surrogate"),
    (t.BooleanType(), 1, "f: expected boolean, found integer"),
    (t.IntegerType(), True, "f: expected int, found boolean"),
    (t.IntegerType(), 1.0, "f: expected int, found number"),
    (t.IntegerType(), "1", "f: expected int, found string"),
    (t.ByteType(), 128, "f: the number does not fit tinyint"),
    (t.LongType(), 2**63, "f: the number does not fit bigint"),
    (t.DoubleType(), "1.0", "f: expected double, found string"),
    (t.DoubleType(), 10**400, "f: the number does not fit double"),
    (t.FloatType(), 1e39, "f: the number does not fit float"),
    (t.DecimalType(5, 2), 1000, "f: the number does not fit decimal(5,2)"),
    (t.DecimalType(5, 2), 0.125, "f: the number does not fit decimal(5,2)"),
    (t.DecimalType(5, 2), "NaN", "f: the number does not fit decimal(5,2)"),
    (t.DecimalType(5, 2), "twelve", "f: the text is not a number"),
    (t.DecimalType(5, 2), True, "f: expected decimal(5,2), found boolean"),
    (t.DateType(), "31.1.2026", "f: the text is not a date"),
    (t.DateType(), 20260131, "f: expected date, found integer"),
    (t.TimestampType(), "yesterday", "f: the text is not a time"),
    (t.TimestampType(), 1769860800, "f: expected timestamp, found integer"),
    (t.TimestampNTZType(), "2026-01-31T12:00:00Z", "a time without a zone was declared, and this one has a zone"),
    (t.BinaryType(), "***", "f: the text is not base64"),
    (t.BinaryType(), 5, "f: expected binary, found integer"),
    (t.ArrayType(t.IntegerType()), "1,2", "f: expected array, found string"),
    (t.ArrayType(t.IntegerType(), False), [1, None], "f[1]: is missing or null"),
    (t.ArrayType(ITEM), [{"name": "tea"}, {"name": 7}], "f[1].name: expected string, found integer"),
    (t.MapType(t.StringType(), t.LongType()), {"a": "x"}, "f['a']: expected bigint, found string"),
    (ITEM, {"price": 1.0}, "f.name: is missing or null"),
    (ITEM, [], "f: expected object, found array"),
]


@pytest.mark.parametrize(("kind", "value", "said"), NOT_FITTING)
def test_what_does_not_fit_is_said_with_its_path(kind: t.DataType, value: Any, said: str) -> None:
    with pytest.raises(WrongSchema) as failure:
        fit(kind, value)
    assert said in str(failure.value)


def test_a_required_field() -> None:
    with pytest.raises(WrongSchema, match="f: is missing or null"):
        fit(t.StringType(), None, nullable=False)


def test_a_row_is_an_object() -> None:
    with pytest.raises(WrongSchema, match="the value: expected object, found array"):
        row_shape(ITEM).fit([], "")


def test_a_type_that_no_record_has_is_refused() -> None:
    with pytest.raises(Misdeclared, match="void"):
        row_shape(t.StructType([t.StructField("f", t.NullType())]))


def test_a_schema_has_a_bottom() -> None:
    kind: t.DataType = t.StringType()
    for _ in range(DEPTH_MAX + 1):
        kind = t.ArrayType(kind)
    with pytest.raises(Misdeclared, match="levels deep"):
        row_shape(t.StructType([t.StructField("f", kind)]))
