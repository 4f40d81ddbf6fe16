"""Scripts: what a simulated client does, written as one straight generator.

A script yields waits (a pause, a reply) and is resumed with their results; an exception among them is thrown into
it. Scripts are to clients what `Steps` are to the node: the same reading, driven by virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Protocol, TypeVar

from penstock.sim.scheduler import Scheduler

T = TypeVar("T")
Resume = Callable[[object], None]


class Wait(Protocol):
    """Something that a script can wait for; `begin` must not resume it before it returns."""

    def begin(self, scheduler: Scheduler, resume: Resume) -> None: ...


Script = Generator[Wait, Any, T]


class Sleep:
    """Wait for time to pass."""

    __slots__ = ("_delay_us",)

    def __init__(self, delay_us: int) -> None:
        self._delay_us = delay_us

    def begin(self, scheduler: Scheduler, resume: Resume) -> None:
        """Resume with None when the time is over."""
        scheduler.after(self._delay_us, lambda: resume(None))


class Future:
    """Wait for a result that somebody else brings; it may have come already."""

    __slots__ = ("_resume", "_value", "resolved")

    def __init__(self) -> None:
        self.resolved = False
        self._value: object = None
        self._resume: Resume | None = None

    def resolve(self, value: object) -> None:
        """Bring the result; only the first one counts."""
        if self.resolved:
            return
        self.resolved, self._value = True, value
        if self._resume is not None:
            self._resume(value)

    def begin(self, scheduler: Scheduler, resume: Resume) -> None:
        """Resume with the result, in an event of its own where it is there already."""
        if self.resolved:
            scheduler.after(0, lambda: resume(self._value))
        else:
            self._resume = resume


class Actor:
    """Runs one script to its end."""

    def __init__(self, name: str, scheduler: Scheduler, script: Script[Any]) -> None:
        self.name = name
        self.finished = False
        self._scheduler = scheduler
        self._script = script
        scheduler.after(0, lambda: self._resume(None))

    def _resume(self, result: object) -> None:
        try:
            wait = self._script.throw(result) if isinstance(result, Exception) else self._script.send(result)
        except StopIteration:
            self.finished = True
            return
        wait.begin(self._scheduler, self._resume)
