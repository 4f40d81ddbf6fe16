"""Nothing unfinished, nothing silenced without a reason, nothing that only one machine understands."""

import re
from functools import cache

import pytest

from tests.tidy import wording
from tests.tidy.tree import ROOT, name_of, python_files, report, text_files
from tests.tidy.wording import complaints_about, unreasoned_complaints

# The one place that polls, so that tests need not.
MAY_SLEEP = {"tests/waiting.py", "tests/kafka_peer/peer.py"}
# Names options of the installer, among them the one that keeps addresses out of the lock files.
MAY_NAME_INDEX_OPTIONS = {"Makefile"}


def check(names_and_texts: list[tuple[str, str]], patterns: list[re.Pattern[str]]) -> None:
    complaints = [line for name, text in names_and_texts for line in complaints_about(name, text, patterns)]
    assert not complaints, report(complaints)


def sources(*, tests_only: bool = False) -> list[tuple[str, str]]:
    below = ROOT / "tests" if tests_only else ROOT
    return [(name_of(path), path.read_text()) for path in python_files(below)]


@cache
def texts() -> list[tuple[str, str]]:
    return [(name_of(path), path.read_text()) for path in text_files()]


def test_nothing_is_left_unfinished() -> None:
    check(texts(), wording.UNFINISHED)


def test_a_silenced_check_has_a_reason_beside_it() -> None:
    typed = [(name, text) for name, text in sources() if name.startswith(("src/", "bench/"))]
    complaints = [line for name, text in typed for line in unreasoned_complaints(name, text)]
    assert not complaints, report(complaints)


def test_no_test_is_skipped_or_expected_to_fail() -> None:
    check(sources(tests_only=True), wording.SKIPPED)


def test_tests_wait_for_conditions() -> None:
    check([entry for entry in sources(tests_only=True) if entry[0] not in MAY_SLEEP], wording.SLEEPING)


def test_no_file_names_a_package_index() -> None:
    check([entry for entry in texts() if entry[0] not in MAY_NAME_INDEX_OPTIONS], wording.ADDRESSES)


def test_no_file_names_a_place_of_one_machine() -> None:
    check(texts(), wording.MACHINE_PATHS)


@pytest.mark.parametrize(
    ("patterns", "line"),
    [
        (wording.UNFINISHED, "# TO" + "DO: later"),
        (wording.UNFINISHED, "raise Not" + "Implemented" + "Error"),
        (wording.SKIPPED, "@pytest.mark.sk" + "ipif(True)"),
        (wording.SLEEPING, "time.sl" + "eep(1)"),
        (wording.SLEEPING, "await asyncio.sl" + "eep(0.1)"),
        (wording.ADDRESSES, "https://py" + "pi.org/simple"),
        (wording.MACHINE_PATHS, 'PATH = "/ho' + 'me/someone/x"'),
    ],
)
def test_a_violation_is_seen(patterns: list[re.Pattern[str]], line: str) -> None:
    assert complaints_about("x.py", line, patterns)


@pytest.mark.parametrize(
    ("patterns", "line"),
    [
        (wording.SLEEPING, "await asyncio.sleep(0)"),
        (wording.MACHINE_PATHS, "see docs/work/flow.md and https://example.com/home/x"),
    ],
)
def test_a_reasonable_line_passes(patterns: list[re.Pattern[str]], line: str) -> None:
    assert complaints_about("x.py", line, patterns) == []


def test_a_reason_stands_behind_the_mark_or_above_it() -> None:
    mark = "x = f()  # type: ig" + "nore[arg-type]"
    assert unreasoned_complaints("x.py", mark)
    assert unreasoned_complaints("x.py", f"import x\n{mark}\ny = 1\n") == [f"x.py:2: {mark}"]
    assert unreasoned_complaints("x.py", "import x  # no" + "qa: F401")
    assert unreasoned_complaints("x.py", f"{mark}  # the stub is wrong about None") == []
    assert unreasoned_complaints("x.py", f"# The stub is wrong about None.\n{mark}") == []
