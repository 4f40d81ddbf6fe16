"""The columns of a topic: those of Spark's Kafka source, or some of them."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from penstock.spark.rows.tasks import COLUMNS
from penstock.spark.source.errors import OptionError
from penstock.spark.source.options import flag

HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
TYPES = dict(
    zip(
        COLUMNS,
        (BinaryType(), BinaryType(), StringType(), IntegerType(), LongType(), TimestampType(), IntegerType(), HEADERS),
        strict=True,
    )
)


def schema_of(options: Mapping[str, str]) -> StructType:
    """All columns but the headers, all with them (`includeHeaders`), or those that `columns` names, in its order."""
    if "columns" in options:
        names = [name.strip() for name in options["columns"].split(",")]
    else:
        with_headers = options.get("includeHeaders", "false").strip()
        if with_headers.lower() not in ("true", "false"):
            raise OptionError(f"the option includeHeaders cannot be {with_headers!r}")
        names = list(COLUMNS if flag(with_headers) else COLUMNS[:-1])
    unknown = [name for name in names if name not in TYPES]
    if unknown or len(set(names)) != len(names):
        raise OptionError(f"the option columns takes each of {', '.join(COLUMNS)} once, got {', '.join(names)}")
    return StructType([StructField(name, TYPES[name]) for name in names])


def columns_of(schema: StructType) -> tuple[str, ...]:
    """The columns that a query asked for with `.schema(...)`, which must be what topics have."""
    for field in schema.fields:
        if TYPES.get(field.name) != field.dataType or not field.nullable:
            raise OptionError(
                f"a topic has no column `{field.simpleString()}`: its columns are {schema_text()}, all of them nullable"
            )
    return tuple(schema.fieldNames())


def schema_text() -> str:
    return ", ".join(f"{name} {kind.simpleString()}" for name, kind in TYPES.items())
