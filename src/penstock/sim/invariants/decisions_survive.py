"""What an operator decided stays so: a setting, a number of partitions, a voter."""

from __future__ import annotations

from penstock.sim.events import Decided, Event, Found, Lingers, Wanted
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model


class DecisionsSurvive(Invariant):
    """Metadata counts only when a majority has synced it, so this holds through any power loss. What was asked for
    after the last decision, and never answered, may be so too."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._possible: dict[str, list[str]] = {}
        self._lingering: dict[str, set[str]] = {}

    def see(self, event: Event) -> None:
        match event:
            case Wanted(what, value):
                self._possible.setdefault(what, []).append(value)
            case Lingers(what, value):
                self._lingering.setdefault(what, set()).add(value)
            case Decided(what, value):
                self._possible[what] = [value]
            case Found(what, value):
                possible = self._possible.get(what, [value])
                is_possible = value in possible or value in self._lingering.get(what, ())
                self.demand(is_possible, f"{what} is {value}, decided was {' or '.join(possible)}")
