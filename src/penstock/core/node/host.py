"""What every part of a node needs of it. Each package adds in its `ports.py` what it needs besides."""

from typing import Protocol

from penstock.core.base.settings import BrokerSettings
from penstock.core.base.steps import Tasks
from penstock.core.node.deadlines import Deadlines


class Clock(Protocol):
    """The node's time, and its timers."""

    @property
    def now_ms(self) -> int: ...

    @property
    def now_us(self) -> int:
        """By the clock that nobody can set."""
        ...

    @property
    def deadlines(self) -> Deadlines: ...


class Host(Clock, Protocol):
    """And its settings, its files and its log of events."""

    @property
    def settings(self) -> BrokerSettings: ...

    @property
    def tasks(self) -> Tasks: ...

    def log(self, level: str, component: str, text: str, kind: str = "") -> None: ...


class Mortal(Host, Protocol):
    """One that can fail as a whole."""

    @property
    def state(self) -> str: ...

    def fail(self, reason: str) -> None: ...
