"""The fields of JSON values as columns: their types are those that a sample has, and hold for the rest or are refused.

A number that turns into a text later would be NULL, or a rounded number, in most tools, and a sum wrong without a word.
Here the query ends with a line that names the field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from penstock.cli.querying.engine import literal, quoted

BASE: Final = ("key", "value", "partition", "offset", "timestamp", "headers")
FIELDS_MAX: Final = 1_000
"""More columns than that nobody has wanted; a map whose keys are ids looks like this."""
_INTEGERS: Final = frozenset({int})
_NUMBERS: Final = frozenset({int, float})
# What JSON's types are called by DuckDB, by the type of a column that takes them.
_TAKES: Final = {
    "BIGINT": ("BIGINT", "UBIGINT"),
    "DOUBLE": ("DOUBLE", "BIGINT", "UBIGINT"),
    "BOOLEAN": ("BOOLEAN",),
}


class Field(NamedTuple):
    name: str
    # That of its column: a name that a record has itself is taken.
    column: str
    type: str


def fields_of(values: Iterable[str]) -> list[Field]:
    """What the objects among the values have, in the order in which it was seen."""
    kinds: dict[str, set[type]] = {}
    for value in values:
        for name, content in _object(value).items():
            if name in kinds or len(kinds) < FIELDS_MAX:
                kinds.setdefault(name, set()).add(type(content))
    found: dict[str, Field] = {}
    for name, seen in kinds.items():
        column = f"value_{name}" if name.lower() in BASE else name
        found.setdefault(column.lower(), Field(name, column, _type(seen - {type(None)})))
    return list(found.values())


def _object(value: str) -> dict[str, Any]:
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _type(kinds: set[type]) -> str:
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds == {str}:
        return "VARCHAR"
    if kinds == _INTEGERS:
        return "BIGINT"
    # Objects, lists, and what is one thing here and another there.
    return "DOUBLE" if kinds and kinds <= _NUMBERS else "JSON"


def view(source: str, columns: Iterable[str], fields: Iterable[Field]) -> str:
    """A SELECT of a topic's columns and the fields of its values."""
    base = [quoted(column) for column in columns]
    typed = [f"{_expression(field)} AS {quoted(field.column)}" for field in fields]
    if not typed:
        return f"SELECT {', '.join(base)} FROM {quoted(source)}"
    parsed = f"SELECT *, CASE WHEN json_valid(value) THEN CAST(value AS JSON) END AS __json FROM {quoted(source)}"
    return f"SELECT {', '.join([*base, *typed])} FROM ({parsed})"


def _expression(field: Field) -> str:
    path = literal("/" + field.name.replace("~", "~0").replace("/", "~1"))
    if field.type in ("VARCHAR", "JSON"):
        # Any JSON has a text, and is JSON.
        return f"json_extract{'_string' if field.type == 'VARCHAR' else ''}(__json, {path})"
    kind = f"json_type(__json, {path})"
    takes = ", ".join(map(literal, _TAKES[field.type]))
    surprise = literal(f"field {field.name} is {field.type} in the sample, and somewhere it is ")
    return (
        f"CASE WHEN {kind} IS NULL OR {kind} = 'NULL' THEN NULL"
        f" WHEN {kind} IN ({takes}) THEN CAST(json_extract(__json, {path}) AS {field.type})"
        f" ELSE error({surprise} || {kind} || '; a larger --sample may see it') END"
    )
