"""An Avro schema as fastavro reads with it, and as columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import types as t

from penstock.schemas.avro.schema import parse_avro
from penstock.schemas.model import SchemaError
from penstock.spark.typed.pinned import Text
from penstock.spark.typed.reader import DEPTH_MAX, PARTS_MAX, Kind, array_kind, map_kind, record_kind

LOGICAL: Final = "penstock.logical"
"""Where logical types are put, so that fastavro gives the numbers that are written; Arrow makes moments of them."""
_DIGITS_MAX: Final = 38
_NAMED: Final = ("record", "error", "enum", "fixed")
_FACTS: Final = (LOGICAL, "logicalType", "precision", "scale", "symbols", "size")
_PLAIN: Final[Mapping[str, Kind]] = {
    "null": Kind(t.StringType(), pa.string(), True),
    "boolean": Kind(t.BooleanType(), pa.bool_()),
    "int": Kind(t.IntegerType(), pa.int32()),
    "long": Kind(t.LongType(), pa.int64()),
    "float": Kind(t.FloatType(), pa.float32()),
    "double": Kind(t.DoubleType(), pa.float64()),
    "bytes": Kind(t.BinaryType(), pa.binary()),
    "fixed": Kind(t.BinaryType(), pa.binary()),
    "string": Kind(t.StringType(), pa.string()),
    "enum": Kind(t.StringType(), pa.string()),
}
_LOGICAL: Final[Mapping[tuple[str, str], Kind]] = {
    ("int", "date"): Kind(t.DateType(), pa.date32()),
    ("long", "timestamp-millis"): Kind(t.TimestampType(), pa.timestamp("ms", "UTC")),
    ("long", "timestamp-micros"): Kind(t.TimestampType(), pa.timestamp("us", "UTC")),
    ("long", "local-timestamp-millis"): Kind(t.TimestampNTZType(), pa.timestamp("ms")),
    ("long", "local-timestamp-micros"): Kind(t.TimestampNTZType(), pa.timestamp("us")),
}


class Parsed:
    """Checked, in the form that fastavro wants, with its names."""

    def __init__(self, text: Text) -> None:
        from fastavro import parse_schema

        parse_avro(text.text, text.references)
        self._named: dict[str, Any] = {}
        for each in text.references:
            parse_schema(_document(each.text), self._named)
        self.root: Any = parse_schema(_document(text.text), self._named)
        self._parts = 0

    @property
    def record(self) -> dict[str, Any] | None:
        """The schema, if it is one of a record."""
        node = self.meant(self.root)
        return node if isinstance(node, dict) and node["type"] in ("record", "error") else None

    def meant(self, node: Any) -> Any:
        """A name stands for what it names, and a type in braces for the type."""
        node = self._named.get(node, node) if isinstance(node, str) else node
        if isinstance(node, dict) and isinstance(node["type"], dict | list):
            return self.meant(node["type"])
        return node

    def kind(self, node: Any, depth: int = 0) -> Kind:
        self._spend(depth)
        node = self.meant(node)
        if isinstance(node, list):
            return self._union(node, depth)
        name = node if isinstance(node, str) else node["type"]
        if name in ("record", "error"):
            return record_kind([(each["name"], self.kind(each["type"], depth + 1)) for each in node["fields"]])
        if name == "array":
            return array_kind(self.kind(node["items"], depth + 1))
        if name == "map":
            return map_kind(_PLAIN["string"], self.kind(node["values"], depth + 1))
        return _scalar(name, node if isinstance(node, dict) else {})

    def _union(self, branches: list[Any], depth: int) -> Kind:
        others = [each for each in branches if self.meant(each) not in ("null", {"type": "null"})]
        kinds = [self.kind(each, depth + 1) for each in others]
        if not kinds:
            return _PLAIN["null"]
        widest = _widest(kinds)
        if widest is None:
            raise SchemaError(
                "a union of several types is no column: read with a schema of which each field has one type, or null"
            )
        return widest._replace(nullable=len(others) < len(branches) or widest.nullable)

    def written(self, node: Any, depth: int = 0) -> Any:
        """Equal for parts that are written alike and mean the same, so that nothing is to be resolved between them."""
        self._spend(depth)
        node = self.meant(node)
        if isinstance(node, list):
            return [self.written(each, depth + 1) for each in node]
        if isinstance(node, str):
            return (node,)
        kind = node["type"]
        facts = [(each, node[each]) for each in _FACTS if each in node]
        inner = [(each["name"], self.written(each["type"], depth + 1)) for each in node.get("fields", ())]
        inner += [(each, self.written(node[each], depth + 1)) for each in ("items", "values") if each in node]
        name = short_name(node) if kind in _NAMED else None
        return (kind, name, facts, inner) if name or facts or inner else (kind,)

    def _spend(self, depth: int) -> None:
        self._parts = self._parts + 1 if depth else 1
        if depth > DEPTH_MAX or self._parts > PARTS_MAX:
            raise SchemaError("the schema refers to itself, or is too deep or too large for columns")


def short_name(node: dict[str, Any]) -> str | None:
    name = node.get("name")
    return None if name is None else str(name).rpartition(".")[2]


def _scalar(name: str, node: dict[str, Any]) -> Kind:
    if node.get("logicalType") == "decimal":
        digits, scale = node["precision"], node.get("scale", 0)
        return Kind(t.DecimalType(digits, scale), pa.decimal128(digits, scale))
    return _LOGICAL.get((name, node.get(LOGICAL, "")), _PLAIN[name])


def _widest(kinds: list[Kind]) -> Kind | None:
    """One type that holds all: of int and long, of float and double, as Spark does it."""
    found = {each.spark.simpleString(): each for each in kinds}
    for wide, narrow in (("bigint", "int"), ("double", "float")):
        if wide in found:
            found.pop(narrow, None)
    return next(iter(found.values())) if len(found) == 1 else None


def _document(text: str) -> Any:
    return _numbers(json.loads(text) if text.strip()[:1] in '{["' else text.strip())


def _numbers(node: Any) -> Any:
    """A decimal's digits stand in the middle of its bytes, so that one stays; too many of them are bytes."""
    if isinstance(node, list):
        return [_numbers(each) for each in node]
    if not isinstance(node, dict):
        return node
    found = {name: each if name == "default" else _numbers(each) for name, each in node.items()}
    if "logicalType" in found and not _is_decimal(node):
        found[LOGICAL] = found.pop("logicalType")
    return found


def _is_decimal(node: dict[str, Any]) -> bool:
    digits, scale = node.get("precision"), node.get("scale", 0)
    if node["logicalType"] != "decimal":
        return False
    return isinstance(digits, int) and isinstance(scale, int) and 0 <= scale <= digits <= _DIGITS_MAX and digits > 0
