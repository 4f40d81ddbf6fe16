"""Reads the tables of declarations and joins each setting with its standing and its synonyms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from penstock.core.base.settings.key import REQUIRED, Dynamic, Importance, Key, Kind, Scope, Standing, Synonym
from penstock.core.base.settings.validators import read_validator
from penstock.core.base.settings.values import read_text

Standings = Mapping[str, tuple[Standing, str]]
Synonyms = Mapping[str, tuple[Synonym, ...]]

_KINDS: Final = {kind.name.lower(): kind for kind in Kind}
_IMPORTANCES: Final = {importance.value: importance for importance in Importance}
_DYNAMICS: Final = {dynamic.value: dynamic for dynamic in Dynamic}
_NO_TEXT: Final[dict[str, Any]] = {"null": None, "required": REQUIRED}


def read_tables(scope: Scope, tables: tuple[str, ...], standings: Standings, synonyms: Synonyms) -> dict[str, Key]:
    """Every declared key by name, sorted; each must have a standing, and nothing else may have one."""
    rows = sorted(row for table in tables for row in _rows(table))
    keys = {row[0]: _read_key(scope, row, doc, standings, synonyms) for *row, doc in rows}
    assert len(keys) == len(rows), "a setting is declared twice"
    assert keys.keys() == standings.keys(), f"declared or classed but not both: {keys.keys() ^ standings.keys()}"
    return keys


def _rows(table: str) -> Iterator[list[str]]:
    """The five columns and the sentence of each setting; lines that begin with `#` are headings."""
    columns: list[str] = []
    for line in table.splitlines():
        if line.startswith("    "):
            yield [*columns, line.strip()]
        elif line and line[0] != "#":
            columns = [column.strip() for column in line.split("|")]
            assert len(columns) == 5, line


def _read_key(scope: Scope, row: list[str], doc: str, standings: Standings, synonyms: Synonyms) -> Key:
    name, kind_word, default, notation, words = row
    kind, valid = _KINDS[kind_word], read_validator(notation)
    standing, why = standings.get(name, (Standing.UNKNOWN, ""))
    importance, *flags = words.split()
    fixed = Dynamic.READ_ONLY if scope is Scope.BROKER else Dynamic.CLUSTER_WIDE
    return Key(
        name=name,
        kind=kind,
        default=_NO_TEXT[default] if default in _NO_TEXT else read_text(name, kind, valid, default),
        doc=doc,
        standing=standing,
        why=why,
        valid=valid,
        scope=scope,
        dynamic=next((_DYNAMICS[flag] for flag in flags if flag in _DYNAMICS), fixed),
        importance=_IMPORTANCES[importance],
        synonyms=synonyms.get(name, ()),
        hidden="hidden" in flags,
    )
