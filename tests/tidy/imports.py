"""Every import of a module, wherever in it the statement stands."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from tests.tidy.statements import statements


@dataclass(frozen=True, slots=True)
class Import:
    """`import a.b` has no name; `from a.b import c` has the name `c`."""

    module: str
    name: str | None
    line: int


@cache
def imports_of(source: str) -> tuple[Import, ...]:
    """Remembered, because several rules ask for the imports of the same modules."""
    return tuple(found for node in statements(ast.parse(source)) for found in _imports_in(node))


def _imports_in(node: ast.AST) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(alias.name, None, node.lineno)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield Import(node.module or "", alias.name, node.lineno)
