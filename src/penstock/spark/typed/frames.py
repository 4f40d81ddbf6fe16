"""`penstock.spark.decode` and `encode`: a frame in, a frame out; what they need of a registry is read here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from penstock.spark.typed.declaration import LATEST, FormatName, Registry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from penstock.spark.typed.batches import BatchDecoder
    from penstock.spark.typed.pinned import Text

ERROR: Final = "_error"
HEADERS: Final = "headers"
Mode = Literal["PERMISSIVE", "FAILFAST"]


class Undecodable(ValueError):
    """A value that cannot be read, where the query is to fail of it."""


@dataclass(frozen=True)
class DecodeColumns:
    """What executors run on each batch of a frame; travels to them as a value."""

    url: str
    schema: Text
    column: str
    others: tuple[str, ...]
    is_failing: bool

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        from penstock.spark.typed.batches import KEY_HEADER, VALUE_HEADER, decoder_of

        decoder = decoder_of(self.url, self.schema, KEY_HEADER if self.column == "key" else VALUE_HEADER)
        for batch in batches:
            yield self.decoded(decoder, batch)

    def decoded(self, decoder: BatchDecoder, batch: Any) -> Any:
        import pyarrow as pa

        names = batch.schema.names
        headers = batch.column(HEADERS) if HEADERS in names else None
        columns, faults = decoder.decode_column(batch.column(self.column), headers)
        if faults and self.is_failing:
            raise Undecodable(_where(batch, min(faults)) + faults[min(faults)].message)
        found = dict(zip(decoder.fields.names, columns, strict=True))
        found |= {f"_{name}": batch.column(name) for name in self.others}
        if not self.is_failing:
            reasons = [faults[place].message if place in faults else None for place in range(batch.num_rows)]
            found[ERROR] = pa.array(reasons, pa.string())
        return pa.RecordBatch.from_pydict(found)


def decode(
    df: DataFrame,
    registry: str | Registry,
    format: FormatName = "avro",
    *,
    subject: str | None = None,
    version: int | Literal["latest"] = LATEST,
    schema: str | None = None,
    message: str | None = None,
    column: str = "value",
    mode: Mode = "PERMISSIVE",
) -> DataFrame:
    """The fields of a column's values, as the registry's schema types them, beside the frame's other columns with a `_`
    before their names.

    A value that cannot be read has null fields and its reason in `_error`; with `mode="FAILFAST"` it ends the query.
    """
    from penstock.spark.typed.pinned import pinned
    from penstock.spark.typed.reader import reader_of

    if mode not in ("PERMISSIVE", "FAILFAST"):
        raise ValueError(f"the mode is PERMISSIVE or FAILFAST, not {mode!r}")
    if isinstance(registry, str):
        registry = Registry(registry, format, subject, version, schema, message)
    text = pinned(registry, ())
    others = tuple(name for name in df.columns if name != column)
    task = DecodeColumns(registry.url, text, column, others, mode == "FAILFAST")
    return df.mapInArrow(task, columns_of(df.schema, reader_of(text).fields, task))


def columns_of(frame: StructType, fields: StructType, task: DecodeColumns) -> StructType:
    """All fields may be null: those of a value that is null, or cannot be read, are."""
    from pyspark.sql.types import StringType, StructField, StructType

    found = [StructField(field.name, field.dataType) for field in fields.fields]
    found += [StructField(f"_{name}", frame[name].dataType) for name in task.others]
    found += [] if task.is_failing else [StructField(ERROR, StringType())]
    if len({field.name.lower() for field in found}) < len(found):
        raise ValueError(f"two columns would have one name: {', '.join(field.name for field in found)}")
    return StructType(found)


def _where(batch: Any, place: int) -> str:
    """A record's coordinates, if the frame has them."""
    names = ("topic", "partition", "offset")
    if not set(names) <= set(batch.schema.names):
        return ""
    topic, partition, offset = (batch.column(name)[place].as_py() for name in names)
    return f"{topic}-{partition} offset {offset}: "
