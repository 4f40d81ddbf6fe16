"""A pattern ready to match: its places as a list, and the set of those where a text may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from penstock.core.base.patterns.characters import NEWLINE, WORD, Characters
from penstock.core.base.patterns.reading import read
from penstock.core.base.patterns.tree import Between, Choice, InvalidPattern, Node, One, Repeat, Sequence, Where
from penstock.core.base.ports import Pause, Steps

STEPS_PER_TURN_MAX: Final = 1_000
"""Places looked at, which is some milliseconds."""
LENGTH_MAX: Final = 4_000
KNOWN_PLACES_MAX: Final = 50_000
"""How much is remembered of where characters lead, so that texts that are alike cost little."""

_Forks = tuple[int, ...]
_Place = tuple[Characters | Where | None, _Forks]
"""What a place wants, and where it leads; without a wish it leads there at once."""
_END: Final = 0


class Pattern:
    """A regular expression that has to match all of a text."""

    def __init__(self, text: str) -> None:
        """Raises InvalidPattern."""
        if len(text) > LENGTH_MAX:
            raise InvalidPattern(f"it has more than {LENGTH_MAX:,} characters")
        self._places: list[_Place] = [(None, ())]
        self._begin = frozenset((self._add(read(text), _END),))
        self._known: dict[tuple[frozenset[int], int, str], frozenset[int]] = {}
        self._known_places = 0
        self._steps = 0

    def matches(self, text: str) -> Steps[bool]:
        """Character by character; what takes long, of one text or of many, takes several turns."""
        here, before = self._begin, ""
        for after in (*text, ""):
            there = self._known.get((here, _kind(before), after))
            if there is None:
                there = self._step(here, before, after)
            self._steps += 1
            if self._steps > STEPS_PER_TURN_MAX:
                self._steps = 0
                yield Pause()
            if not there:
                break
            here, before = there, after
        return _END in here and not after

    def _step(self, here: frozenset[int], before: str, after: str) -> frozenset[int]:
        """Where a character leads; at the end of the text, what is reached there."""
        reached = self._reach(here, before, after)
        there = self._beyond(reached, after) if after else frozenset(reached)
        self._steps += len(reached)
        self._known_places += len(there) + 1
        if self._known_places > KNOWN_PLACES_MAX:
            self._known.clear()
            self._known_places = len(there) + 1
        self._known[here, _kind(before), after] = there
        return there

    def _reach(self, here: frozenset[int], before: str, after: str) -> set[int]:
        """All places that can be reached without a character."""
        reached, left = set(here), list(here)
        while left:
            wish, leads_to = self._places[left.pop()]
            if isinstance(wish, Characters) or (wish is not None and not _HOLDS[wish](before, after)):
                continue
            fresh = [each for each in leads_to if each not in reached]
            reached.update(fresh)
            left += fresh
        return reached

    def _beyond(self, reached: set[int], character: str) -> frozenset[int]:
        found: set[int] = set()
        holds: dict[int, bool] = {}
        for each in reached:
            wish, leads_to = self._places[each]
            if not isinstance(wish, Characters):
                continue
            # What was repeated is the same set in each of its places.
            if id(wish) not in holds:
                holds[id(wish)] = wish.holds(character)
                self._steps += wish.size
            if holds[id(wish)]:
                found.update(leads_to)
        return frozenset(found)

    # From the end to the beginning, so that each place knows where it leads.

    def _add(self, node: Node, then: int) -> int:
        """Gives where a part of the pattern begins that goes on at `then`."""
        if isinstance(node, One):
            return self._place(node.characters, then)
        if isinstance(node, Between):
            return self._place(node.where, then)
        if isinstance(node, Sequence):
            for part in reversed(node.parts):
                then = self._add(part, then)
            return then
        if isinstance(node, Choice):
            return self._place(None, *[self._add(part, then) for part in node.parts])
        return self._add_repeat(node, then)

    def _add_repeat(self, node: Repeat, then: int) -> int:
        if node.most is None:
            loop = self._place(None)
            self._places[loop] = (None, (self._add(node.part, loop), then))
            begin = loop
        else:
            begin = then
            for _ in range(node.most - node.least):
                begin = self._place(None, self._add(node.part, begin), then)
        for _ in range(node.least):
            begin = self._add(node.part, begin)
        return begin

    def _place(self, wish: Characters | Where | None, *leads_to: int) -> int:
        self._places.append((wish, leads_to))
        return len(self._places) - 1


def _kind(character: str) -> int:
    """As much of the character before as a place may ask for."""
    if not character or character == NEWLINE:
        return len(character)
    return 2 + WORD.holds(character)


def _is_boundary(before: str, after: str) -> bool:
    return (before != "" and WORD.holds(before)) != (after != "" and WORD.holds(after))


_HOLDS: Final[Mapping[Where, Callable[[str, str], bool]]] = {
    Where.TEXT_BEGINS: lambda before, after: not before,
    Where.TEXT_ENDS: lambda before, after: not after,
    Where.LINE_BEGINS: lambda before, after: not before or before == NEWLINE,
    Where.LINE_ENDS: lambda before, after: not after or after == NEWLINE,
    Where.BOUNDARY: _is_boundary,
    Where.NO_BOUNDARY: lambda before, after: not _is_boundary(before, after),
}
