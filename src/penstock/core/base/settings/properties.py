"""Java's .properties syntax: comments, `=`, `:` or blank between key and value, escapes, continued lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from penstock.core.base.settings.key import SettingError

_BLANKS: Final = " \t\f"
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE: Final = r"(?s)\\(?:u([0-9a-fA-F]{4})|(.))"
_SEPARATOR: Final = r"(?s)((?:[^\\=: \t\f]|\\.)*)[ \t\f]*[=:]?[ \t\f]*"
_LINE_END: Final = r"\r\n|\n|\r"


def parse_properties(text: str) -> dict[str, str]:
    """Names and raw values; a name that is given twice has its last value."""
    found = {}
    for line in _logical_lines(text):
        match = re.match(_SEPARATOR, line)
        assert match is not None, "the pattern matches the empty text"
        found[_unescape(match[1])] = _unescape(line[match.end() :])
    return found


def _logical_lines(text: str) -> Iterator[str]:
    """Lines with their continuations joined; without blank lines and comments, which are never continued."""
    joined = ""
    for physical in re.split(_LINE_END, text):
        line = physical.lstrip(_BLANKS)
        if not joined and (not line or line[0] in "#!"):
            continue
        joined += line
        if _is_continued(line):
            joined = joined[:-1]
            continue
        yield joined
        joined = ""
    if joined:
        yield joined


def _is_continued(line: str) -> bool:
    """An odd number of backslashes at the end: an even number is so many escaped ones."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescape(text: str) -> str:
    return re.sub(_ESCAPE, _replacement, text) if "\\" in text else text


def _replacement(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    if match[2] == "u":
        raise SettingError("Malformed \\uxxxx encoding.")
    return _ESCAPES.get(match[2], match[2])
