"""What an invariant is: it sees every event before the model does, and objects."""

from __future__ import annotations

from typing import ClassVar, NoReturn

from penstock.sim.events import Event
from penstock.sim.model import Model


class Violation(AssertionError):
    """Something happened that must never happen."""


class Invariant:
    """Judges events against the model as it was before them."""

    judges_machines: ClassVar[bool] = False
    """Whether it is told of the fates of machines in a cluster, which are no excuse to the others."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def see(self, event: Event) -> None:
        """Object to an event by raising `Violation`."""

    def demand(self, holds: bool, complaint: str) -> None:
        """Object unless something holds."""
        if not holds:
            self.object(complaint)

    def object(self, complaint: str) -> NoReturn:
        """Called directly where much is looked at: a complaint for each record would cost more than the look."""
        raise Violation(f"{type(self).__name__}: {complaint}")
