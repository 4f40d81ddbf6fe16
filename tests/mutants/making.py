"""Mutants of a source file: each a place, what stands there, and what would stand there instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from random import Random
from typing import Final

PACKAGES: Final = ("raft", "partition", "log")
TURNED: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
SAID: Final = frozenset({"log", "say", "warn", "note", "debug", "info", "error", "describe"})
"""Calls of these names tell people something; nobody tests the words."""
SHOWN: Final = frozenset({"__repr__", "__str__", "describe"})


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mistake."""

    path: str
    line: int
    kind: str
    start: int
    end: int
    text: str

    @property
    def package(self) -> str:
        return Path(self.path).parent.name

    def applied(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.end :]

    def diff(self, source: str) -> str:
        lines = unified_diff(
            source.splitlines(), self.applied(source).splitlines(), self.path, self.path, lineterm="", n=1
        )
        return "\n".join(lines)


def draw(root: Path, seed: int, count: int) -> list[Mutant]:
    """Mutants, of each package as many; the same ones for the same seed and tree."""
    random, found = Random(f"mutants-{seed}"), list[Mutant]()
    for number, package in enumerate(PACKAGES):
        share = count // len(PACKAGES) + (number < count % len(PACKAGES))
        files = sorted((root / "src/penstock/core" / package).glob("*.py"))
        options = [mutant for file in files for mutant in mutants_of(file.read_text(), str(file.relative_to(root)))]
        found += random.sample(options, min(share, len(options)))
    return found


def mutants_of(source: str, path: str) -> list[Mutant]:
    """All of them, in the order of the text."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    maker = _Maker(source, path, starts)
    found = list(maker.visit(ast.parse(source)))
    return sorted(set(found), key=lambda mutant: (mutant.start, mutant.kind))


class _Maker:
    """Walks through a tree and offers mistakes, but not in what is only said, declared or asserted."""

    def __init__(self, source: str, path: str, starts: list[int]) -> None:
        self._source = source
        self._path = path
        self._starts = starts

    def visit(self, node: ast.AST) -> Iterator[Mutant]:
        if isinstance(node, ast.Assert | ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr):
            return
        if isinstance(node, ast.FunctionDef) and node.name in SHOWN:
            return
        if isinstance(node, ast.Expr) and _is_said(node.value):
            return
        yield from self._of(node)
        for child in _children(node):
            yield from self.visit(child)

    def _of(self, node: ast.AST) -> Iterator[Mutant]:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in TURNED:
                yield self._between(left, right, "comparison turned", f" {TURNED[type(op)]} ")
            case ast.BoolOp(op=op, values=[first, second]):
                other = "or" if isinstance(op, ast.And) else "and"
                yield self._between(first, second, "and for or", f" {other} ")
            case ast.BinOp(op=ast.Add() | ast.Sub(), right=ast.Constant(value=int() as value) as number):
                yield self._instead(number, "off by one", str(value + 1))
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                if ast.unparse(test) != "TYPE_CHECKING":
                    yield self._instead(test, "condition negated", f"not ({self._text(test)})")
            case ast.Expr(value=ast.Call()) | ast.AugAssign():
                yield self._instead(node, "statement dropped", "pass")
            case ast.Return(value=ast.Constant(value=bool() as value) as answer):
                yield self._instead(answer, "answer turned", str(not value))

    def _between(self, left: ast.expr, right: ast.expr, kind: str, text: str) -> Mutant:
        """Only the operator changes; what stands in brackets around either side stays."""
        start, end = self._end(left), self._start(right)
        around = self._source[start:end]
        closing = around[: len(around) - len(around.lstrip(" )\n"))].rstrip(" ")
        opening = around[len(around.rstrip(" (\n")) :].lstrip(" ")
        return Mutant(self._path, left.lineno, kind, start, end, closing + text + opening)

    def _instead(self, node: ast.stmt | ast.expr, kind: str, text: str) -> Mutant:
        return Mutant(self._path, node.lineno, kind, self._start(node), self._end(node), text)

    def _text(self, node: ast.expr) -> str:
        return self._source[self._start(node) : self._end(node)]

    def _start(self, node: ast.stmt | ast.expr) -> int:
        return self._at(node.lineno, node.col_offset)

    def _end(self, node: ast.stmt | ast.expr) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._at(node.end_lineno, node.end_col_offset)

    def _at(self, line: int, column_bytes: int) -> int:
        """Columns are counted in bytes, places in characters."""
        begin = self._starts[line - 1]
        text = self._source[begin : self._starts[line]]
        return begin + len(text.encode()[:column_bytes].decode())


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """What is inside, without annotations, decorators and defaults."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "args") and not isinstance(node, ast.Call):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child


def _is_said(value: ast.expr) -> bool:
    if not isinstance(value, ast.Call):
        return False
    function = value.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in SAID
