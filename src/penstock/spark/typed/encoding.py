"""`penstock.spark.encode`: rows become values in the wire format of a registry's serialisers."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from penstock.spark.typed.declaration import FORMATS, FormatName

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from penstock.spark.typed.pinned import Text

VALUE: Final = "value"


@dataclass(frozen=True)
class EncodeColumns:
    """What executors run on each batch; travels to them as a value."""

    id: int
    schema: Text
    fields: tuple[str, ...]
    kept: tuple[str, ...]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        from penstock.schemas.typed.wire import frame

        write = None
        for batch in batches:
            fields = batch.select(self.fields)
            write = write or writer_of(self.schema, pa.struct(list(fields.schema)))
            rows = fields.to_pylist(maps_as_pydicts="strict")
            values = pa.array([frame(self.id, write(row)) for row in rows], pa.binary())
            yield pa.RecordBatch.from_pydict({VALUE: values} | {name: batch.column(name) for name in self.kept})


def encode(
    df: DataFrame,
    registry: str,
    subject: str,
    format: FormatName = "avro",
    *,
    schema: str | None = None,
    keep: Sequence[str] = (),
) -> DataFrame:
    """A frame with the column `value`, and with those that `keep` names (`key`, `headers`, `topic`, ...) as they are;
    the other columns are the fields.

    The schema is registered under the subject when this is called, if the registry finds it compatible with those
    before it: the one that is given, or one made of the columns' types.
    """
    from pyspark.sql.types import BinaryType, StructField, StructType

    from penstock.client.registry import RegistryClient
    from penstock.schemas.model import Format
    from penstock.spark.typed.deriving import schema_for
    from penstock.spark.typed.pinned import Text

    if format not in FORMATS:
        raise ValueError(f"the format of a registry's values is one of {', '.join(FORMATS)}, not {format!r}")
    if missing := [name for name in keep if name not in df.columns]:
        raise ValueError(f"there is no column {missing[0]} to keep: there are {', '.join(df.columns)}")
    kept = [df.schema[name] for name in keep]
    row = StructType([field for field in df.schema.fields if field.name not in keep])
    text = Text(Format(format), schema or schema_for(Format(format), row, subject), name=subject)
    id = RegistryClient(registry).register(subject, format.upper(), text.text)
    task = EncodeColumns(id, text, tuple(row.names), tuple(keep))
    return df.mapInArrow(task, StructType([StructField(VALUE, BinaryType()), *kept]))


def writer_of(schema: Text, row: pa.DataType) -> Callable[[dict[str, Any]], bytes]:
    from penstock.schemas.model import Format
    from penstock.schemas.typed.codecs import codec_of

    if schema.format is Format.AVRO:
        return _avro_writer(schema)
    codec = codec_of(schema.format, schema.text, schema.references)
    return lambda value: codec.encode(as_json(value, row))


def _avro_writer(schema: Text) -> Callable[[dict[str, Any]], bytes]:
    """fastavro knows moments and decimals as Python has them."""
    import fastavro

    parsed = fastavro.parse_schema(json.loads(schema.text))

    def write(row: dict[str, Any]) -> bytes:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, row, strict_allow_default=True)
        return out.getvalue()

    return write


def as_json(value: Any, kind: pa.DataType) -> Any:
    """What JSON has no type for is the text by which the other side knows it. A field that is null is left out, and
    of a map nothing is."""
    import pyarrow as pa

    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {each.name: as_json(value[each.name], each.type) for each in kind if value[each.name] is not None}
    if pa.types.is_map(kind):
        return {key: as_json(each, kind.item_type) for key, each in value.items()}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [as_json(each, kind.value_type) for each in value]
    return _text(value)


def _text(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value) if isinstance(value, Decimal) else value
