"""A pattern that was read, as a tree; and how large it is, before anything is made of it."""

from __future__ import annotations

from enum import Enum
from typing import Final

from penstock.core.base.patterns.characters import Characters
from penstock.core.base.values import frozen

SIZE_MAX: Final = 2_000
"""Places in a pattern, repetitions written out: so much may be done for each character of a text."""
REPEATED_MAX: Final = 1_000


class InvalidPattern(ValueError):
    """What is wrong with a pattern, for whoever wrote it."""


class Where(Enum):
    """What holds between two characters, and takes none."""

    TEXT_BEGINS = "the beginning of the text"
    TEXT_ENDS = "the end of the text"
    LINE_BEGINS = "the beginning of a line"
    LINE_ENDS = "the end of a line"
    BOUNDARY = "a word begins or ends"
    NO_BOUNDARY = "no word begins or ends"


@frozen
class One:
    """One character."""

    characters: Characters
    size: int = 1


@frozen
class Between:
    where: Where
    size: int = 1


@frozen
class Sequence:
    parts: tuple[Node, ...]
    size: int


@frozen
class Choice:
    parts: tuple[Node, ...]
    size: int


@frozen
class Repeat:
    part: Node
    least: int
    most: int | None
    size: int


Node = One | Between | Sequence | Choice | Repeat
EMPTY: Final = Sequence((), 0)


def sequence(parts: list[Node]) -> Node:
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts), _bounded(sum(part.size for part in parts)))


def choice(parts: list[Node]) -> Node:
    if len(parts) == 1:
        return parts[0]
    return Choice(tuple(parts), _bounded(sum(part.size + 1 for part in parts)))


def repeat(part: Node, least: int, most: int | None) -> Node:
    if max(least, most or 0) > REPEATED_MAX or (most is not None and most < least):
        raise InvalidPattern(f"{{{least},{'' if most is None else most}}} is no number of repetitions up to 1000")
    times = least + 1 if most is None else most
    return Repeat(part, least, most, _bounded(times * (part.size + 1)))


def _bounded(size: int) -> int:
    if size > SIZE_MAX:
        raise InvalidPattern(f"with its repetitions written out it has more than {SIZE_MAX:,} places")
    return size
