"""What a share partition wants written before, or while, its state changes: the batches of WriteShareGroupState."""

from __future__ import annotations

from typing import NamedTuple

from penstock.core.sharing.runs import Run
from penstock.core.sharing.states import State


class StateBatch(NamedTuple):
    """Offsets, both included, with their state and how often they were delivered."""

    first: int
    last: int
    state: State
    delivery_count: int


class GivenUp(NamedTuple):
    """Offsets, both included, of records that become dead letters: rejected, or delivered as often as they may be."""

    first: int
    last: int
    delivery_count: int
    is_rejected: bool


class Change:
    """One write. Where runs wait for it they keep their state until it is known to be stored. What is given up has to
    be a dead letter before it is written."""

    __slots__ = ("batches", "given_up", "waiting")

    def __init__(self) -> None:
        self.batches: list[StateBatch] = []
        self.given_up: list[GivenUp] = []
        self.waiting: list[Run] = []

    def __bool__(self) -> bool:
        return bool(self.batches)

    def note(self, run: Run, state: State) -> None:
        """A state to be stored; what continues the batch before it becomes part of that."""
        before = self.batches[-1] if self.batches else None
        if before is not None and before[1:] == (run.first - 1, state, run.delivery_count):
            self.batches[-1] = before._replace(last=run.last)
        else:
            self.batches.append(StateBatch(run.first, run.last, state, run.delivery_count))

    def await_write(self, run: Run, state: State) -> None:
        """The run takes this state once it is stored, and nobody touches it until then."""
        run.change, run.target = self, state
        self.waiting.append(run)
        self.note(run, state)
