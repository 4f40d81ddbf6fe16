"""One transaction: all of its records and offsets count, or none of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from penstock.api.errors import PenstockError, ProducerFenced, TransactionAborted, error_of, explained

if TYPE_CHECKING:
    from confluent_kafka import KafkaError
    from confluent_kafka import Producer as Client

    from penstock.api.consumer import Consumer

TIMEOUT_S: Final = 60.0
ATTEMPTS_MAX: Final = 5
"""How often a request is repeated that the client library calls retriable, before the transaction is given up."""


class Transaction:
    """The body of a `with producer.transaction():`."""

    def __init__(self, client: Client, entered: Callable[[Transaction], None], left: Callable[[], None]) -> None:
        self._client = client
        self._entered = entered
        self._left = left
        self._is_over = False
        self._settled: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        self._entered(self)
        try:
            with explained("beginning a transaction"):
                self._client.begin_transaction()
        except BaseException:
            self._left()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_over:
            return
        if error is None:
            self.commit()
        else:
            # What ended the block is what its caller must hear of; that the abort fails too shows with the next one.
            with suppress(PenstockError):
                self.abort()

    def commit_offsets_of(self, consumer: Consumer) -> None:
        """Commit what the consumer has read as a part of this transaction."""
        positions = consumer.positions()
        if positions:
            metadata = consumer.group_metadata()
            self._attempt(
                "adding offsets to the transaction",
                lambda: self._client.send_offsets_to_transaction(positions, metadata, TIMEOUT_S),
            )
            self._settled.append(lambda: consumer.settled(positions))

    def commit(self) -> None:
        """Commit now; raises TransactionAborted where it was aborted instead, ProducerFenced where another producer has
        begun with this id."""
        self._attempt("committing the transaction", lambda: self._client.commit_transaction(TIMEOUT_S))
        self._end()
        for settled in self._settled:
            settled()

    def abort(self) -> None:
        """Abort now: nothing of it counts."""
        try:
            with explained("aborting the transaction"):
                self._client.abort_transaction(TIMEOUT_S)
        finally:
            self._end()

    def _attempt(self, doing: str, request: Callable[[], object]) -> None:
        from confluent_kafka import KafkaException

        for attempts_left in reversed(range(ATTEMPTS_MAX)):
            try:
                request()
                return
            except KafkaException as failure:
                error: KafkaError = failure.args[0]
                if error.retriable() and attempts_left:
                    continue
                raise self._given_up(error, doing) from failure

    def _given_up(self, error: KafkaError, doing: str) -> PenstockError:
        """What its program hears; unless the producer is at its end, the transaction is aborted first."""
        what = error_of(error, doing)
        if error.fatal() or isinstance(what, ProducerFenced):
            self._end()
            return what if isinstance(what, ProducerFenced) else PenstockError(str(what), what.name)
        try:
            self.abort()
        except ProducerFenced as fenced:
            return fenced
        except PenstockError as worse:
            return worse
        return TransactionAborted(f"{what}; the transaction was aborted", what.name, is_retriable=True)

    def _end(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._left()
