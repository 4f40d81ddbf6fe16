"""What a node says to whoever runs it: facts, a line each. One that comes again within a minute is counted, and how
often it came is said once, when the minute is over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from penstock.core.base.values import mutable
from penstock.core.node.deadlines import Deadlines
from penstock.core.node.observing.levels import COMPONENTS, DEFAULT_LEVEL, ROOT, is_loud_enough

AGAIN_MS: Final = 60_000
REMEMBERED_MAX: Final = 256
"""Facts that are looked out for; beyond that the oldest are forgotten, and said anew if they come again."""


class Fact(NamedTuple):
    """What has happened, and to which part of the node."""

    level: str
    component: str
    text: str


Tell = Callable[[Fact], None]


@mutable
class _Said:
    """A fact that was said, until when it is not said again, and how often it has come since."""

    fact: Fact
    until_ms: int
    times: int = 0


class EventLog:
    """Facts of one kind are one fact, though their texts differ: a write fails in many logs of one full disk."""

    def __init__(self, deadlines: Deadlines, tell: Tell) -> None:
        self._levels = {ROOT: DEFAULT_LEVEL}
        self._deadlines = deadlines
        self._tell = tell
        self._said: dict[tuple[str, str], _Said] = {}

    def say(self, fact: Fact, kind: str) -> None:
        """Tell a fact, if the level lets it through and it was not told just now."""
        level = self._levels.get(fact.component) or self._levels[ROOT]
        if not is_loud_enough(fact.level, level):
            return
        key = (fact.component, kind or fact.text)
        said, now_ms = self._said.get(key), self._deadlines.now_ms
        if said is not None and now_ms < said.until_ms:
            self._count(key, said, fact)
            return
        self._said.pop(key, None)
        if len(self._said) >= REMEMBERED_MAX:
            self._forget_oldest()
        self._said[key] = _Said(fact, now_ms + AGAIN_MS)
        self._tell(fact)

    @property
    def levels(self) -> dict[str, str]:
        """Those in force, by logger."""
        root = self._levels[ROOT]
        return {ROOT: root, **{name: self._levels.get(name, root) for name in COMPONENTS}}

    def set_level(self, name: str, level: str | None) -> None:
        """Of the root, or of one part of the node, which without a level of its own goes by the root's."""
        if level is not None:
            self._levels[name] = level
        elif name == ROOT:
            self._levels[ROOT] = DEFAULT_LEVEL
        else:
            self._levels.pop(name, None)

    def flush(self) -> None:
        """The node ends: what was counted is said now."""
        for said in self._said.values():
            self._sum_up(said)
        self._said.clear()

    def _count(self, key: tuple[str, str], said: _Said, fact: Fact) -> None:
        said.times += 1
        said.fact = fact
        if said.times == 1:
            self._deadlines.at(said.until_ms, lambda: self._is_over(key, said))

    def _is_over(self, key: tuple[str, str], said: _Said) -> None:
        """The minute is over. If the fact goes on coming, it goes on being counted."""
        if self._said.get(key) is said and said.times:
            self._sum_up(said)
            said.times, said.until_ms = 0, self._deadlines.now_ms + AGAIN_MS

    def _forget_oldest(self) -> None:
        self._sum_up(self._said.pop(next(iter(self._said))))

    def _sum_up(self, said: _Said) -> None:
        if said.times:
            more = "once more" if said.times == 1 else f"{said.times} more times"
            self._tell(said.fact._replace(text=f"{said.fact.text} (said {more})"))
