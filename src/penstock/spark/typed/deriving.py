"""A schema for a frame that has none yet: Avro's or JSON Schema's, of the types of its columns."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from pyspark.sql import types as t

from penstock.schemas.model import Format, SchemaError

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_AVRO: Final[dict[type[t.DataType], Any]] = {
    t.BooleanType: "boolean",
    t.ByteType: "int",
    t.ShortType: "int",
    t.IntegerType: "int",
    t.LongType: "long",
    t.FloatType: "float",
    t.DoubleType: "double",
    t.StringType: "string",
    t.BinaryType: "bytes",
    t.DateType: {"type": "int", "logicalType": "date"},
    t.TimestampType: {"type": "long", "logicalType": "timestamp-micros"},
    t.TimestampNTZType: {"type": "long", "logicalType": "local-timestamp-micros"},
}
_JSON: Final[dict[type[t.DataType], Any]] = {
    t.BooleanType: {"type": "boolean"},
    t.ByteType: {"type": "integer"},
    t.ShortType: {"type": "integer"},
    t.IntegerType: {"type": "integer"},
    t.LongType: {"type": "integer"},
    t.FloatType: {"type": "number"},
    t.DoubleType: {"type": "number"},
    t.StringType: {"type": "string"},
    t.BinaryType: {"type": "string", "contentEncoding": "base64"},
    t.DateType: {"type": "string", "format": "date"},
    t.TimestampType: {"type": "string", "format": "date-time"},
}


def schema_for(format: Format, row: t.StructType, subject: str) -> str:
    if format is Format.PROTOBUF:
        raise SchemaError("numbers of Protobuf's fields cannot be made up: give a `schema`")
    name = re.sub(r"[^A-Za-z0-9_]", "_", subject.removesuffix("-value")).lstrip("0123456789") or "Row"
    return json.dumps(_avro(row, name) if format is Format.AVRO else _json(row))


def _avro(kind: t.DataType, name: str) -> Any:
    """Records inside others are named by the way to them: a name stands for one type in all of a schema."""
    if isinstance(kind, t.StructType):
        return {"type": "record", "name": name, "fields": [_field(each, name) for each in kind.fields]}
    if isinstance(kind, t.ArrayType):
        return {"type": "array", "items": _optional(_avro(kind.elementType, name), kind.containsNull)}
    if isinstance(kind, t.MapType):
        _check_key(kind)
        return {"type": "map", "values": _optional(_avro(kind.valueType, name), kind.valueContainsNull)}
    if isinstance(kind, t.DecimalType):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    return _plain(_AVRO, kind)


def _field(field: t.StructField, name: str) -> dict[str, Any]:
    if not _NAME.fullmatch(field.name):
        raise SchemaError(f"{field.name!r} is no name of a field in Avro: rename the column, or give a `schema`")
    kind = _avro(field.dataType, f"{name}_{field.name}")
    if not field.nullable:
        return {"name": field.name, "type": kind}
    return {"name": field.name, "type": _optional(kind, True), "default": None}


def _optional(kind: Any, nullable: bool) -> Any:
    return ["null", kind] if nullable else kind


def _json(kind: t.DataType) -> Any:
    if isinstance(kind, t.StructType):
        properties = {field.name: _or_null(_json(field.dataType), field.nullable) for field in kind.fields}
        required = [field.name for field in kind.fields if not field.nullable]
        return {"type": "object", "properties": properties} | ({"required": required} if required else {})
    if isinstance(kind, t.ArrayType):
        return {"type": "array", "items": _or_null(_json(kind.elementType), kind.containsNull)}
    if isinstance(kind, t.MapType):
        _check_key(kind)
        return {"type": "object", "additionalProperties": _or_null(_json(kind.valueType), kind.valueContainsNull)}
    return _plain(_JSON, kind)


def _or_null(kind: Any, nullable: bool) -> Any:
    return {"oneOf": [{"type": "null"}, kind]} if nullable else kind


def _plain(kinds: dict[type[t.DataType], Any], kind: t.DataType) -> Any:
    if type(kind) not in kinds:
        raise SchemaError(f"no schema is made for columns of {kind.simpleString()}: cast them, or give a `schema`")
    return kinds[type(kind)]


def _check_key(kind: t.MapType) -> None:
    if not isinstance(kind.keyType, t.StringType):
        raise SchemaError(f"keys of a map are text, not {kind.keyType.simpleString()}")
