"""What the formats have in common: the columns of a schema, and a function for each schema of a writer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from penstock.schemas.model import Format, missing
from penstock.spark.typed.pinned import Text

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType, StructType

DEPTH_MAX: Final = 64
PARTS_MAX: Final = 10_000
"""Columns of a schema, and what is in them."""
Read = Callable[[bytes], dict[str, Any]]
"""From what stands behind the id to the fields of the reader's schema; raises what it likes if the bytes are wrong."""


class Unfit(ValueError):
    """The value is not what its schema says."""


class Kind(NamedTuple):
    """Of a column: Spark's type, and the Arrow type in which values come from a format's library."""

    spark: DataType
    arrow: pa.DataType
    nullable: bool = False


class Reader(Protocol):
    """For one schema to read with."""

    @property
    def fields(self) -> StructType: ...

    @property
    def arrow(self) -> pa.StructType: ...

    def of(self, written: Text) -> Read:
        """For values of that schema. SchemaError if they cannot be read with this one."""
        ...


def reader_of(text: Text) -> Reader:
    if text.format is Format.AVRO:
        try:
            from penstock.spark.typed.avro import AvroReader
        except ImportError:
            raise missing("fastavro") from None

        return AvroReader(text)
    if text.format is Format.JSON:
        from penstock.spark.typed.json import JsonReader

        return JsonReader(text)
    from penstock.spark.typed.protobuf import ProtobufReader

    return ProtobufReader(text)


def record_kind(fields: list[tuple[str, Kind]]) -> Kind:
    import pyarrow as pa
    from pyspark.sql.types import StructField, StructType

    row = StructType([StructField(name, kind.spark, kind.nullable) for name, kind in fields])
    return Kind(row, pa.struct([pa.field(name, kind.arrow, kind.nullable) for name, kind in fields]))


def array_kind(inner: Kind) -> Kind:
    import pyarrow as pa
    from pyspark.sql.types import ArrayType

    return Kind(ArrayType(inner.spark, inner.nullable), pa.list_(pa.field("element", inner.arrow, inner.nullable)))


def map_kind(key: Kind, value: Kind) -> Kind:
    import pyarrow as pa
    from pyspark.sql.types import MapType

    kind = pa.map_(key.arrow, pa.field("value", value.arrow, value.nullable))
    return Kind(MapType(key.spark, value.spark, value.nullable), kind)
