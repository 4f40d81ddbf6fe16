"""A consumer group that never stops, and remembers what it read and what it was refused."""

from __future__ import annotations

import threading
from collections import Counter
from types import TracebackType
from typing import Self

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tests.chaos.load import CLIENT, Ack
from tests.waiting import wait_until

CAUGHT_UP_SECONDS_MAX = 60.0
_POLL_SECONDS = 0.1
_RECORDS_MAX = 500
# What a client tells of connections that end is no refusal: it connects again by itself.
_PASSES = frozenset({KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT})
_SETTINGS = {key: CLIENT[key] for key in ("log_level", "socket.timeout.ms", "reconnect.backoff.max.ms")}


class Reading:
    """One classic member that commits what it has read after every poll."""

    def __init__(self, bootstrap: str, topic: str, group: str = "reading") -> None:
        self.errors: list[str] = []
        self.seen: Counter[tuple[int, int]] = Counter()
        self.commits = 0
        self._topic = topic
        self._settings = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "on_commit": self._committed,
            **_SETTINGS,
        }
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._read, name="reading", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join(CAUGHT_UP_SECONDS_MAX)

    @property
    def repeated(self) -> int:
        """Records that came again: after a rebalance what was not committed is read once more."""
        return sum(count - 1 for count in self.seen.values())

    def finish(self, acks: list[Ack]) -> None:
        """Wait until everything acknowledged was read, and stop."""
        places = {(ack.partition, ack.offset) for ack in acks}
        wait_until(
            lambda: places <= self.seen.keys(), timeout_s=CAUGHT_UP_SECONDS_MAX, what="the group has read it all"
        )
        self.__exit__(None, None, None)
        assert not self.errors, f"{len(self.errors)} errors reached the consumer, first {self.errors[0]}"

    def _read(self) -> None:
        consumer = Consumer(self._settings)
        try:
            consumer.subscribe([self._topic])
            while not self._is_over.is_set():
                messages = consumer.consume(_RECORDS_MAX, _POLL_SECONDS)
                for message in messages:
                    self._take(message.error(), message.partition(), message.offset())
                if messages:
                    consumer.commit(asynchronous=True)
        except KafkaException as failure:
            self.errors.append(repr(failure))
        finally:
            consumer.close()

    def _take(self, error: KafkaError | None, partition: int | None, offset: int | None) -> None:
        if error is None:
            assert partition is not None, "what is read has a partition"
            assert offset is not None, "what is read has an offset"
            self.seen[partition, offset] += 1
        elif error.code() not in _PASSES:
            self.errors.append(str(error))

    def _committed(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        self.commits += 1
        # Nothing was new since the last commit.
        if error is not None and error.code() != KafkaError._NO_OFFSET:
            self.errors.append(f"commit: {error}")
        self.errors += [f"commit: {each.error}" for each in partitions if each.error is not None]
