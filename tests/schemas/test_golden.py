"""The tables of `golden`: what is in the way of a change, in both directions, by the documented rules."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from penstock.schemas.levels import BACKWARD, FORWARD, obstacles
from penstock.schemas.model import Format
from penstock.schemas.parsing import parse

TABLES = sorted((Path(__file__).resolve().parent / "golden").glob("*.toml"))
CASES = [(Format(table.stem), case) for table in TABLES for case in tomllib.loads(table.read_text())["case"]]


@pytest.mark.parametrize(("format", "case"), CASES, ids=[f"{format}: {case['name']}" for format, case in CASES])
def test_what_is_in_the_way(format: Format, case: dict[str, Any]) -> None:
    old, new = parse(format, case["old"]), parse(format, case["new"])
    for direction in (BACKWARD, FORWARD):
        found = [f"{each.kind} {each.path}" for each in obstacles(direction, new, old)]
        assert sorted(found) == sorted(case[direction]), direction


def test_no_case_is_there_twice() -> None:
    pairs = [(format, case["old"], case["new"]) for format, case in CASES]
    assert len(set(pairs)) == len(pairs)
