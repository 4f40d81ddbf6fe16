"""Internal topics of streams applications: each is asked for once at a time, and why that failed is kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.core.node.membership.internal_topics import create_like
from penstock.core.node.membership.ports import Asking
from penstock.core.wire.api.create_topics import CreatableTopic

REMEMBERED_MAX: Final = 1_000
"""Failures of that many topics; then the oldest is forgotten."""


class StreamsTopics:
    """Those that this node has asked for."""

    def __init__(self, node: Asking) -> None:
        self._node = node
        self._asked: set[str] = set()
        self._failures: dict[str, tuple[str, int]] = {}
        """Why a topic could not be created, and when."""

    def create(self, topics: Iterable[CreatableTopic]) -> None:
        wanted = [each for each in topics if each.name not in self._asked]
        if not wanted:
            return
        names = [each.name for each in wanted]
        self._asked.update(names)

        def done(failures: dict[str, str] | None) -> None:
            self._asked.difference_update(names)
            for name in names:
                self._failures.pop(name, None)
                why = "the controller did not answer" if failures is None else failures.get(name)
                if why is not None:
                    self._failures[name] = (why, self._node.now_ms)
            while len(self._failures) > REMEMBERED_MAX:
                del self._failures[next(iter(self._failures))]

        create_like(self._node, wanted, done)

    def failures(self, names: Iterable[str], age_ms_max: int) -> dict[str, str]:
        """Why some of these could not be created, where that was not long ago."""
        since_ms = self._node.now_ms - age_ms_max
        known = {name: self._failures[name] for name in names if name in self._failures}
        return {name: why for name, (why, at_ms) in known.items() if at_ms >= since_ms}
