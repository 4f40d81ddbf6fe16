"""The states of a transactional id, and which may follow which. The numbers and names are Kafka's."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final


class State(IntEnum):
    """As `__transaction_state` keeps them."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    """Expired: never on record, as a tombstone says it."""
    PREPARE_EPOCH_FENCE = 7
    """Kafka passes through it in memory; here a producer is fenced by the record that aborts its transaction."""


NAMES: Final[Mapping[State, str]] = {
    State.EMPTY: "Empty",
    State.ONGOING: "Ongoing",
    State.PREPARE_COMMIT: "PrepareCommit",
    State.PREPARE_ABORT: "PrepareAbort",
    State.COMPLETE_COMMIT: "CompleteCommit",
    State.COMPLETE_ABORT: "CompleteAbort",
    State.DEAD: "Dead",
    State.PREPARE_EPOCH_FENCE: "PrepareEpochFence",
}
"""As clients are told, and filter by."""
BY_NAME: Final[Mapping[str, State]] = {name: state for state, name in NAMES.items()}

AT_REST: Final = frozenset({State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT})
"""No transaction is open: a new one may begin, and the id may expire."""
PREPARED: Final = frozenset({State.PREPARE_COMMIT, State.PREPARE_ABORT})
"""It is decided how the transaction ends, and its partitions are being told."""

FOLLOWING: Final[Mapping[State, frozenset[State]]] = {
    State.EMPTY: frozenset({State.EMPTY, State.ONGOING, State.PREPARE_ABORT, State.DEAD}),
    State.ONGOING: frozenset({State.ONGOING, State.PREPARE_COMMIT, State.PREPARE_ABORT}),
    State.PREPARE_COMMIT: frozenset({State.COMPLETE_COMMIT}),
    State.PREPARE_ABORT: frozenset({State.COMPLETE_ABORT}),
    State.COMPLETE_COMMIT: frozenset({State.EMPTY, State.ONGOING, State.PREPARE_ABORT, State.DEAD}),
    State.COMPLETE_ABORT: frozenset({State.EMPTY, State.ONGOING, State.PREPARE_ABORT, State.DEAD}),
    State.DEAD: frozenset(),
    State.PREPARE_EPOCH_FENCE: frozenset(),
}
"""From at rest straight to PrepareAbort: a client of version 2 that does not know what became of its transaction."""
