"""What a host carries: a machine that decides, and whose durable state is what its log says."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Steps
from penstock.core.rsm.result import Replies, Reply, Result

Decision = Callable[[int], Result]
"""Something that a machine decides of its own accord, at a time in ms: a bounded step, which is repeated until nothing
comes of it."""


class TopicChanges(NamedTuple):
    """What a change of the metadata means for machines that keep something about topics."""

    removed: Mapping[str, bytes]
    """Topics that are gone, id by name. There may be another one of that name by now."""
    grown: frozenset[str]
    """Topics that are new, or have new partitions; after a snapshot perhaps some that have not."""


class OpenTransactions(Protocol):
    """The transactions in a machine's log that have not ended."""

    @property
    def are_open(self) -> bool:
        """Whether there are any."""
        ...

    def pending(self, key: bytes) -> bool:
        """Whether one of them would change what a key says."""
        ...

    def pending_from(self, prefix: bytes) -> Iterator[bytes]:
        """The keys with this beginning whose value one of them would change."""
        ...


class Machine(Protocol):
    """`replay` is the only writer of its durable state, while it is loaded and while it lives."""

    def at(self, offset: int) -> None:
        """Where the next record that counts is in the log."""
        ...

    def replay(self, key: bytes, value: bytes | None, now_ms: int) -> None:
        """A record that counts: a plain one, or one of a transaction that was committed."""
        ...

    def waits(self, key: bytes, now_ms: int) -> None:
        """A record was written that counts once its transaction is committed, if it ever is."""
        ...

    def begin(self, now_ms: int, transactions: OpenTransactions) -> Steps[None]:
        """The log has been read to its end: from now on deadlines run. In steps, where much was loaded."""
        ...

    def topics_changed(self, changes: TopicChanges) -> Iterable[Decision]:
        """Topics have come, grown or gone. What is decided for that is carried out over many turns; while the machine
        is loaded it hears of it, but nothing is carried out."""
        ...

    def on_timer(self, now_ms: int, key: Hashable) -> Result:
        """A deadline that it has set is over."""
        ...

    def lose(self, code: ErrorCode) -> Replies:
        """Somebody else is in charge from now on, or it is to be folded anew: everybody who waits is told `code`."""
        ...

    def dropped(self, reply: Reply) -> None:
        """Whoever waits for this reply has gone."""
        ...
