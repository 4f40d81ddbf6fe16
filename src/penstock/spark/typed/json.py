"""JSON values as rows: valid by the reader's schema, and of the types that it gives its properties."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
from pyspark.sql import types as t

from penstock.schemas.jsonschema.documents import Documents
from penstock.schemas.jsonschema.schema import parse_json
from penstock.schemas.model import Format, SchemaError
from penstock.schemas.payloads.json import json_check
from penstock.spark.pipelines.decoding import json_object
from penstock.spark.pipelines.shapes import row_shape
from penstock.spark.typed.pinned import Text
from penstock.spark.typed.reader import DEPTH_MAX, PARTS_MAX, Kind, Read, Unfit, array_kind, map_kind, record_kind

_TEXT: Final = Kind(t.StringType(), pa.string())
_SCALARS: Final = {
    "string": _TEXT,
    "integer": Kind(t.LongType(), pa.int64()),
    "number": Kind(t.DoubleType(), pa.float64()),
    "boolean": Kind(t.BooleanType(), pa.bool_()),
    "null": _TEXT._replace(nullable=True),
}
_TIMES: Final = {
    "date-time": Kind(t.TimestampType(), pa.timestamp("us", "UTC")),
    "date": Kind(t.DateType(), pa.date32()),
}
_CHOICES: Final = ("oneOf", "anyOf")


class JsonReader:
    """Whoever wrote a value, it must be valid by the schema that is read with: that is all that JSON Schema knows of
    evolution."""

    def __init__(self, text: Text) -> None:
        documents = parse_json(text.text, text.references).documents
        kind = _Columns(documents).kind(documents.main.root, 0)
        if not isinstance(kind.spark, t.StructType):
            raise SchemaError("a JSON schema has columns if it is one of an object with properties")
        self.fields = kind.spark
        self._shape = row_shape(self.fields)
        self.arrow = self._shape.arrow
        self._check = json_check(text.text, text.references)

    def of(self, written: Text) -> Read:
        if written.format is not Format.JSON:
            raise SchemaError(f"{written.name} is one of {written.format}, not of json")
        return self._read

    def _read(self, payload: bytes) -> dict[str, Any]:
        if misfit := self._check(payload):
            raise Unfit(f"{misfit.field or 'the value'}: {misfit.reason}")
        row: dict[str, Any] = self._shape.fit(json_object(payload), "")
        return row


class _Columns:
    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._parts = 0

    def kind(self, node: Any, depth: int) -> Kind:
        self._parts += 1
        if depth > DEPTH_MAX or self._parts > PARTS_MAX:
            raise SchemaError("the schema refers to itself, or is too deep or too large for columns")
        if not isinstance(node, dict):
            raise SchemaError("a part of the schema that may be anything has no column: say its type")
        if "$ref" in node:
            return self.kind(self._documents.resolve(node), depth + 1)
        for choice in _CHOICES:
            if choice in node:
                return self._one_of(node[choice], depth)
        kinds = _types(node)
        if len(kinds) != 1:
            others = [each for each in kinds if each != "null"]
            return self._one_of(
                [node | {"type": each} for each in others] + [{"type": "null"}] * ("null" in kinds), depth
            )
        return self._typed(kinds[0], node, depth)

    def _one_of(self, choices: list[Any], depth: int) -> Kind:
        others = [each for each in choices if not (isinstance(each, dict) and _types(each) == ["null"])]
        if len(others) != 1:
            raise SchemaError("a choice of several types has no column: read with a schema that has one, or null")
        kind = self.kind(others[0], depth + 1)
        return kind._replace(nullable=kind.nullable or len(others) < len(choices))

    def _typed(self, name: str, node: dict[str, Any], depth: int) -> Kind:
        if name == "array":
            if not isinstance(node.get("items"), dict):
                raise SchemaError("an array has a column if the schema says of what type its items are")
            return array_kind(self.kind(node["items"], depth + 1))
        if name == "object":
            return self._object(node, depth)
        if name == "string" and node.get("format") in _TIMES:
            return _TIMES[node["format"]]
        return _SCALARS[name]

    def _object(self, node: dict[str, Any], depth: int) -> Kind:
        required, more = node.get("required", []), node.get("additionalProperties")
        if properties := node.get("properties"):
            kinds = [(name, self.kind(each, depth + 1)) for name, each in properties.items()]
            return record_kind(
                [(name, kind._replace(nullable=kind.nullable or name not in required)) for name, kind in kinds]
            )
        if isinstance(more, dict):
            return map_kind(_TEXT, self.kind(more, depth + 1))
        raise SchemaError("an object has a column if the schema has its properties, or the type of all of them")


def _types(node: dict[str, Any]) -> list[str]:
    """Where none is said, those of the values that there are."""
    said = node.get("type")
    if isinstance(said, str):
        return [said]
    if isinstance(said, list):
        return list(said)
    values = node.get("enum", [node["const"]] if "const" in node else [])
    names = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    found = list(dict.fromkeys(names.get(type(each), "object") for each in values))
    return found or (["object"] if "properties" in node else [])
