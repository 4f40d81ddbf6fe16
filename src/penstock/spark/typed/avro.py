"""Avro's values as rows. fastavro reads them with the writer's schema, and resolves them to the reader's schema, unless
fields only came or went, which Arrow does by the way and twice as fast."""

from __future__ import annotations

import io
from typing import Any, Final

from pyspark.sql.types import StructType

from penstock.schemas.model import Format, SchemaError
from penstock.spark.typed.avro_schema import Parsed, short_name
from penstock.spark.typed.pinned import Text
from penstock.spark.typed.reader import Read, Unfit, record_kind

BARE: Final = "value"
"""The column of a schema that is no record."""
_PLAIN: Final = ("null", "boolean", "int", "long", "float", "double", "string")


class AvroReader:
    def __init__(self, text: Text) -> None:
        self._parsed = Parsed(text)
        kind = self._parsed.kind(self._parsed.root)
        if self._parsed.record is None:
            kind = record_kind([(BARE, kind)])
        assert isinstance(kind.spark, StructType), "a record is a row"
        self.fields = kind.spark
        self.arrow = kind.arrow

    def of(self, written: Text) -> Read:
        if written.format is not Format.AVRO:
            raise SchemaError(f"{written.name} is one of {written.format}, not of avro")
        writer = Parsed(written)
        defaults = self._defaults(writer)
        read = _read(writer.root, self._parsed.root if defaults is None else None, defaults)
        return read if self._parsed.record is not None else lambda payload: {BARE: read(payload)}

    def _defaults(self, writer: Parsed) -> dict[str, Any] | None:
        """What is to be filled in where the schemas differ only in fields that came or went; otherwise None."""
        ours, theirs = self._parsed.record, writer.record
        if ours is None or theirs is None:
            return {} if _is_same(self._parsed, self._parsed.root, writer, writer.root) else None
        if short_name(ours) != short_name(theirs):
            return None
        known = {field["name"]: field["type"] for field in theirs["fields"]}
        defaults: dict[str, Any] = {}
        for field in ours["fields"]:
            name = field["name"]
            if name not in known:
                if not self._is_plain_default(field):
                    return None
                defaults[name] = field["default"]
            elif not _is_same(self._parsed, field["type"], writer, known[name]):
                return None
        return defaults

    def _is_plain_default(self, field: dict[str, Any]) -> bool:
        """Whether it is written in the schema as a row has it, and the field is not there by another name."""
        kind = self._parsed.meant(field["type"])
        first = self._parsed.meant(kind[0]) if isinstance(kind, list) else kind
        return "default" in field and not field.get("aliases") and first in _PLAIN


def _is_same(reader: Parsed, ours: Any, writer: Parsed, theirs: Any) -> bool:
    try:
        return bool(reader.written(ours) == writer.written(theirs))
    except SchemaError:
        # What a writer has may be too deep for columns, and be left out.
        return False


def _read(writer: Any, reader: Any, defaults: dict[str, Any] | None) -> Any:
    from fastavro import schemaless_reader

    stream = io.BytesIO

    def read(payload: bytes) -> Any:
        data = stream(payload)
        row: Any = schemaless_reader(data, writer, reader)
        if data.tell() != len(payload):
            raise Unfit(f"{len(payload) - data.tell()} bytes are left behind the value")
        if defaults:
            row.update(defaults)
        return row

    return read
