"""What a controller needs of the node around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from penstock.core.base.errors import ErrorCode
from penstock.core.base.values import frozen
from penstock.core.metadata.image import Image
from penstock.core.node import host
from penstock.core.wire.schema import Response, StoredRecord

OnCommitted = Callable[[ErrorCode], None]
Answered = Callable[[Response], None]
Refuse = Callable[[Any, int, ErrorCode, str | None], Response]


class MutationQuota(Protocol):
    """How many changes of partitions one client may ask for."""

    @property
    def rest_ms(self) -> int:
        """How long its client is to rest."""
        ...

    def take(self, changes: int, *, strict: bool) -> bool:
        """Whether so many may be made. A client that knows no code for a refusal is served, and rests afterwards."""
        ...


@frozen
class Asked:
    """One request that the active controller answers, and the way to answer it: once, when it is sure."""

    request: Any
    version: int
    answer: Answered
    _refuse: Refuse
    quota: MutationQuota | None = None
    requester: str = ""
    """The principal that asks."""

    def refuse(self, code: ErrorCode, message: str | None = None) -> None:
        self.answer(self._refuse(self.request, self.version, code, message))


class Ledger(Protocol):
    """The metadata log, as the one who leads it sees it."""

    @property
    def uncommitted_image(self) -> Image:
        """What is committed, and what was submitted since."""
        ...

    @property
    def is_settled(self) -> bool:
        """Whether all that `uncommitted_image` has is committed."""
        ...

    def submit(self, records: Sequence[StoredRecord], now_ms: int, done: OnCommitted) -> None:
        """Append records as one atomic batch; `done` says what became of them, once that is sure."""
        ...

    def when_settled(self, done: OnCommitted) -> None:
        """Call once all that `uncommitted_image` has now is committed; only while it is not."""
        ...


class Host(host.Host, Protocol):
    """The node: its time, its settings, its timers and its voice."""

    @property
    def disk_full(self) -> bool:
        """Whether producers are refused for want of room."""
        ...

    def new_id(self) -> bytes: ...


@frozen
class ControllerContext:
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
    hand_over: Callable[[], None] = lambda: None
    """Let another voter lead the metadata log, and so control the cluster."""
    bootstrap: Iterable[StoredRecord] = ()
    """The first records of a cluster that has none."""
    has_broker: bool = True
    """Whether this process is a broker as well."""

    @property
    def own_broker_id(self) -> int:
        """The broker in this process, which is alive while anything can be decided; nobody's id where there is none."""
        return self.node_id if self.has_broker else -1
