"""What a replicated machine answers: records to append, and replies that wait for them.

A machine never changes its durable state while it handles a request. It returns the records that describe the
change; they are appended, replayed into the machine once their offset is assigned, and the replies leave when the
records are committed. Loading after a restart and normal work are therefore the same code.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, Protocol

from penstock.core.base.values import fresh, mutable
from penstock.core.wire import Message

KeyValue = tuple[bytes, bytes | None]


class Reply:
    """One waiting request, known to a machine by identity only."""

    __slots__ = ()


class Due:
    """Something that is to be done once the records beside it are committed. It travels as a reply does, and is none:
    where the records are lost it is dropped, as the machine that is folded anew decides it again."""

    __slots__ = ()


class Performer(Reply):
    """Whoever carries out what a machine has decided."""

    __slots__ = ()

    def perform(self, due: Due) -> None:
        raise AssertionError("each kind of performer has a way of its own")


Replies = list[tuple[Reply, Message | Due]]


class Transaction(NamedTuple):
    """Whose transaction records belong to: they count once its marker says so."""

    producer_id: int
    producer_epoch: int


class Marker(NamedTuple):
    """The end of a transaction in this machine's log."""

    transaction: Transaction
    committed: bool
    coordinator_epoch: int = 0
    transaction_version: int = 0


@mutable
class Result:
    """Records for one atomic batch, and the responses that leave once they are committed. The batch is part of a
    transaction if one is given; instead of records there may be the marker that ends one."""

    records: list[KeyValue] = fresh(default_factory=list)
    replies: Replies = fresh(default_factory=list)
    transaction: Transaction | None = None
    marker: Marker | None = None
    is_only_record: bool = False
    """Whether nothing but the machine's record changes: where the log refuses it, nothing has happened."""

    def add(self, other: Result) -> None:
        """Take over what another step of the same turn decided."""
        assert other.transaction == self.transaction, "a batch belongs to one transaction, or to none"
        assert other.marker is None, "a marker stands alone"
        self.records += other.records
        self.replies += other.replies


class Timers(Protocol):
    """Deadlines a machine asks for; each comes back as one `on_timer` with its key."""

    def set(self, key: Hashable, deadline_ms: int) -> None: ...
    def cancel(self, key: Hashable) -> None: ...
