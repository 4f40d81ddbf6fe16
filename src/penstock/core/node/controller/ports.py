"""What a controller needs of the node around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from penstock.core.base.errors import ErrorCode
from penstock.core.base.settings import BrokerSettings
from penstock.core.base.steps import Tasks
from penstock.core.metadata.image import Image
from penstock.core.node.deadlines import Deadlines
from penstock.core.wire.schema import Response, StoredRecord

Committed = Callable[[ErrorCode], None]
Answered = Callable[[Response], None]


class Ledger(Protocol):
    """The metadata log, as the one who leads it sees it."""

    @property
    def latest(self) -> Image:
        """What is committed, and what was submitted since."""
        ...

    @property
    def is_settled(self) -> bool:
        """Whether all that `latest` has is committed."""
        ...

    def submit(self, records: Sequence[StoredRecord], now_ms: int, done: Committed) -> None:
        """Append records as one atomic batch; `done` says what became of them, once that is sure."""
        ...

    def when_settled(self, done: Committed) -> None:
        """Call once all that `latest` has now is committed; only while it is not."""
        ...


class Host(Protocol):
    """The node: its time, its settings, its timers and its voice."""

    @property
    def now_ms(self) -> int: ...

    @property
    def now_us(self) -> int:
        """By the clock that nobody can set."""
        ...

    @property
    def settings(self) -> BrokerSettings: ...

    @property
    def tasks(self) -> Tasks: ...

    @property
    def deadlines(self) -> Deadlines: ...

    def log(self, level: str, text: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Who this controller is, and whom it can ask beside its log."""

    node_id: int
    cluster_id: str
    voters: Callable[[], Iterable[int]] = tuple
    """The ids of all controllers that vote."""
    led_ms: Callable[[], int | None] = lambda: None
    """When it was last sure that this node led the log; None where nobody else could."""
    probe: Callable[[str, int], None] = lambda host, port: None
    """Look whether anybody listens at an address; that nobody does is told to `Controller.refused`."""
