"""What a controller needs of the node around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from penstock.core.base.errors import ErrorCode
from penstock.core.base.settings import BrokerSettings
from penstock.core.base.steps import Tasks
from penstock.core.base.values import frozen
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
    def disk_full(self) -> bool:
        """Whether producers are refused for want of room."""
        ...

    @property
    def tasks(self) -> Tasks: ...

    @property
    def deadlines(self) -> Deadlines: ...

    def log(self, level: str, text: str) -> None: ...


@frozen
class Surroundings:
    """Who this controller is, and whom it can ask beside its log."""

    node_id: int
    cluster_id: str
    voters: Callable[[], Iterable[int]] = tuple
    """The ids of all controllers that vote."""
    led_ms: Callable[[], int | None] = lambda: None
    """When it was last sure that this node led the log; None where nobody else could."""
    predecessor: Callable[[], int | None] = lambda: None
    """Who decided last before this node, if that is sure."""
    probe: Callable[[str, int], None] = lambda host, port: None
    """Look whether anybody listens at an address; that nobody does is told to `Controller.refused`."""
    kraft_version: Callable[[], int] = lambda: 0
    """Whether the voters are kept in the log (1) or in everybody's settings (0)."""
    upgrade_voters: Callable[[], ErrorCode] = lambda: ErrorCode.INVALID_UPDATE_VERSION
    """Keep the voters in the log from now on."""
    has_broker: bool = True
    """Whether this process is a broker as well."""

    @property
    def own_broker_id(self) -> int:
        """The broker in this process, which is alive while anything can be decided; nobody's id where there is none."""
        return self.node_id if self.has_broker else -1
