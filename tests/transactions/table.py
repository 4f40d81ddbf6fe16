"""A transaction coordinator's machine by itself: what it writes is replayed at once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.base.values import replaced
from penstock.core.rsm.result import Performer, Reply, Result
from penstock.core.transactions.adding import add
from penstock.core.transactions.asked import Asked
from penstock.core.transactions.context import CoordinatorContext, Turn
from penstock.core.transactions.ending import end
from penstock.core.transactions.initializing import initialize
from penstock.core.transactions.markers import MarkersDue
from penstock.core.transactions.metadata import Producer, TransactionMetadata
from penstock.core.transactions.records import transaction_record
from penstock.core.transactions.settings import TransactionSettings
from penstock.core.transactions.shard import TransactionShard
from penstock.core.wire.api.end_txn import EndTxnRequest
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest

NAME = "tx"
IDS_FROM = 500


class _NoTimers:
    def set(self, key: object, deadline_ms: int) -> None: ...
    def cancel(self, key: object) -> None: ...


class _Ids:
    def __init__(self) -> None:
        self._numbers = count(IDS_FROM)

    def has_stock(self) -> bool:
        return True

    def take_now(self) -> int:
        return next(self._numbers)


class Table:
    """The machine, one transactional id, and the clock."""

    def __init__(self, transaction_version: int = 2, **settings: Any) -> None:
        self.now_ms = 1_000_000
        self.transaction_version = transaction_version
        context = CoordinatorContext(
            TransactionSettings(**settings),
            _NoTimers(),
            _Ids(),
            Performer(),
            lambda: self.transaction_version,
            lambda: 0,
        )
        self.shard = TransactionShard(context)
        self.due: list[MarkersDue] = []

    @property
    def known(self) -> TransactionMetadata:
        return self.shard.table[NAME]

    def place(self, **fields: Any) -> Producer:
        """Let the log hold this of the id."""
        given = TransactionMetadata(NAME, 7, timeout_ms=60_000, updated_ms=self.now_ms)
        self.shard.replay(*transaction_record(replaced(given, **fields), 2), self.now_ms)
        return self.known.producer

    def init(self, returning: Producer | None = None, version: int = 6, **fields: Any) -> Any:
        """The answer to InitProducerId."""
        producer_id, epoch = returning or (-1, -1)
        fields = {"transaction_timeout_ms": 60_000} | fields
        request = InitProducerIdRequest(transactional_id=NAME, producer_id=producer_id, producer_epoch=epoch, **fields)
        return self._ask(lambda turn: initialize(turn, Asked(request, version, Reply())))

    def add(self, producer: Producer, *partitions: int) -> ErrorCode:
        said: list[ErrorCode] = []
        self._run(
            self.shard.decide(
                self.now_ms,
                lambda turn: said.append(add(turn, NAME, producer, [("t", each) for each in partitions or (0,)], 2)),
            )
        )
        return said[0]

    def end(self, producer: Producer, committed: bool = True, version: int = 5) -> Any:
        """The answer to EndTxn."""
        request = EndTxnRequest(
            transactional_id=NAME, producer_id=producer.id, producer_epoch=producer.epoch, committed=committed
        )
        return self._ask(lambda turn: end(turn, Asked(request, version, Reply())))

    def markers_written(self) -> MarkersDue:
        """All partitions have heard of the last decision."""
        due = self.due.pop()
        self._run(self.shard.markers_written(self.now_ms, due))
        return due

    def pass_time(self, ms: int) -> None:
        self.now_ms += ms
        self._run(self.shard.on_timer(self.now_ms, "abort"))
        self._run(self.shard.on_timer(self.now_ms, "expire"))

    def _ask(self, rule: Callable[[Turn], None]) -> Any:
        result = self.shard.decide(self.now_ms, rule)
        self._run(result)
        return next(message for _, message in result.replies if not isinstance(message, MarkersDue))

    def _run(self, result: Result) -> None:
        for key, value in result.records:
            self.shard.replay(key, value, self.now_ms)
        self.due += [message for _, message in result.replies if isinstance(message, MarkersDue)]


def given(answer: Any) -> Producer:
    """Whom an answer names; it is no refusal."""
    assert answer.error_code == 0, answer
    return Producer(answer.producer_id, answer.producer_epoch)
