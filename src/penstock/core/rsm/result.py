"""What a replicated machine answers: records to append, and replies that wait for them.

A machine never changes its durable state while it handles a request. It returns the records that describe the
change; they are appended, replayed into the machine once their offset is assigned, and the replies leave when the
records are committed. Loading after a restart and normal work are therefore the same code.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from penstock.core.base.values import fresh, mutable
from penstock.core.wire import Message

KeyValue = tuple[bytes, bytes | None]


class Reply:
    """One waiting request, known to a machine by identity only."""

    __slots__ = ()


@mutable
class Result:
    """Records for one atomic batch, and the responses that leave once they are committed."""

    records: list[KeyValue] = fresh(default_factory=list)
    replies: list[tuple[Reply, Message]] = fresh(default_factory=list)

    def add(self, other: Result) -> None:
        """Take over what another step of the same turn decided."""
        self.records += other.records
        self.replies += other.replies


class Timers(Protocol):
    """Deadlines a machine asks for; each comes back as one `on_timer` with its key."""

    def set(self, key: Hashable, deadline_ms: int) -> None: ...
    def cancel(self, key: Hashable) -> None: ...
