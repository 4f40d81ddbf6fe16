"""What befalls a program between two of its steps: it dies, or sleeps until others take it for dead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.sim.chance import Chance
from penstock.sim.scheduler import MS, SECOND
from penstock.sim.script import Script, Sleep

PAUSES: Final = 0.006
CRASHES: Final = 0.006
STRIKES: Final = 0.006
HURRIES: Final = 0.02
PAUSE_US: Final = (500 * MS, 10 * SECOND)


class Crashed(Exception):
    """The program is gone; what it has sent may still arrive."""


class Troubles:
    """One program's."""

    def __init__(self, chance: Chance, are_over: Callable[[], bool], hurries: float = HURRIES) -> None:
        self._chance = chance
        self._are_over = are_over
        self._hurries = hurries

    def step(self) -> Script[None]:
        """Between two steps."""
        if self._are_over():
            return
        if self._chance.happens(CRASHES):
            raise Crashed
        if self._chance.happens(PAUSES):
            yield Sleep(self._chance.between(*PAUSE_US))

    def hurries(self) -> bool:
        """Whether the program gives up what it has just sent, without waiting for what becomes of it."""
        return not self._are_over() and self._chance.happens(self._hurries)

    def strikes(self) -> bool:
        """Whether the program dies right after it has sent something."""
        return not self._are_over() and self._chance.happens(STRIKES)
