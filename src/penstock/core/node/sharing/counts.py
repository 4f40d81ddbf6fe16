"""What a node counts of share groups, since it started, in records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from penstock.core.sharing.asked import Acknowledgement

KINDS: Final = ("gap", "accept", "release", "reject", "renew")


class ShareCounts:
    """Deliveries, and what became of them."""

    __slots__ = ("_by_type", "acquired", "buried", "expired")

    def __init__(self) -> None:
        self.acquired = 0
        self.expired = 0
        """Their locks ran out."""
        self.buried = 0
        """They were given up, and are dead letters."""
        self._by_type: Counter[int] = Counter()

    def acknowledged(self, said: Iterable[Acknowledgement]) -> None:
        for first, last, types in said:
            if len(types) == 1:
                self._by_type[types[0]] += last - first + 1
            else:
                self._by_type.update(types)

    def by_kind(self) -> dict[str, int]:
        return {kind: self._by_type[number] for number, kind in enumerate(KINDS)}
