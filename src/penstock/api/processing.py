"""The two loops that people write around a consumer: handle each record; and read, process, write in transactions."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final

from penstock.api.errors import TransactionAborted
from penstock.api.values import Headers, Record, Sent
from penstock.core.delivery.dead_letter import SUFFIX, Origin, dead_letter_headers
from penstock.core.delivery.policy import GiveUp, RetryPolicy, decide

if TYPE_CHECKING:
    from penstock.api.consumer import Consumer
    from penstock.api.producer import Producer

POLL_S: Final = 0.2
RECORDS_MAX: Final = 500
"""Records that one transaction reads, or that are handled before their offsets are committed."""


DEFAULT_RETRY: Final = RetryPolicy()


def never() -> bool:
    """Go on for ever."""
    return False


def process(
    consumer: Consumer,
    handle: Callable[[Record], object],
    *,
    dead_letters: Producer | None = None,
    dead_letter_topic: Callable[[Record], str] = lambda record: record.topic + SUFFIX,
    retry: RetryPolicy = DEFAULT_RETRY,
    records_max: int = RECORDS_MAX,
    stop: Callable[[], bool] = never,
) -> None:
    """Handle each record at least once, and commit what was handled.

    A record that fails is tried again as `retry` says. One that fails for good goes to a dead-letter topic, with
    headers that say where it comes from and why, and the next one is handled; without `dead_letters` its error ends the
    loop.
    """
    while not stop():
        batch = _Batch(consumer, dead_letters, dead_letter_topic)
        try:
            for record in consumer.poll_many(records_max, POLL_S):
                if stop():
                    break
                batch.settle(record, _handle(consumer, record, handle, retry))
        finally:
            batch.commit()


def read_process_write(
    consumer: Consumer,
    producer: Producer,
    handle: Callable[[Sequence[Record]], object],
    *,
    records_max: int = RECORDS_MAX,
    stop: Callable[[], bool] = never,
) -> None:
    """Exactly once: what `handle` sends with the producer and the offsets of what it was given count together.

    Whatever is aborted is read and handled again. An error of `handle` aborts its transaction and ends the loop;
    ProducerFenced ends it where another process has taken over.
    """
    # Offsets of a transaction that a former process left open cannot be read before that is ended.
    producer.init_transactions()
    aborted = 0
    while not stop():
        records = consumer.poll_many(records_max, POLL_S)
        if not records:
            continue
        try:
            with producer.transaction() as transaction:
                handle(records)
                transaction.commit_offsets_of(consumer)
            aborted = 0
        except TransactionAborted:
            aborted += 1
            consumer.rewind()
            consumer.wait(pause_s(aborted))
        except BaseException:
            consumer.rewind()
            raise


def letter_headers(record: Record, reason: GiveUp, group: str) -> Headers:
    """What a dead letter says of itself: where it comes from, and why it is one."""
    origin = Origin(record.topic, record.partition, record.offset, record.timestamp_ms)
    return dead_letter_headers(record.headers, origin, reason, f"group={group}")


class _Batch:
    """Records that are handled, one way or the other, before their offsets are committed."""

    def __init__(
        self, consumer: Consumer, dead_letters: Producer | None, dead_letter_topic: Callable[[Record], str]
    ) -> None:
        self._consumer = consumer
        self._dead_letters = dead_letters
        self._dead_letter_topic = dead_letter_topic
        self._done: list[Record] = []
        self._buried: list[Future[Sent]] = []

    def settle(self, record: Record, failure: _Failure | None) -> None:
        """The record is handled, or becomes a dead letter; without a place for these its error goes on."""
        if failure is not None:
            if self._dead_letters is None:
                raise failure.error
            self._buried.append(self._bury(record, failure.reason, self._dead_letters))
        self._done.append(record)

    def commit(self) -> None:
        """Commit what is done, once its dead letters are safe; what was polled besides comes again."""
        if self._dead_letters is not None and self._buried:
            self._dead_letters.flush()
        for sent in self._buried:
            sent.result()
        if self._done:
            self._consumer.commit_offsets(self._done)
        self._consumer.rewind()

    def _bury(self, record: Record, reason: GiveUp, producer: Producer) -> Future[Sent]:
        headers = letter_headers(record, reason, self._consumer.group)
        return producer.send(self._dead_letter_topic(record), record.key, record.value, headers=headers)


class _Failure:
    """What a record failed with for good."""

    def __init__(self, error: Exception, reason: GiveUp) -> None:
        self.error = error
        self.reason = reason


def _handle(
    consumer: Consumer, record: Record, handle: Callable[[Record], object], retry: RetryPolicy
) -> _Failure | None:
    attempts = 0
    while True:
        try:
            handle(record)
            return None
        except Exception as error:
            attempts += 1
            decision = decide(retry, error, attempts, random.random())
            if isinstance(decision, GiveUp):
                return _Failure(error, decision)
            consumer.wait(decision.pause_ms / 1000)


def pause_s(attempts: int) -> float:
    """Longer and longer, up to two seconds, so that two that disturb each other fall out of step."""
    return random.uniform(0.5, 1.0) * min(2.0, 0.05 * 2.0 ** min(attempts, 10))
