"""What stands in square brackets: some characters, or all but some."""

from __future__ import annotations

from penstock.core.base.patterns.characters import NAMED, Characters, Range
from penstock.core.base.patterns.escapes import escaped
from penstock.core.base.patterns.text import Text
from penstock.core.base.patterns.tree import InvalidPattern

_ENDLESS = "a [ without its ]"


def read(text: Text, ignores_case: bool) -> Characters:
    """Up to the closing bracket; the opening one is read already."""
    is_negated = text.skip("^")
    ranges: list[Range] = []
    parts: list[Characters] = []
    is_first = True
    while is_first or not text.skip("]"):
        is_first = False
        found = _named(text) or _one(text)
        if isinstance(found, Characters):
            parts.append(found)
        else:
            ranges.append(_range(text, found))
    return Characters(tuple(ranges), (), tuple(parts), is_negated, ignores_case)


def _one(text: Text) -> str | Characters:
    letter = text.take(_ENDLESS)
    return escaped(text) if letter == "\\" else letter


def _named(text: Text) -> Characters | None:
    """As in [[:alpha:]]."""
    if not text.skip("[:"):
        return None
    name = text.until(":]", _ENDLESS)
    plain = name.removeprefix("^")
    if plain not in NAMED:
        raise InvalidPattern(f"[:{name}:] names no characters")
    return Characters(NAMED[plain], is_negated=plain != name)


def _range(text: Text, first: str) -> Range:
    mark = text.mark()
    if not text.skip("-"):
        return ord(first), ord(first)
    if text.next == "]":
        # It stands for itself.
        text.back(mark)
        return ord(first), ord(first)
    last = _one(text)
    if isinstance(last, Characters) or ord(last) < ord(first):
        raise InvalidPattern(f"{first}-{'' if isinstance(last, Characters) else last} is no range of characters")
    return ord(first), ord(last)
