"""Performs what the machines of the exactly-once sink ask for, with a blocking client.

Each ask is tried again while that can help, for as long as a record may take to be delivered. EndTxn is asked in its
last version that keeps the epoch: asked again it answers as the first time, whoever asks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from penstock.client.blocking import TRANSACTION, Client
from penstock.client.errors import ClientError, check
from penstock.client.exactly_once.commit_topic import CommitTopic
from penstock.client.exactly_once.marks import outcome
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import LATEST, list_offsets
from penstock.client.transactional import END_FIRST, FENCED, TransactionalProducer
from penstock.client.transactions import Described, Transactions
from penstock.core.base.errors import ErrorCode
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
    Steps,
    Taken,
    TakeOver,
    WriteRecord,
)
from penstock.core.delivery.exactly_once.ids import is_task_of
from penstock.core.delivery.exactly_once.values import Part, Producer, encoded
from penstock.core.wire.api.end_txn import EndTxnRequest, EndTxnResponse
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

T = TypeVar("T")
TWO_PHASE_VERSION: Final = 6
"""Of InitProducerId: the first that can take a transaction over (KIP-939)."""
LOOK_PAUSE_S: Final = 0.1
ENDED_OTHERWISE: Final = FENCED | {ErrorCode.INVALID_TXN_STATE, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND}
NO_TAKEOVER: Final = frozenset(
    {ErrorCode.UNSUPPORTED_VERSION, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ErrorCode.INVALID_REQUEST}
)
NOBODY: Final = -1

Filler = Callable[[Fill], Part]


def fills_nothing(_: Fill) -> Part:
    raise AssertionError("drivers write no rows")


class Performer:
    """For one client. `timeout_ms` is that of the transactions of tasks."""

    def __init__(self, client: Client, timeout_ms: int, patience_s: float, fill: Filler = fills_nothing) -> None:
        self._client = client
        self._timeout_ms = timeout_ms
        self._patience_s = patience_s
        self._fill = fill
        self._transactions = Transactions(client)
        self._commits = CommitTopic(client)

    def run(self, steps: Steps[T]) -> T:
        """Run a machine to its end."""
        try:
            ask = next(steps)
            while True:
                ask = steps.send(self.perform(ask))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # What `Steps[T]` returns.

    def perform(self, ask: Ask) -> Any:
        match ask:
            case Introduce(name):
                return self._introduce(name)
            case ReadNewest(query):
                return self._commits.surely_newest(query)
            case WriteRecord():
                return self._write(ask)
            case End():
                return self._end(ask)
            case Look(part):
                return self._look(part)
            case TakeOver(name):
                return self._take_over(name)
            case GoneAmong(parts):
                return frozenset(each.transactional_id for each in parts if not self._is_intact(each))
            case ListOpen(query):
                return self._list_open(query)
            case IsCurrent(name, producer):
                known = self._describe(name)
                return known is not None and _producer(known) == producer
            case Fill():
                return self._fill(ask)

    def _retry(self, attempt: Callable[[], T]) -> T:
        return self._client.retry(attempt, timeout=self._patience_s)

    def _coordinator(self, name: str) -> int:
        return self._client.coordinator(name, TRANSACTION)

    def _introduce(self, name: str) -> Producer:
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=self._timeout_ms)

        def attempt() -> Producer:
            answer = self._client.ask(request, InitProducerIdResponse, node=self._coordinator(name))
            check(answer.error_code, f"transactional id {name}")
            return Producer(answer.producer_id, answer.producer_epoch)

        return self._retry(attempt)

    def _write(self, ask: WriteRecord) -> bool:
        where = self._commits.place_of(ask.record.query)
        producer = TransactionalProducer(
            self._client, ask.transactional_id, delivery_seconds_max=self._patience_s, timeout_ms=self._timeout_ms
        )
        producer.adopt(ask.producer.id, ask.producer.epoch)
        key = ask.record.query.encode()
        try:
            producer.send(where.topic, key, encoded(ask.record), partition=where.partition)
            producer.flush()
        except ClientError as failure:
            if failure.code in ENDED_OTHERWISE:
                return False
            raise
        return True

    def _end(self, ask: End) -> bool:
        name = ask.transactional_id
        request = EndTxnRequest(
            transactional_id=name,
            producer_id=ask.producer.id,
            producer_epoch=ask.producer.epoch,
            committed=ask.committed,
        )

        def attempt() -> bool:
            node = self._coordinator(name)
            answer = self._client.ask(request, EndTxnResponse, node=node, newest_version=END_FIRST)
            if answer.error_code in ENDED_OTHERWISE:
                return False
            check(answer.error_code, f"the transaction of {name}")
            return True

        return self._retry(attempt)

    def _look(self, part: Part) -> Outcome:
        where = TopicPartition(part.place.topic, part.place.partition)
        end = list_offsets(self._client, {where: LATEST})[where].offset
        found = outcome(self._client, where, part.place.offset, part.writer.id, end)
        if found is None:
            time.sleep(LOOK_PAUSE_S)
            return Outcome.OPEN
        return Outcome.COMMITTED if found else Outcome.ABORTED

    def _take_over(self, name: str) -> Taken | None:
        request = InitProducerIdRequest(
            transactional_id=name,
            transaction_timeout_ms=self._timeout_ms,
            enable2_pc=True,
            keep_prepared_txn=True,
        )

        def attempt() -> Taken | None:
            node = self._coordinator(name)
            offered = self._client.link(node).versions.offered(InitProducerIdRequest.KEY)
            if offered is None or TWO_PHASE_VERSION not in offered:
                return None
            answer = self._client.ask(request, InitProducerIdResponse, node=node)
            if answer.error_code in NO_TAKEOVER:
                return None
            check(answer.error_code, f"taking over the transaction of {name}")
            was = Producer(answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch)
            ender = Producer(answer.producer_id, answer.producer_epoch)
            return Taken(ender, None if was.id == NOBODY else was)

        return self._retry(attempt)

    def _is_intact(self, part: Part) -> bool:
        known = self._describe(part.transactional_id)
        return known is not None and known.state == "Ongoing" and _producer(known) == part.writer

    def _list_open(self, query: str) -> tuple[tuple[str, Producer], ...]:
        """A coordinator that does not answer will be asked before the next batch."""
        listed, _ = self._retry(lambda: self._transactions.known(states=("Ongoing",)))
        named = [each.transactional_id for each in listed if is_task_of(query, each.transactional_id)]
        found = ((name, self._describe(name)) for name in named)
        return tuple((name, _producer(known)) for name, known in found if known is not None and known.is_open)

    def _describe(self, name: str) -> Described | None:
        try:
            return self._retry(lambda: self._transactions.describe(name))
        except ClientError as failure:
            if failure.code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                return None
            raise


def _producer(known: Described) -> Producer:
    return Producer(known.producer_id, known.producer_epoch)
