"""What a statement names, told by DuckDB's own parser: the tables, and what is wanted of them.

Nothing is read for a table or a column that the statement does not name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from penstock.cli.querying.engine import Engine
from penstock.cli.talk import Refused

# Which of them means all columns, whatever its names are.
_WHOLE: Final = frozenset({"STAR", "SHOW_REF"})


class Table(NamedTuple):
    """A table as it is written: `orders.v1` without quotes is one of a schema to DuckDB, and a topic to us."""

    schema: str
    name: str

    @property
    def topic(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema else self.name


class Statement(NamedTuple):
    text: str
    tables: list[Table]
    # In lower case, because SQL sees no difference.
    columns: frozenset[str]
    wants_all: bool

    def wants(self, column: str) -> bool:
        return self.wants_all or column in self.columns


def read_statement(engine: Engine, text: str) -> Statement:
    """One SELECT; whatever else DuckDB could do is refused before it does it."""
    engine.check(text)
    ((found,),) = engine.rows("SELECT json_serialize_sql(?)", [text])
    parsed = json.loads(found)
    if parsed["error"]:
        raise Refused(
            "a query is one SELECT, which changes nothing", "penstock query 'select count(*) from orders' is one"
        )
    if len(parsed["statements"]) != 1:
        raise Refused("a query is one statement", "ask the others by themselves")
    nodes = list(_nodes(parsed))
    tables = _tables(nodes)
    names = {str(name).lower() for node in nodes for name in _column_names(node)}
    rows = {table.name.lower() for table in tables} | {str(node.get("alias", "")).lower() for node in nodes} - {""}
    whole = any(node.get("type") in _WHOLE or node.get("ref_type") == "NATURAL" for node in nodes)
    return Statement(text, tables, frozenset(names), whole or not rows.isdisjoint(_alone(nodes)))


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _tables(nodes: list[dict[str, Any]]) -> list[Table]:
    """Without those that the statement makes itself, by WITH."""
    own = {entry["key"].lower() for node in nodes for entry in node.get("cte_map", {}).get("map", ())}
    found = []
    for node in nodes:
        if node.get("type") != "BASE_TABLE":
            continue
        catalog, schema, name = (node.get(part) or "" for part in ("catalog_name", "schema_name", "table_name"))
        if catalog:
            topic = f"{catalog}.{schema}.{name}"
            raise Refused(f"{topic} is written without quotes", f'write the topic\'s name as "{topic}"')
        if schema or name.lower() not in own:
            found.append(Table(schema, name))
    return list(dict.fromkeys(found))


def _column_names(node: dict[str, Any]) -> list[str]:
    return [*(node.get("column_names") or ()), *(node.get("using_columns") or ())]


def _alone(nodes: list[dict[str, Any]]) -> Iterator[str]:
    """Names that stand alone: that of a table means its whole rows."""
    return (node["column_names"][0].lower() for node in nodes if len(node.get("column_names") or ()) == 1)
