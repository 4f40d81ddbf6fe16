"""The longest files begin first, and the list of them is about files that are there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.runs.files import HEAVY_OUTPUT, LONG_FILES, OUTPUT, SLOWEST, Files, read_long_files, write_long_files


def test_the_list_is_read_as_it_is_written() -> None:
    seconds = {"tests/a.py": 30.0, "tests/b.py": 4.0, "tests/c.py": 0.5}
    assert read_long_files(write_long_files(seconds)) == {"tests/a.py": 30.0, "tests/b.py": 4.0}


def test_every_long_file_is_there() -> None:
    assert [path for path in read_long_files(LONG_FILES.read_text()) if not (ROOT / path).is_file()] == []


def test_the_longest_come_first_and_the_others_stay_in_their_order() -> None:
    longest, second = list(read_long_files(LONG_FILES.read_text()))[:2]
    items: Any = [SimpleNamespace(nodeid=f"{path}::test") for path in ("tests/z.py", second, "tests/a.py", longest)]
    Files(config=SimpleNamespace()).pytest_collection_modifyitems(items)  # type: ignore[arg-type]
    paths = [item.nodeid.partition("::")[0] for item in items]
    assert paths == [longest, second, "tests/z.py", "tests/a.py"]


def test_the_slowest_of_all_workers_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    files = Files(config=SimpleNamespace())  # type: ignore[arg-type]
    for worker in range(2):
        took = {f"tests/{worker}{number}.py": float(number) for number in range(SLOWEST)}
        files.pytest_testnodedown(SimpleNamespace(workeroutput={OUTPUT: took}))
    files.pytest_testnodedown(SimpleNamespace())
    shown: list[str] = []
    files.pytest_terminal_summary(SimpleNamespace(section=shown.append, write_line=shown.append))  # type: ignore[arg-type]
    assert len(shown) == 1 + SLOWEST
    assert shown[1].split() in (["9.0", "s", "tests/09.py"], ["9.0", "s", "tests/19.py"])


@pytest.mark.parametrize("quick", ["1", "0"])
def test_what_is_too_much_work_for_a_quick_run_is_named_there(quick: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_QUICK", quick)
    files = Files(config=SimpleNamespace())  # type: ignore[arg-type]
    took = {f"tests/{number}.py": 1.0 for number in range(SLOWEST + 1)}
    files.pytest_testnodedown(SimpleNamespace(workeroutput={OUTPUT: took, HEAVY_OUTPUT: {"tests/1.py::test_it": 3.0}}))
    shown: list[str] = []
    files.pytest_terminal_summary(SimpleNamespace(section=shown.append, write_line=shown.append))  # type: ignore[arg-type]
    assert any("tests/1.py::test_it" in line for line in shown) is (quick == "1")
