"""Mutants are made where a mistake could matter, and nowhere else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutants.making import PACKAGES, draw, mutants_of

ROOT = Path(__file__).resolve().parent.parent.parent


def made(source: str) -> set[str]:
    return {mutant.applied(source) for mutant in mutants_of(source, "some/file.py")}


@pytest.mark.parametrize(
    ("source", "mutants"),
    [
        ("x = a < b", {"x = a <= b"}),
        ("x = (a) in (b)", {"x = (a) not in (b)"}),
        ("x = a and (b)", {"x = a or (b)"}),
        ("x = a + 1", {"x = a + 2"}),
        ("f(x)", {"pass"}),
        ("x += y", {"pass"}),
        ("if a:\n    b = c", {"if not (a):\n    b = c"}),
        ("def f():\n    return True", {"def f():\n    return False"}),
        ("x = 'ä' < b", {"x = 'ä' <= b"}),
    ],
)
def test_a_mistake_is_made(source: str, mutants: set[str]) -> None:
    assert made(source) == mutants


@pytest.mark.parametrize(
    "source",
    [
        "assert a < b, 'no'",
        "raise Wrong(a + 1)",
        "node.log('info', a + 1)",
        "x: Final[A | B] = c",
        "def f(a: int = b + 1) -> None: ...",
        "def __repr__(self):\n    return a + 1",
        "x = f'{a + 1}'",
    ],
)
def test_what_is_only_said_or_declared_is_left_alone(source: str) -> None:
    assert made(source) == set()


@pytest.mark.slow
def test_drawn_ones_are_programs_and_the_same_for_a_seed() -> None:
    drawn = draw(ROOT, 7, 30)
    assert drawn == draw(ROOT, 7, 30)
    assert drawn != draw(ROOT, 8, 30)
    assert {mutant.package for mutant in drawn} == set(PACKAGES)
    for mutant in drawn:
        source = (ROOT / mutant.path).read_text()
        ast.parse(mutant.applied(source))
        assert mutant.diff(source).count("\n+") == 2  # The name of the file, and the line.
