"""A producer: `send` gives a future at once, and a thread of its own brings the acknowledgements.

Idempotent and acks=all unless told otherwise, so that retries neither lose, double nor reorder anything.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from penstock.api.config import client_config
from penstock.api.errors import PenstockError, ProducerFenced, TimedOut, checked_config, error_of, explained
from penstock.api.transactions import Transaction
from penstock.api.values import Headers, Sent, Serializer, as_bytes, as_headers, sent_of

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

POLL_S: Final = 0.05
"""How long an acknowledgement may lie there before it is brought; it wakes the thread, so this bounds only closing."""
CLOSE_S_MAX: Final = 30.0
SEND_S_MAX: Final = 60.0
"""How long `send` waits for room when the producer's buffer is full."""


class Producer:
    """Sends records. Threads may share one; processes may not."""

    def __init__(
        self,
        bootstrap: str,
        *,
        transactional_id: str | None = None,
        transaction_timeout_ms: int = 60_000,
        key_serializer: Serializer = as_bytes,
        value_serializer: Serializer = as_bytes,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        """`config` takes whatever librdkafka knows, such as {"linger.ms": 5, "compression.type": "zstd"}. With a
        `transactional_id` everything is sent in transactions, see `transaction`."""
        from confluent_kafka import Producer as Client

        fixed: dict[str, Any] = {}
        if transactional_id is not None:
            if not transactional_id:
                raise ValueError("a transactional id is not empty")
            fixed = {"transactional.id": transactional_id, "transaction.timeout.ms": transaction_timeout_ms}
        acks = (config or {}).get("acks", "all")
        defaults = {"enable.idempotence": str(acks) in ("all", "-1")}
        with checked_config():
            self._client = Client(client_config(bootstrap, defaults, config, fixed))
        self._serialize_key, self._serialize_value = key_serializer, value_serializer
        self.transactional_id = transactional_id
        self._is_initialized = False
        self._open: Transaction | None = None
        self._closed = threading.Event()
        self._poller = threading.Thread(target=self._poll, name="penstock-producer", daemon=True)
        self._poller.start()

    def send(
        self,
        topic: str,
        key: Any = None,
        value: Any = None,
        *,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        wait_for_room: bool = True,
    ) -> Future[Sent]:
        """Send a record and go on. The future tells where it is once it is acknowledged, or raises why not. Where the
        producer's buffer is full it waits for room, or raises BufferError without `wait_for_room`."""
        self._check_may_send()
        outcome: Future[Sent] = Future()
        # What is on its way cannot be called back, whoever gives up waiting for it.
        outcome.set_running_or_notify_cancel()

        def acknowledged(error: KafkaError | None, message: Message) -> None:
            if error is None:
                outcome.set_result(sent_of(message))
            else:
                outcome.set_exception(error_of(error, f"sending to {topic}"))

        options: dict[str, Any] = {"headers": as_headers(headers), "on_delivery": acknowledged}
        if partition is not None:
            options["partition"] = partition
        if timestamp_ms is not None:
            options["timestamp"] = timestamp_ms
        self._produce(topic, self._serialize_key(key), self._serialize_value(value), options, wait_for_room)
        return outcome

    def send_and_wait(self, topic: str, key: Any = None, value: Any = None, **options: Any) -> Sent:
        """Send a record and wait until it is acknowledged; the options are those of `send`."""
        return self.send(topic, key, value, **options).result()

    def flush(self, timeout_s: float = SEND_S_MAX) -> None:
        """Wait until all that was sent is acknowledged, or has failed; each record's future says which."""
        with explained("sending what is left"):
            left = self._client.flush(timeout_s)
        if left:
            raise TimedOut(f"{left} records were not acknowledged within {timeout_s:g} s", "_TIMED_OUT")

    def transaction(self) -> Transaction:
        """A transaction, for a `with`: committed at its end, aborted by an exception that leaves it."""
        if self.transactional_id is None:
            raise ValueError("transactions need a transactional id: Producer(..., transactional_id='my-service-1')")
        self._check_open()
        if self._open is not None:
            raise ValueError("a transaction is open already; one producer has one at a time")
        return Transaction(self._client, self._entered, self._left)

    def init_transactions(self, timeout_s: float = SEND_S_MAX) -> None:
        """Fence whoever had this transactional id before, and end what they left open. The first transaction does it by
        itself; to do it at the start shows early that a broker can be reached."""
        if not self._is_initialized:
            with explained(f"beginning as {self.transactional_id}"):
                self._client.init_transactions(timeout_s)
            self._is_initialized = True

    def close(self, timeout_s: float = CLOSE_S_MAX) -> None:
        """Send what is left and end; raises TimedOut where that takes too long. An open transaction is aborted."""
        if self._closed.is_set():
            return
        try:
            if self._open is not None:
                self._open.abort()
            # Where another producer has taken over there is nothing left to send.
            with suppress(ProducerFenced):
                self.flush(timeout_s)
        finally:
            self._closed.set()
            self._poller.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except PenstockError:
            # What ended the block is what its caller must hear of.
            if error is None:
                raise

    # Inside

    def _produce(
        self, topic: str, key: bytes | None, value: bytes | None, options: dict[str, Any], wait_for_room: bool
    ) -> None:
        end = time.monotonic() + SEND_S_MAX
        while True:
            try:
                with explained(f"sending to {topic}"):
                    self._client.produce(topic, value, key, **options)
                return
            except BufferError:
                if not wait_for_room:
                    raise
                # Acknowledgements make room, and this thread may fetch them as well as the other one.
                if time.monotonic() > end:
                    raise TimedOut(f"the producer's buffer stayed full for {SEND_S_MAX:g} s", "_QUEUE_FULL") from None
                with explained(f"sending to {topic}"):
                    self._client.poll(POLL_S)

    def _poll(self) -> None:
        from confluent_kafka import KafkaException

        while not self._closed.is_set():
            try:
                self._client.poll(POLL_S)
            except KafkaException:
                # The producer is at its end. That is told by the records' futures, which still come, and by what is
                # asked next.
                self._closed.wait(POLL_S)

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise ValueError("the producer is closed")

    def _check_may_send(self) -> None:
        self._check_open()
        if self.transactional_id is not None and self._open is None:
            raise ValueError("a transactional producer sends in a transaction: with producer.transaction(): ...")

    def _entered(self, transaction: Transaction) -> None:
        self.init_transactions()
        self._open = transaction

    def _left(self) -> None:
        self._open = None
