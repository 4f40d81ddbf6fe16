"""The life of a classic group as a table: which state may follow which.

Only the names and the table live here. What makes a group move is in `rebalance`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class State(StrEnum):
    """The states, by the names that clients see."""

    EMPTY = "Empty"  # No members; only offsets, if anything.
    PREPARING_REBALANCE = "PreparingRebalance"  # Members are expected to join, and wait for each other.
    COMPLETING_REBALANCE = "CompletingRebalance"  # A generation exists; its leader's assignment is awaited.
    STABLE = "Stable"  # The log holds this generation's assignment.
    DEAD = "Dead"  # Deleted, or moved to another coordinator.


MAY_FOLLOW: Final[dict[State, frozenset[State]]] = {
    State.EMPTY: frozenset({State.PREPARING_REBALANCE, State.DEAD}),
    State.PREPARING_REBALANCE: frozenset({State.COMPLETING_REBALANCE, State.EMPTY, State.DEAD}),
    State.COMPLETING_REBALANCE: frozenset({State.STABLE, State.PREPARING_REBALANCE, State.DEAD}),
    State.STABLE: frozenset({State.PREPARING_REBALANCE, State.DEAD}),
    State.DEAD: frozenset({State.DEAD}),
}


def can_rebalance(state: State) -> bool:
    """Whether a rebalance may begin now: not while one is being prepared already."""
    return State.PREPARING_REBALANCE in MAY_FOLLOW[state]
