"""What Raft decided, for its owner to perform: one `Ready` per turn, whose fields stand in the order of performing."""

from __future__ import annotations

from typing import NamedTuple

from penstock.core.base.errors import PenstockError
from penstock.core.base.ports import Buffer
from penstock.core.base.values import fresh, frozen, mutable
from penstock.core.raft.election import ElectionState
from penstock.core.raft.ids import Destination, SnapshotId
from penstock.core.wire.schema import Request, Response

Ticket = object
"""Whatever the owner needs to bring an answer to who asked."""


@frozen
class Truncate:
    """Cut off the log from `offset` on, then call `on_truncated`. Until then every event waits."""

    offset: int


@frozen
class WriteChunk:
    """Append to the snapshot that is being fetched; position 0 begins it anew."""

    id: SnapshotId
    position: int
    data: Buffer


@frozen
class Install:
    """The snapshot is complete: sync it, empty the log so that it begins at the snapshot's end, make that the owner's
    state, then call `on_installed`. Until then every event waits."""

    id: SnapshotId
    size_bytes: int


@frozen
class LogRange:
    """Whole batches from the one that holds `offset`, at least one of them, at most `bytes_max` otherwise."""

    offset: int
    bytes_max: int


@frozen
class SnapshotRange:
    """Bytes of a snapshot, cut anywhere."""

    id: SnapshotId
    position: int
    bytes_max: int


@frozen
class Send:
    """Send a request; its fate is told with `on_reply` and the same correlation."""

    to: Destination
    correlation: int
    request: Request


@frozen
class Answer:
    """Answer a request. Where there is a `body`, its bytes become the records of the response's only partition."""

    ticket: Ticket
    response: Response
    body: LogRange | SnapshotRange | None = None


class LeaderIs(NamedTuple):
    """Who leads an epoch, or None while nobody is known to. A leader hears of itself once everything that was committed
    before its epoch is committed in its own log too."""

    leader_id: int | None
    epoch: int


class Committed(NamedTuple):
    """Everything below `offset` is committed; the owner reads it from the log and folds it."""

    offset: int


class Rebuilt(NamedTuple):
    """A replica that had lost its log has everything again, up to an offset, and counts like any other."""

    offset: int


News = LeaderIs | Committed | Rebuilt


@mutable
class Ready:
    """What to do, from top to bottom. Of an operation that failed nothing is told: its owner stops the replica, because
    nobody knows what such a disk will hold.

    1. `save`: write the election state durably, then call `on_saved`. While that is under way no message leaves,
       because each of them may rest on a vote or an epoch that a crash would take back.
    2. `storage`: in this order.
    3. `flush`: sync the log, then call `on_synced`.
    4. `sends` and `answers`, in any order.
    5. `news`: tell the owner's machines, in this order.
    6. `drop_before`: snapshots older than this one, and the log below it, are no longer needed.
    """

    save: ElectionState | None = None
    storage: list[Truncate | WriteChunk | Install] = fresh(default_factory=list)
    flush: bool = False
    sends: list[Send] = fresh(default_factory=list)
    answers: list[Answer] = fresh(default_factory=list)
    news: list[News] = fresh(default_factory=list)
    drop_before: SnapshotId | None = None

    def __bool__(self) -> bool:
        """Whether there is anything to do: most events leave nothing."""
        said = self.sends or self.answers or self.news
        return bool(said or self.storage or self.flush or self.save is not None or self.drop_before is not None)


@frozen
class NotLeader:
    """The answer to an append that this replica may not make."""

    leader_id: int | None
    epoch: int


class Contradiction(PenstockError):
    """A peer claims what cannot be while everyone keeps to the protocol: to go on would lose what was committed. The
    owner stops this replica."""
