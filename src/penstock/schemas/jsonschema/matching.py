"""The most pairs that can be made of those who fit each other, each taken once."""

from __future__ import annotations

from collections.abc import Sequence


def pairs_max(fitting: Sequence[Sequence[int]], others: int) -> int:
    """`fitting` has for each one of the left side those of the right side that fit it."""
    taken: list[int | None] = [None] * others

    def place(left: int, seen: set[int]) -> bool:
        for right in fitting[left]:
            if right in seen:
                continue
            seen.add(right)
            holder = taken[right]
            # Whoever has it may be able to take another one.
            if holder is None or place(holder, seen):
                taken[right] = left
                return True
        return False

    return sum(place(left, set()) for left in range(len(fitting)))
