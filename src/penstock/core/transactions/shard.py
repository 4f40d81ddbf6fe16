"""The machine in charge of the transactional ids of one partition of `__transaction_state`.

Every request becomes a `Result`: the next record of its id, and a reply that waits for it. The record is replayed in
the same turn, so the next request sees it; there is no state between two records, and nothing to go back to where the
log refuses one. How a transaction ends is on record before any partition hears of it: the markers are `Due` beside the
record, and a machine that is loaded finds in its log whom it still has to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Steps
from penstock.core.rsm.machine import Decision, OpenTransactions, TopicChanges
from penstock.core.rsm.result import Replies, Reply, Result
from penstock.core.transactions.context import CoordinatorContext, Turn
from penstock.core.transactions.markers import MarkersDue
from penstock.core.transactions.overdue import Overdue
from penstock.core.transactions.rounds import Round
from penstock.core.transactions.states import AT_REST, PREPARED
from penstock.core.transactions.table import TransactionTable
from penstock.core.transactions.transitions import completed

ABORT: Final = "abort"
EXPIRE: Final = "expire"
RESUME: Final = "resume"
"""The timers of a machine."""


class TransactionShard:
    """Transactional ids, and what is due for them."""

    def __init__(self, context: CoordinatorContext) -> None:
        self.table = TransactionTable()
        self.context = context
        self._last_epochs: dict[str, int] = {}
        self._overdue = Overdue()
        settings, timers = context.settings, context.timers
        looks_max = settings.looks_per_turn_max
        self._aborting = Round(timers, ABORT, settings.abort_interval_ms, looks_max)
        self._expiring = Round(timers, EXPIRE, settings.expire_interval_ms, looks_max)
        self._unfinished: list[str] = []

    def turn(self, now_ms: int) -> Turn:
        return Turn(now_ms, self.context, self.table, self._last_epochs)

    # The log.

    def at(self, offset: int) -> None:
        """The log is compacted: nothing depends on where a record is."""

    def replay(self, key: bytes, value: bytes | None, now_ms: int) -> None:
        self.table.replay(key, value)

    def waits(self, key: bytes, now_ms: int) -> None:
        """Nobody writes here in a transaction."""

    def begin(self, now_ms: int, transactions: OpenTransactions) -> Steps[None]:
        """The log has been read to its end. Whatever was decided and not finished is told again."""
        self._aborting.begin(now_ms)
        self._expiring.begin(now_ms)
        self._unfinished = list(self.table.prepared)
        if self._unfinished:
            self.context.timers.set(RESUME, now_ms)
        yield from ()

    def topics_changed(self, changes: TopicChanges) -> Iterable[Decision]:
        """Whether a partition is still there is seen when it is told."""
        return ()

    def lose(self, code: ErrorCode) -> Replies:
        """Nobody waits in this machine."""
        self.table.clear()
        self._overdue.clear()
        self._last_epochs.clear()
        return []

    def dropped(self, reply: Reply) -> None:
        """Nobody waits in this machine."""

    # Requests.

    def decide(self, now_ms: int, rule: Callable[[Turn], None]) -> Result:
        turn = self.turn(now_ms)
        rule(turn)
        return turn.result

    # What is due.

    def on_timer(self, now_ms: int, key: Hashable) -> Result:
        turn = self.turn(now_ms)
        if key == ABORT:
            self._abort_overdue(turn)
        elif key == EXPIRE:
            self._forget_unused(turn)
        elif key == RESUME:
            self._resume(turn)
        return turn.result

    def markers_written(self, now_ms: int, due: MarkersDue) -> Result:
        """Every partition of a transaction has heard how it ended, or is no more."""
        turn = self.turn(now_ms)
        if self.awaits(due):
            turn.write(completed(self.table[due.transactional_id], now_ms))
        return turn.result

    def awaits(self, due: MarkersDue) -> bool:
        """Whether it is still to be told that these markers are written."""
        known = self.table.get(due.transactional_id)
        return known is not None and known.state in PREPARED and known.producer == (due.producer_id, due.producer_epoch)

    def _abort_overdue(self, turn: Turn) -> None:
        self._overdue.keep(self.table.ongoing)
        for name in self._aborting.part(turn.now_ms, self.table.ongoing):
            known = self.table.get(name)
            if known is not None and self._overdue.has_ended(name, known, turn.now_ms) and turn.may_fence(known):
                turn.fence(known)

    def _forget_unused(self, turn: Turn) -> None:
        before_ms = turn.now_ms - self.context.settings.id_expiration_ms
        for name in self._expiring.part(turn.now_ms, self.table):
            known = self.table.get(name)
            if known is not None and known.state in AT_REST and known.updated_ms <= before_ms:
                turn.forget(name)

    def _resume(self, turn: Turn) -> None:
        looks_max = self.context.settings.looks_per_turn_max
        names, self._unfinished = self._unfinished[:looks_max], self._unfinished[looks_max:]
        for name in names:
            if name in self.table.prepared:
                turn.tell(self.table[name])
        if self._unfinished:
            self.context.timers.set(RESUME, turn.now_ms)
