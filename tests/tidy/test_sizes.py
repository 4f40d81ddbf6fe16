"""Length is where code goes wrong first, so it is held by a figure; so is what one file has to know of others."""

from tests.tidy.sizes import (
    FILE_LINES_MAX,
    FUNCTION_LINES_MAX,
    IMPORTS_MAX,
    complaints_about,
    fan_out,
    function_lengths,
    load_ratchet,
)
from tests.tidy.tree import name_of, python_files, report


def test_no_function_is_too_long() -> None:
    lengths = {
        f"{name_of(path)}::{name}": lines
        for path in python_files()
        for name, lines in function_lengths(path.read_text()).items()
    }
    complaints = complaints_about(lengths, "lines", FUNCTION_LINES_MAX, load_ratchet()["functions"])
    assert not complaints, report(complaints)


def test_no_file_is_too_long() -> None:
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in python_files()}
    complaints = complaints_about(lengths, "lines", FILE_LINES_MAX, load_ratchet()["files"])
    assert not complaints, report(complaints)


def test_no_file_imports_too_much() -> None:
    imported = {name_of(path): fan_out(path.read_text()) for path in python_files()}
    complaints = complaints_about(imported, "imports", IMPORTS_MAX, load_ratchet()["imports"])
    assert not complaints, report(complaints)


def test_lengths_count_from_the_first_line_to_the_last() -> None:
    source = "class A:\n    def f(self):\n        x = 1\n\n        return x\n\n\ndef g(): ...\n"
    assert function_lengths(source) == {"A.f": 4, "g": 1}


def test_a_module_counts_once_wherever_it_is_imported() -> None:
    source = "import a\nfrom b import c, d\nif x:\n    from b import e\n\n\ndef f():\n    import g\n"
    assert fan_out(source) == 3


def test_the_ratchet_neither_grows_nor_outlives_its_need() -> None:
    assert complaints_about({"f": 80}, "lines", 70, {"f": 80}) == []
    assert complaints_about({"f": 81}, "lines", 70, {"f": 80}) == ["f has 81 lines, 80 are allowed"]
    assert complaints_about({"f": 70}, "lines", 70, {"f": 80}) == [
        "f needs its exemption of 80 lines no longer; remove the entry"
    ]
    assert complaints_about({}, "lines", 70, {"f": 80}) == ["f is in the ratchet but not in the tree; remove the entry"]
