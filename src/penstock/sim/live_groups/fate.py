"""What becomes of a process of a live group between two of its steps: it sleeps, hangs, leaves or dies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.sim.chance import Chance
from penstock.sim.clients.troubles import Crashed
from penstock.sim.live_groups.plan import LiveGroupPlan
from penstock.sim.scheduler import MS, SECOND
from penstock.sim.script import Script, Sleep

THINK_US: Final = (100 * MS, 600 * MS)
FORGETS: Final = 0.3
HANG_US: Final = (3 * SECOND, 15 * SECOND)
"""Some are heard again before others have taken them for dead, and some after that."""


class Left(Exception):
    """The process stops in good order."""


class Fate:
    """One process'."""

    def __init__(
        self, chance: Chance, plan: LiveGroupPlan, is_quiet: Callable[[], bool], is_over: Callable[[], bool]
    ) -> None:
        self._chance = chance
        self._plan = plan
        self._is_quiet = is_quiet
        self._is_over = is_over

    def forgets(self) -> bool:
        """Whether it goes on without asking first whether it is a member."""
        return self._chance.happens(FORGETS)

    def step(self) -> Script[None]:
        """Once it is quiet, nothing happens to anybody until all is over."""
        if self._is_over():
            raise Left
        yield Sleep(self._chance.between(*THINK_US))
        if self._is_quiet():
            return
        if self._chance.happens(self._plan.ends):
            raise self._chance.pick((Left, Crashed))
        if self._chance.happens(self._plan.hangs):
            yield Sleep(self._chance.between(*HANG_US))
