"""Which topics a pattern describes: found out over several turns, as there may be very many topics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from penstock.core.base.patterns.pattern import Pattern

TOPICS_PER_TURN_MAX: Final = 200
PAUSES_PER_TURN_MAX: Final = 2


class Resolving:
    """One pattern and the topics there were when it began."""

    __slots__ = ("_work", "pattern", "topics")

    def __init__(self, pattern: str, names: Sequence[str]) -> None:
        self.pattern = pattern
        self.topics: frozenset[str] = frozenset()
        """Known when it is done."""
        self._work = self._look(Pattern(pattern), names)

    def go_on(self) -> bool:
        """Some milliseconds of work; gives whether it is done."""
        return next(self._work, True)

    def _look(self, pattern: Pattern, names: Sequence[str]) -> Iterator[bool]:
        found: set[str] = set()
        pauses = 0
        for count, name in enumerate(names, 1):
            matching = pattern.matches(name)
            while True:
                try:
                    next(matching)
                except StopIteration as end:
                    if end.value:
                        found.add(name)
                    break
                pauses += 1
                if pauses % PAUSES_PER_TURN_MAX == 0:
                    yield False
            if count % TOPICS_PER_TURN_MAX == 0:
                yield False
        self.topics = frozenset(found)
