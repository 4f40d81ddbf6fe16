"""What stands behind a backslash: characters that are hard to write, and sets of them."""

from __future__ import annotations

from typing import Final

from penstock.core.base.patterns.characters import CATEGORIES, CLASSES, LAST, Characters
from penstock.core.base.patterns.text import Text
from penstock.core.base.patterns.tree import InvalidPattern

_CONTROLS: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def escaped(text: Text) -> str | Characters:
    """A character, or a set; the backslash is read already."""
    letter = text.take("the pattern ends with a backslash")
    if letter in _CONTROLS:
        return _CONTROLS[letter]
    if letter.lower() in CLASSES:
        return Characters(parts=(CLASSES[letter.lower()],), is_negated=letter.isupper())
    if letter in "pP":
        return _category(text, letter == "P")
    if letter == "x":
        return _hexadecimal(text)
    if letter in "01234567":
        return _octal(text, letter)
    if letter.isascii() and letter.isalnum():
        raise InvalidPattern(f"\\{letter} has no meaning")
    return letter


def _category(text: Text, is_negated: bool) -> Characters:
    name = text.until("}", "\\p{ without }") if text.skip("{") else text.take("\\p wants a category")
    if name.startswith("^"):
        name, is_negated = name[1:], not is_negated
    if name not in CATEGORIES and name != "Any":
        raise InvalidPattern(f"\\p{{{name}}} is no general category of Unicode")
    return Characters(categories=("" if name == "Any" else name,), is_negated=is_negated)


def _hexadecimal(text: Text) -> str:
    digits = text.until("}", "\\x{ without }") if text.skip("{") else text.some(2)
    return _character(digits, 16)


def _octal(text: Text, first: str) -> str:
    digits = first
    while len(digits) < 3 and text.next and text.next in "01234567":
        digits += text.take("")
    if first != "0" and len(digits) == 1:
        raise InvalidPattern(f"\\{first}: what was matched before cannot be asked for again")
    return _character(digits, 8)


def _character(digits: str, base: int) -> str:
    try:
        code = int(digits, base) if digits.isalnum() else -1
    except ValueError:
        code = -1
    if not 0 <= code <= LAST:
        raise InvalidPattern(f"{digits!r} is the number of no character")
    return chr(code)
