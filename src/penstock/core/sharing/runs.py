"""Offsets in a row that share one fate, and the list of them that covers all that a share partition has in flight.

Kafka keeps batches, and maps of offsets for those that are not alike any more. Here a run is split where its offsets
part, and joined with its neighbour when nothing tells them apart: whole batches cost one run, single records no more
than they must, and there is one kind of thing to reason about.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Final

from penstock.core.sharing.states import AVAILABLE, TERMINAL, State

NOBODY: Final = ""
NEVER_MS: Final = 0


class Run:
    """Offsets `first` to `last`, both included. `change` is the write that its next state, `target`, waits for."""

    __slots__ = ("change", "deadline_ms", "delivery_count", "first", "last", "member", "state", "target")

    def __init__(self, first: int, last: int, state: State = AVAILABLE, delivery_count: int = 0) -> None:
        self.first = first
        self.last = last
        self.state = state
        self.delivery_count = delivery_count
        self.member = NOBODY
        self.deadline_ms = NEVER_MS
        self.change: object = None
        self.target = state

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __repr__(self) -> str:
        owner = f" by {self.member}" if self.member else ""
        return f"{self.first}-{self.last} {self.state.name} x{self.delivery_count}{owner}"

    @property
    def is_settled(self) -> bool:
        """Whether it is done with, or will be when what is being written is stored."""
        return (self.state if self.change is None else self.target) in TERMINAL

    def become(self, state: State, member: str = NOBODY, deadline_ms: int = NEVER_MS) -> None:
        self.state = state
        self.member = member
        self.deadline_ms = deadline_ms

    def is_like(self, other: Run) -> bool:
        """Whether nothing but their offsets tells two runs apart. What waits for a write is known to that as it is."""
        return (
            self.change is other.change is None
            and self.state is other.state
            and self.delivery_count == other.delivery_count
            and self.member == other.member
            and self.deadline_ms == other.deadline_ms
        )

    def cut_off(self, first: int) -> Run:
        """What is from `first` on leaves this run and becomes one of its own."""
        assert self.change is None, "what is being written stays as it is"
        rest = Run(first, self.last, self.state, self.delivery_count)
        rest.member, rest.deadline_ms = self.member, self.deadline_ms
        self.last = first - 1
        return rest


class Runs:
    """Runs in the order of their offsets, without a gap between them."""

    __slots__ = ("_runs",)

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        self._runs = list(runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def __bool__(self) -> bool:
        return bool(self._runs)

    @property
    def head(self) -> Run:
        return self._runs[0]

    def _at(self, offset: int) -> int:
        """The index of the run that holds an offset."""
        return bisect_right(self._runs, offset, key=_first) - 1

    def starting(self, offset: int) -> Iterator[Run]:
        """The run that holds an offset, and those behind it. The list must not change meanwhile."""
        runs = self._runs
        for index in range(max(self._at(offset), 0), len(runs)):
            if runs[index].last >= offset:
                yield runs[index]

    def within(self, first: int, last: int) -> list[Run]:
        """Runs that cover these offsets and no others: those at the edges are split."""
        self._split(first)
        self._split(last + 1)
        return self._runs[self._at(first) : self._at(last) + 1]

    def _split(self, offset: int) -> None:
        index = self._at(offset)
        if index >= 0 and self._runs[index].first < offset <= self._runs[index].last:
            self._runs.insert(index + 1, self._runs[index].cut_off(offset))

    def append(self, run: Run) -> None:
        assert not self._runs or self._runs[-1].last + 1 == run.first, "runs leave no gap"
        self._runs.append(run)

    def drop_head(self, count: int) -> None:
        del self._runs[:count]

    def join(self, first: int, last: int) -> None:
        """Make one run of those around these offsets that are alike."""
        low = max(self._at(first) - 1, 0)
        high = self._at(last) + 2
        joined: list[Run] = []
        for run in self._runs[low:high]:
            if joined and joined[-1].is_like(run):
                joined[-1].last = run.last
            else:
                joined.append(run)
        self._runs[low:high] = joined


def _first(run: Run) -> int:
    return run.first
