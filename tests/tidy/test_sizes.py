"""Length is where code goes wrong first, so it is held by a figure."""

from tests.tidy.sizes import FILE_LINES_MAX, FUNCTION_LINES_MAX, function_lengths, length_complaints, load_ratchet
from tests.tidy.tree import name_of, python_files, report


def test_no_function_is_too_long() -> None:
    lengths = {
        f"{name_of(path)}::{name}": lines
        for path in python_files()
        for name, lines in function_lengths(path.read_text()).items()
    }
    complaints = length_complaints(lengths, FUNCTION_LINES_MAX, load_ratchet()["functions"])
    assert not complaints, report(complaints)


def test_no_file_is_too_long() -> None:
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in python_files()}
    complaints = length_complaints(lengths, FILE_LINES_MAX, load_ratchet()["files"])
    assert not complaints, report(complaints)


def test_lengths_count_from_the_first_line_to_the_last() -> None:
    source = "class A:\n    def f(self):\n        x = 1\n\n        return x\n\n\ndef g(): ...\n"
    assert function_lengths(source) == {"A.f": 4, "g": 1}


def test_the_ratchet_neither_grows_nor_outlives_its_need() -> None:
    assert length_complaints({"f": 80}, 70, {"f": 80}) == []
    assert length_complaints({"f": 81}, 70, {"f": 80}) == ["f has 81 lines, 80 are allowed"]
    assert length_complaints({"f": 70}, 70, {"f": 80}) == [
        "f needs its exemption of 80 lines no longer; remove the entry"
    ]
    assert length_complaints({}, 70, {"f": 80}) == ["f is in the ratchet but not in the tree; remove the entry"]
