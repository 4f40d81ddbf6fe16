"""A log that comes back shorter than it was safe on its disk is named by its node: nothing is cut without a word."""

from __future__ import annotations

from penstock.sim.events import Down, Event, InSync, LogState, Noted, Partition, Up
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model


class CutsAreNamed(Invariant):
    """Compares what was synced when a process ended, and committed while it was in sync, with what the next one serves.
    Logs that are gone with their folders are another invariant's affair."""

    judges_machines = True

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._left: dict[int, dict[Partition, LogState]] = {}
        self._said: dict[int, list[str]] = {}
        self._sure: dict[tuple[int, Partition], int] = {}

    def see(self, event: Event) -> None:
        match event:
            case Down(_, logs, machine=machine):
                # A process that never served leaves what the one before it left.
                self._left[machine] = dict(logs) or self._left.get(machine, {})
                self._said[machine] = self._said.get(machine, []) if not logs else []
            case Noted(machine, _, text):
                self._said.setdefault(machine, []).append(text)
            case Up(logs, machine):
                left = self._left.pop(machine, {})
                for partition, state in logs.items():
                    before = left.get(partition)
                    # Anything else may have been cut by now because the leader does not have it.
                    safe = 0 if before is None else min(before.synced_offset, self._sure.get((machine, partition), 0))
                    if state.end_offset < safe:
                        self._judge(machine, partition, safe, state.end_offset)
            case InSync(partition, committed, ends):
                for machine in ends:
                    self._sure[machine, partition] = max(self._sure.get((machine, partition), 0), committed)

    def _judge(self, machine: int, partition: Partition, before: int, end: int) -> None:
        self.demand(
            any(f"{partition.topic}-{partition.number} " in text for text in self._said.get(machine, ())),
            f"{partition} ends at {end} on machine {machine}, {before} was synced there, and nothing was said of that",
        )
