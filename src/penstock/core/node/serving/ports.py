"""What serving clients needs of the node around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from penstock.core.base.settings import BrokerSettings
from penstock.core.base.steps import Tasks
from penstock.core.node.host import Clock
from penstock.core.node.observing.metrics import Metrics
from penstock.core.node.serving.frame_memory import FrameMemory
from penstock.core.node.serving.gates import Gates
from penstock.core.node.serving.limits import Limits
from penstock.core.node.serving.unread_answers import UnreadAnswers, UnreadHost

if TYPE_CHECKING:
    from penstock.core.node.serving.api import Api
    from penstock.core.node.serving.connection import Connection
    from penstock.core.node.serving.slots import Slot


class Bounded(Protocol):
    """Whoever knows how much of everything there may be."""

    @property
    def limits(self) -> Limits: ...


class Gate(Clock, Bounded, Protocol):
    """Whoever lets connections in."""

    @property
    def settings(self) -> BrokerSettings: ...

    @property
    def controller_listeners(self) -> frozenset[str]: ...

    def log(self, level: str, component: str, text: str, kind: str = "") -> None: ...


class Stepping(UnreadHost, Protocol):
    """Whoever runs work in steps."""

    @property
    def tasks(self) -> Tasks: ...

    def handler_failed(self, slot: Slot, error: Exception) -> None: ...


class Shares(Protocol):
    """Who knows what batches that wait to be read may take."""

    def is_full_for(self, connection: Connection) -> bool: ...


class Postponing(Protocol):
    """Who gives connections later turns."""

    @property
    def unread(self) -> UnreadAnswers: ...

    def put_off(self, connection: Connection) -> None: ...

    def put_off_large(self, connection: Connection) -> None: ...


class Dispatching(Protocol):
    """Who runs requests."""

    def dispatch(self, connection: Connection, frames: list[memoryview], at: int) -> int: ...

    def parked(self, slot: Slot) -> None: ...


class ServingHost(Clock, Bounded, Protocol):
    """The node that a connection is to."""

    @property
    def gates(self) -> Gates: ...

    @property
    def dispatcher(self) -> Dispatching: ...

    @property
    def metrics(self) -> Metrics: ...

    @property
    def frame_memory(self) -> FrameMemory: ...

    @property
    def later_turns(self) -> Postponing: ...

    @property
    def staging(self) -> Shares: ...

    @property
    def dirty(self) -> list[Connection]:
        """Those that have output, or want to close, at the end of this turn."""
        ...

    def apis_on(self, listener: str) -> Mapping[int, Api[Any]]: ...

    def answered(self, slot: Slot) -> None: ...

    def cancelled(self, slot: Slot) -> None: ...

    def disconnected(self, connection: Connection) -> None: ...

    def log(self, level: str, component: str, text: str, kind: str = "") -> None: ...
