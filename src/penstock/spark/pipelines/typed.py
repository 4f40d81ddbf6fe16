"""Records whose values a registry's serialisers wrote: read by whole batches, the others become dead letters."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from penstock.core.delivery.policy import ERROR_CLASS_CHARS_MAX, GiveUp, bounded
from penstock.spark.pipelines.decoding import DeadLetter, records_of, with_origin
from penstock.spark.typed.batches import Fault, decoder_of
from penstock.spark.typed.pinned import Text, pinned
from penstock.spark.typed.reader import reader_of

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from penstock.spark.typed.declaration import Registry

NULL: Fault = Fault("Undecodable", "the value is null")


class Pinned(NamedTuple):
    """A declared registry with the schema that the query reads with. Travels to the workers."""

    url: str
    schema: Text

    @classmethod
    def of(cls, decode: Registry, topics: tuple[str, ...]) -> Pinned:
        return cls(decode.url, pinned(decode, topics))

    @property
    def fields(self) -> StructType:
        return reader_of(self.schema).fields


class RegistryDecoder:
    def __init__(self, decode: Pinned) -> None:
        self._decoder = decoder_of(decode.url, decode.schema)

    def batch(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, list[DeadLetter]]:
        values = batch.column("value")
        columns, faults = self._decoder.decode_column(values, batch.column("headers"))
        if values.null_count:
            faults |= {place: NULL for place, is_null in enumerate(values.is_null().to_pylist()) if is_null}
        bad = sorted(faults)
        kept = [place for place in range(batch.num_rows) if place not in faults] if bad else range(batch.num_rows)
        fields = dict(zip(self._decoder.fields.names, columns, strict=True))
        if bad:
            fields = {name: column.take(pa.array(kept, pa.int32())) for name, column in fields.items()}
        records = records_of(batch.take(pa.array(bad, pa.int32())))
        letters = [DeadLetter(record, _reason(faults[place])) for place, record in zip(bad, records, strict=True)]
        return with_origin(fields, batch, kept), letters


def _reason(fault: Fault) -> GiveUp:
    return GiveUp(1, bounded(fault.kind, ERROR_CLASS_CHARS_MAX), fault.message)
