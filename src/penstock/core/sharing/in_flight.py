"""What a share partition has in flight, run by run, and its ends: they move as records are done with, or deleted."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.sharing.change import StateBatch
from penstock.core.sharing.runs import NOBODY, Run, Runs
from penstock.core.sharing.states import ACQUIRED, ARCHIVED, AVAILABLE, TERMINAL, State


class InFlight:
    """What is in flight; written of it is only what changes for good."""

    def __init__(self, start_offset: int, state_epoch: int, stored: Iterable[StateBatch] = ()) -> None:
        """Take over what the coordinator has. Offsets that it does not speak of were out, or not read yet. Raises
        ValueError where what is stored contradicts itself."""
        self.state_epoch = state_epoch
        self.start_offset = self.end_offset = start_offset
        self.complete_count = 0
        self._runs = Runs()
        # No record below this offset is available.
        self._available_from = start_offset
        for batch in stored:
            self._load(batch)
        self._runs.join(start_offset, self.end_offset)
        self._advance()

    def __repr__(self) -> str:
        return f"SharePartition([{self.start_offset}, {self.end_offset}), {list(self._runs)})"

    def _load(self, batch: StateBatch) -> None:
        if batch.first < self.end_offset or batch.last < batch.first:
            raise ValueError(f"offsets {batch.first} to {batch.last} are stored behind {self.end_offset}")
        if batch.first > self.end_offset:
            self._runs.append(Run(self.end_offset, batch.first - 1))
        run = Run(batch.first, batch.last, State(batch.state), batch.delivery_count)
        if run.state is ACQUIRED:
            raise ValueError(f"offsets {batch.first} to {batch.last} are stored as acquired")
        self._runs.append(run)
        self.complete_count += len(run) if run.state in TERMINAL else 0
        self.end_offset = batch.last + 1

    # Looking

    @property
    def in_flight(self) -> int:
        return self.end_offset - self.start_offset

    @property
    def runs(self) -> list[Run]:
        """For those who look, and change nothing."""
        return list(self._runs)

    def next_fetch_offset(self) -> int:
        """The first record that may be given out: one that came back, or the first that never was."""
        for run in self._runs.starting(self._available_from):
            if run.state is AVAILABLE:
                self._available_from = run.first
                return run.first
        self._available_from = self.end_offset
        return self.end_offset

    def next_deadline_ms(self) -> int | None:
        """When the next lock runs out."""
        return min(
            (run.deadline_ms for run in self._runs if run.state is ACQUIRED and run.change is None), default=None
        )

    # The ends move

    def log_starts_at(self, offset: int) -> None:
        """What is before the start of the log cannot be delivered again, and nobody need acknowledge it."""
        if offset <= self.start_offset:
            return
        gone = 0
        for run in self._runs:
            if run.first >= offset:
                break
            lost = min(run.last + 1, offset) - run.first
            self.complete_count -= lost if run.is_settled else 0
            if run.last < offset:
                run.change = None
                gone += 1
            else:
                run.first = offset
        self._runs.drop_head(gone)
        self.start_offset = offset
        self.end_offset = max(self.end_offset, offset)
        self._available_from = max(self._available_from, offset)
        self._advance()

    def _skip(self, offset: int) -> None:
        """The log has nothing between the end and this offset."""
        if self._runs:
            gap = Run(self.end_offset, offset - 1, ARCHIVED)
            self._runs.append(gap)
            self.complete_count += len(gap)
            self._runs.join(gap.first, gap.last)
            self.end_offset = offset
        else:
            self.start_offset = self.end_offset = offset

    def _pass_over(self, low: int, high: int) -> None:
        """Nobody will find a record there."""
        self._archive(low, high, NOBODY)

    def _archive(self, low: int, high: int, member: str) -> None:
        """What is there and nobody has, or this member."""
        low, high = max(low, self.start_offset), min(high, self.end_offset - 1)
        if low > high:
            return
        mine = ACQUIRED if member else AVAILABLE
        ours = [run for run in self._runs.starting(low) if run.first <= high and _is_free(run, mine, member)]
        for first, last in [(max(run.first, low), min(run.last, high)) for run in ours]:
            for run in self._runs.within(first, last):
                self._settle(run, ARCHIVED)
        self._runs.join(low, high)

    def _settle(self, run: Run, state: State) -> None:
        """A run that waits for nothing takes a state in which nobody has it."""
        run.become(state)
        if state in TERMINAL:
            self.complete_count += len(run)
        else:
            self._available_from = min(self._available_from, run.first)

    def _advance(self) -> None:
        """The start follows what is done with."""
        gone = 0
        for run in self._runs:
            if run.change is not None or run.state not in TERMINAL:
                break
            self.complete_count -= len(run)
            gone += 1
        self._runs.drop_head(gone)
        self.start_offset = self._runs.head.first if self._runs else self.end_offset


def _is_free(run: Run, state: State, member: str) -> bool:
    return run.state is state and run.change is None and run.member == member
