"""The cluster of the model, as a value: transactional ids with epochs, the rows that count, and the commit topic.

Each ask is one step; what makes a cluster slow or forgetful (late requests, repeated ones, timeouts) is the model's.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.core.delivery.exactly_once.asks import (
    Ask,
    End,
    Fill,
    GoneAmong,
    Introduce,
    IsCurrent,
    ListOpen,
    Look,
    Outcome,
    ReadNewest,
    Taken,
    TakeOver,
    WriteRecord,
)
from penstock.core.delivery.exactly_once.ids import is_task_of
from penstock.core.delivery.exactly_once.values import CommitRecord, Part, Place, Producer

QUERY = "q"
Row = tuple[int, str]
"""(batch, task): all that one task writes of a batch."""


class Refused(Exception):
    """A producer is fenced."""


class Identity(NamedTuple):
    """A transactional id."""

    epoch: int = -1
    is_open: bool = False
    is_committed: bool | None = None
    writer: int = -1
    """The epoch that its transaction was written in; it differs from `epoch` where somebody has taken it over."""
    rows: tuple[Row, ...] = ()
    record: CommitRecord | None = None
    has_written: bool = False
    """Whether its producer has written a record in this epoch: it does so once."""
    is_due: bool = False
    """Whether it was open when the batch was recorded: then it must have ended when the commit returns."""

    @property
    def is_taken_over(self) -> bool:
        return self.is_open and self.writer != self.epoch


class Cluster(NamedTuple):
    two_phase: bool
    ids: tuple[tuple[str, Identity], ...] = ()
    committed: tuple[Row, ...] = ()
    """Sorted."""
    log: frozenset[tuple[str, int, bool]] = frozenset()
    """How the transactions of tasks have ended: (id, epoch of the writer, committed)."""
    newest: CommitRecord | None = None

    def identity(self, name: str) -> Identity:
        return next((found for known, found in self.ids if known == name), Identity())

    def with_identity(self, name: str, identity: Identity) -> Cluster:
        return self._replace(ids=tuple(sorted({**dict(self.ids), name: identity}.items())))

    @property
    def open_tasks(self) -> tuple[str, ...]:
        return tuple(name for name, each in self.ids if each.is_open and is_task_of(QUERY, name))

    def ended(self, name: str, committed: bool, bump: int = 0) -> Cluster:
        """The transaction of an id ends."""
        one = self.identity(name)
        after = one._replace(
            epoch=one.epoch + bump, is_open=False, is_committed=committed, rows=(), record=None, is_due=False
        )
        log = self.log | {(name, one.writer, committed)} if is_task_of(QUERY, name) else self.log
        moved = self.with_identity(name, after)._replace(log=log)
        if not committed:
            return moved
        if one.record is not None:
            due = tuple((known, each._replace(is_due=each.is_open)) for known, each in moved.ids)
            moved = moved._replace(newest=one.record, ids=due)
        return moved._replace(committed=tuple(sorted(moved.committed + one.rows)))

    def perform(self, ask: Ask, batch: int = -1) -> tuple[Cluster, object]:
        """What is asked, and its answer; raises Refused."""
        match ask:
            case Introduce(name):
                return self._introduce(name)
            case Fill(task, name, producer):
                return self._fill(task, name, producer, (batch, task))
            case WriteRecord(name, producer, record):
                one = self.identity(name)
                if producer.epoch != one.epoch:
                    return self, False
                # As in `_fill`: what comes twice is told by its sequence, and may open an empty transaction.
                record = one.record if one.has_written else record
                after = one._replace(is_open=True, writer=one.epoch, record=record, has_written=True)
                return self.with_identity(name, after), True
            case End(name, producer, committed):
                one = self.identity(name)
                if producer.epoch != one.epoch:
                    return self, False
                if one.is_open:
                    return self.ended(name, committed), True
                return self, one.is_committed is committed
            case Look(part):
                return self, self._look(part)
            case TakeOver(name):
                return self._take_over(name)
            case GoneAmong(parts):
                return self, frozenset(each.transactional_id for each in parts if not self._is_intact(each))
            case ListOpen():
                found = ((name, Producer(0, self.identity(name).writer)) for name in self.open_tasks)
                return self, tuple(found)
            case IsCurrent(name, producer):
                return self, self.identity(name).epoch == producer.epoch
            case ReadNewest():
                return self, self.newest
        raise AssertionError(ask)

    def _introduce(self, name: str) -> tuple[Cluster, Producer]:
        ended = self.ended(name, committed=False) if self.identity(name).is_open else self
        epoch = ended.identity(name).epoch + 1
        return ended.with_identity(name, Identity(epoch)), Producer(0, epoch)

    def _fill(self, task: str, name: str, producer: Producer, row: Row) -> tuple[Cluster, Part]:
        one = self.identity(name)
        if producer.epoch != one.epoch or one.is_taken_over:
            raise Refused
        # A batch that comes twice is told by its sequence, also behind the end of its transaction; it may open an empty
        # one, because its coordinator hears of the partition first.
        is_known = row in one.rows or any(each[:2] == (name, producer.epoch) for each in self.log)
        rows = one.rows if is_known else (*one.rows, row)
        after = self.with_identity(name, one._replace(is_open=True, is_committed=None, writer=one.epoch, rows=rows))
        return after, Part(task, name, producer, 1, 0, Place("t", 0, 0))

    def _look(self, part: Part) -> Outcome:
        for committed in (True, False):
            if (part.transactional_id, part.writer.epoch, committed) in self.log:
                return Outcome.COMMITTED if committed else Outcome.ABORTED
        return Outcome.OPEN

    def _take_over(self, name: str) -> tuple[Cluster, Taken | None]:
        if not self.two_phase:
            return self, None
        one = self.identity(name)
        if not one.is_open:
            after, ender = self._introduce(name)
            return after, Taken(ender, None)
        heir = one._replace(epoch=one.epoch + 1)
        return self.with_identity(name, heir), Taken(Producer(0, heir.epoch), Producer(0, one.writer))

    def _is_intact(self, part: Part) -> bool:
        one = self.identity(part.transactional_id)
        return one.is_open and (one.epoch, one.writer) == (part.writer.epoch, part.writer.epoch)

    def timed_out(self, name: str) -> Cluster:
        return self.ended(name, committed=False, bump=1)
