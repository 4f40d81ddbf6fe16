"""From the text of a pattern to its tree: alternatives, what they are made of, repetitions, groups and flags."""

from __future__ import annotations

import string
from typing import Final

from penstock.core.base.patterns import sets
from penstock.core.base.patterns.characters import ANY, ANY_BUT_NEWLINE, Characters
from penstock.core.base.patterns.escapes import escaped
from penstock.core.base.patterns.text import Text
from penstock.core.base.patterns.tree import (
    EMPTY,
    Between,
    InvalidPattern,
    Node,
    One,
    Where,
    choice,
    repeat,
    sequence,
)

DEPTH_MAX: Final = 100
_PLACES: Final = {
    "A": Where.TEXT_BEGINS,
    "z": Where.TEXT_ENDS,
    "b": Where.BOUNDARY,
    "B": Where.NO_BOUNDARY,
}
_FLAGS: Final = frozenset("imsU")
_ALREADY: Final = "*+?"


def read(text: str) -> Node:
    """The tree of a pattern; InvalidPattern says what is wrong with it."""
    reader = _Reader(Text(text))
    tree = reader.alternatives()
    if reader.text.next:
        raise InvalidPattern("a ) without its (")
    return tree


class _Reader:
    def __init__(self, text: Text) -> None:
        self.text = text
        self._flags: frozenset[str] = frozenset()
        self._depth = 0

    def alternatives(self) -> Node:
        """Up to the end of the group."""
        parts = [self._one_after_another()]
        while self.text.skip("|"):
            parts.append(self._one_after_another())
        return choice(parts)

    def _one_after_another(self) -> Node:
        parts: list[Node] = []
        while self.text.next and self.text.next not in "|)":
            if self.text.skip("\\Q"):
                parts += self._quoted()
                continue
            part = self._part()
            if part is not None:
                parts.append(self._repeated(part))
        return sequence(parts)

    def _quoted(self) -> list[Node]:
        """Literally, up to \\E or the end; a repetition is of the last character."""
        parts: list[Node] = []
        while self.text.next and not self.text.skip("\\E"):
            parts.append(self._literal(self.text.take("")))
        if parts:
            parts[-1] = self._repeated(parts[-1])
        return parts

    def _part(self) -> Node | None:
        """The next thing that can be repeated; None where flags were set, and nothing else was said."""
        text = self.text
        letter = text.take("")
        if letter == "(":
            return self._group()
        if letter == "[":
            return One(sets.read(text, "i" in self._flags))
        if letter == ".":
            return One(ANY if "s" in self._flags else ANY_BUT_NEWLINE)
        if letter == "^":
            return Between(Where.LINE_BEGINS if "m" in self._flags else Where.TEXT_BEGINS)
        if letter == "$":
            return Between(Where.LINE_ENDS if "m" in self._flags else Where.TEXT_ENDS)
        if letter in _ALREADY:
            raise InvalidPattern(f"{letter} repeats nothing")
        return self._escape() if letter == "\\" else self._literal(letter)

    def _escape(self) -> Node:
        if self.text.next in _PLACES:
            return Between(_PLACES[self.text.take("")])
        found = escaped(self.text)
        return self._literal(found) if isinstance(found, str) else One(found)

    def _literal(self, letter: str) -> Node:
        return One(Characters(((ord(letter), ord(letter)),), ignores_case="i" in self._flags))

    def _group(self) -> Node | None:
        before = self._flags
        if self.text.skip("?") and not self._named() and self._flags_end():
            return None
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise InvalidPattern(f"groups are {DEPTH_MAX} deep at most")
        tree = self.alternatives()
        if not self.text.skip(")"):
            raise InvalidPattern("a ( without its )")
        self._depth -= 1
        self._flags = before
        return tree

    def _named(self) -> bool:
        """Whether this begins a group with a name, which nobody will ask for."""
        if not (self.text.skip("P<") or self.text.skip("<")):
            return False
        name = self.text.until(">", "a group's name has no end")
        if not name or not set(name) <= set(string.ascii_letters + string.digits + "_"):
            raise InvalidPattern(f"{name!r} is no name of a group")
        return True

    def _flags_end(self) -> bool:
        """Read flags up to `)`, which sets them for the rest of the group around, or up to `:`, which begins one."""
        given, is_on = set(self._flags), True
        while True:
            letter = self.text.take("flags without their )")
            if letter == "-" and is_on:
                is_on = False
            elif letter in _FLAGS:
                given = given | {letter} if is_on else given - {letter}
            elif letter in ":)":
                self._flags = frozenset(given)
                return letter == ")"
            else:
                raise InvalidPattern(f"(?{letter} has no meaning")

    def _repeated(self, part: Node) -> Node:
        times = self._times()
        if times is None:
            return part
        # Whether as much or as little as possible is taken does not matter where all of a text has to match.
        self.text.skip("?")
        if self._times() is not None:
            raise InvalidPattern("what is repeated cannot be repeated again without a group")
        return repeat(part, *times) if part != EMPTY else part

    def _times(self) -> tuple[int, int | None] | None:
        for sign, times in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.text.skip(sign):
                return times
        mark = self.text.mark()
        found = self._counts() if self.text.skip("{") else None
        if found is None:
            self.text.back(mark)
        return found

    def _counts(self) -> tuple[int, int | None] | None:
        """As in {2,5}; what is no such thing stands for itself."""
        least = self._number()
        most: int | None = None
        if self.text.skip(","):
            most = self._number()
            is_open = most is None
        else:
            most, is_open = least, False
        if least is None or not self.text.skip("}"):
            return None
        return least, None if is_open else most

    def _number(self) -> int | None:
        digits = ""
        while self.text.next and self.text.next in string.digits:
            digits += self.text.take("")
        return int(digits[:5]) if digits else None
