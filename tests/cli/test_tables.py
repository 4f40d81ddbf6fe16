"""Tables at terminals of any width: an address, an id or a name is never cut in two."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cli.table_lines import table_lines
from penstock.testing import Broker
from tests.cli.running import Shell, at_a_terminal

LONG_NAME = "a-name-that-is-long-and-wide-because-somebody-believed-in-them"


def test_what_fits_stands_in_columns() -> None:
    rows = [["orders", "3", "2,3,1"], ["a", "12", "1"]]
    assert table_lines(["topic", "count", "on"], rows, [False, True, False], 80) == [
        "topic    count   on",
        "──────────────────────",
        "orders       3   2,3,1",
        "a           12   1",
    ]


def test_what_is_too_wide_is_folded_where_it_has_gaps() -> None:
    rows = [["/srv/penstock/node-1", "copied so far, not all", "yes"]]
    assert table_lines(["data folder", "remark", "can change"], rows, [False] * 3, 34) == [
        "data folder   remark        can",
        "                            change",
        "──────────────────────────────────",
        "/srv          copied so     yes",
        "/penstock     far, not",
        "/node-1       all",
    ]


def test_what_has_no_gap_has_a_line_for_itself() -> None:
    rows = [["short", "1", "no"], ["a.very.long.name.of.a.setting", "22", "yes"]]
    assert table_lines(["setting", "value", "set"], rows, [False] * 3, 24) == [
        "setting      value   set",
        "────────────────────────",
        "short        1       no",
        "a.very.long.name.of.a.setting",
        "             22      yes",
    ]


words = st.text(alphabet="ab1:.-", min_size=1, max_size=30)


@given(
    rows=st.lists(st.lists(st.lists(words, min_size=1, max_size=3).map(" ".join), min_size=3, max_size=3), min_size=1),
    width=st.integers(1, 120),
)
def test_no_word_is_ever_cut(rows: list[list[str]], width: int) -> None:
    lines = table_lines(["one", "two", "three"], rows, [False, True, False], width)
    shown = sorted(
        word for line in lines[lines.index(next(each for each in lines if "─" in each)) + 1 :] for word in line.split()
    )
    assert shown == sorted(word for row in rows for cell in row for word in cell.split())
    longest = max(len(word) for row in rows for cell in row for word in cell.split())
    if width >= 3 * (longest + 3) + 15:
        assert max(map(len, lines)) <= width


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 60])
def test_names_addresses_and_ids_are_whole_at_a_terminal(penstock_broker: Broker, shell: Shell, columns: int) -> None:
    shell("topic", "create", LONG_NAME, "--if-not-exists", "--bootstrap", penstock_broker.bootstrap)
    there = ("--bootstrap", penstock_broker.bootstrap, "-o", "json")

    def shown(*command: str) -> list[str]:
        return at_a_terminal(*command, bootstrap=penstock_broker.bootstrap, columns=columns).split()

    assert penstock_broker.bootstrap in shown("cluster", "info")
    (topic,) = [each for each in json.loads(shell("topic", "list", *there).out) if each["topic"] == LONG_NAME]
    assert {LONG_NAME, topic["id"]} <= set(shown("topic", "list"))
    rows = json.loads(shell("config", "describe", "--broker", "1", "--all", *there).out)
    assert {each["setting"] for each in rows} <= set(shown("config", "describe", "--broker", "1", "--all"))
