"""How long a function and a file may be, and how many modules a file may import, with a ratchet for the few with more.

An entry in `ratchet.toml` is a debt with a figure: it may shrink, never grow, and must go when it is paid.
"""

import ast
import tomllib
from pathlib import Path

from tests.tidy.imports import imports_of
from tests.tidy.statements import inner_statements

FUNCTION_LINES_MAX = 50
FILE_LINES_MAX = 450
IMPORTS_MAX = 32
"""Modules, of whomever. What needs more knows too much, or puts a house together."""

RATCHET = Path(__file__).resolve().parent / "ratchet.toml"


def load_ratchet() -> dict[str, dict[str, int]]:
    return tomllib.loads(RATCHET.read_text())


def function_lengths(source: str) -> dict[str, int]:
    """Lines per function, by its dotted name; a function's inner functions count for it and for themselves."""
    lengths: dict[str, int] = {}

    def walk(node: ast.AST, prefix: str) -> None:
        for child in inner_statements(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{prefix}{child.name}"
                if not isinstance(child, ast.ClassDef):
                    lengths[name] = (child.end_lineno or child.lineno) - child.lineno + 1
                walk(child, f"{name}.")
            else:
                walk(child, prefix)

    walk(ast.parse(source), "")
    return lengths


def fan_out(source: str) -> int:
    """How many modules a file imports."""
    return len({found.module for found in imports_of(source)})


def complaints_about(counted: dict[str, int], what: str, limit: int, exempt: dict[str, int]) -> list[str]:
    complaints = []
    for name, count in counted.items():
        allowed = max(limit, exempt.get(name, 0))
        if count > allowed:
            complaints.append(f"{name} has {count} {what}, {allowed} are allowed")
    for name, recorded in exempt.items():
        if name not in counted:
            complaints.append(f"{name} is in the ratchet but not in the tree; remove the entry")
        elif counted[name] <= limit:
            complaints.append(f"{name} needs its exemption of {recorded} {what} no longer; remove the entry")
    return complaints
