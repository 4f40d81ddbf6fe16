"""Java's .properties syntax; the comparison with Java itself is in test_against_kafka."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.base.settings import SettingError, parse_properties


def test_comments_separators_and_blank_lines() -> None:
    text = "# a comment\n! another\n\n  one = 1 \ntwo:2\nthree 3\n\tfour\t=\t4\nfive\nsix=\n"
    expected = {"one": "1 ", "two": "2", "three": "3", "four": "4", "five": "", "six": ""}
    assert parse_properties(text) == expected


def test_a_line_goes_on_after_an_odd_backslash() -> None:
    assert parse_properties("a=1,\\\n   2,\\\r\n\t3\nb=x\\\\\nc=y") == {"a": "1,2,3", "b": "x\\", "c": "y"}


def test_a_comment_never_goes_on() -> None:
    assert parse_properties("# not this \\\na=1") == {"a": "1"}


def test_escapes() -> None:
    assert parse_properties("k\\ e\\:y\\==\\u00e9\\t\\\\\\q") == {"k e:y=": "é\t\\q"}


def test_the_last_of_two_values_counts() -> None:
    assert parse_properties("a=1\na=2") == {"a": "2"}


def test_a_broken_unicode_escape_is_an_error() -> None:
    with pytest.raises(SettingError, match="Malformed"):
        parse_properties("a=\\u12g4")


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(character):04x}" for character in text)


NAMES = st.text(st.characters(max_codepoint=0xD7FF), min_size=1)


@given(st.dictionaries(NAMES, NAMES))
def test_whatever_is_escaped_comes_back(content: dict[str, str]) -> None:
    text = "\n".join(f"{escaped(name)}={escaped(value)}" for name, value in content.items())
    assert parse_properties(text) == content


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse_properties(text)
    except SettingError:
        assert "\\u" in text
