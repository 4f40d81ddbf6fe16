"""What stands for one character in a pattern: sets of them, by range, by Unicode category, or by what they are not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from unicodedata import category

from penstock.core.base.values import frozen

Range = tuple[int, int]
LAST: Final = 0x10FFFF


@frozen
class Characters:
    """A set of characters."""

    ranges: tuple[Range, ...] = ()
    categories: tuple[str, ...] = ()
    """What their categories begin with, as `L` or `Lu`."""
    parts: tuple[Characters, ...] = ()
    is_negated: bool = False
    ignores_case: bool = False

    @property
    def size(self) -> int:
        """How much has to be looked at for a character."""
        return len(self.ranges) + len(self.categories) + len(self.parts)

    def holds(self, character: str) -> bool:
        if not self.ignores_case:
            return self._holds(character)
        return self._any({character, character.lower(), character.upper()}) != self.is_negated

    def _holds(self, character: str) -> bool:
        return self._any({character}) != self.is_negated

    def _any(self, forms: set[str]) -> bool:
        """Whether one of a character's forms is in the set, before that is turned round."""
        return any(
            any(first <= ord(form) <= last for first, last in self.ranges)
            or any(category(form).startswith(each) for each in self.categories)
            or any(part.holds(form) for part in self.parts)
            for form in forms
            if len(form) == 1
        )


def _of(text: str) -> tuple[Range, ...]:
    return tuple((ord(first), ord(last)) for first, last in zip(text[::2], text[1::2], strict=True))


ANY: Final = Characters(((0, LAST),))
ANY_BUT_NEWLINE: Final = Characters(((0, 9), (11, LAST)))
NEWLINE: Final = "\n"
WORD: Final = Characters(_of("09AZaz__"))

CLASSES: Final[Mapping[str, Characters]] = {
    "d": Characters(_of("09")),
    "s": Characters(_of("\t\n\f\r  ")),
    "w": WORD,
}
"""Behind a backslash; the capital letter is what they are not. They know ASCII only."""

NAMED: Final[Mapping[str, tuple[Range, ...]]] = {
    "alnum": _of("09AZaz"),
    "alpha": _of("AZaz"),
    "ascii": _of("\x00\x7f"),
    "blank": _of("\t\t  "),
    "cntrl": _of("\x00\x1f\x7f\x7f"),
    "digit": _of("09"),
    "graph": _of("!~"),
    "lower": _of("az"),
    "print": _of(" ~"),
    "punct": _of("!/:@[`{~"),
    "space": _of("\t\r  "),
    "upper": _of("AZ"),
    "word": _of("09AZaz__"),
    "xdigit": _of("09AFaf"),
}
"""As in [[:alpha:]]."""

_KINDS: Final = {"C": "cfos", "L": "lmotu", "M": "cen", "N": "dlo", "P": "cdefios", "S": "ckmo", "Z": "lps"}
CATEGORIES: Final = frozenset(_KINDS) | {first + second for first, more in _KINDS.items() for second in more}
