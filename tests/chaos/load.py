"""Producers that never stop and remember what was acknowledged to them, where, and when."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise
from types import TracebackType
from typing import NamedTuple, Self

from confluent_kafka import KafkaError, Message, Producer

PRODUCERS = 2
RECORDS_PER_SECOND = 250
KEYS = 24
BURST_MAX = 200
FLUSH_SECONDS_MAX = 120.0
PADDING = b"." * 80
CLIENT: Mapping[str, str | int] = {
    "enable.idempotence": True,
    "linger.ms": 5,
    # That nodes go away is no news here.
    "log_level": 0,
    # A fault that outlasts this is a failure of the run.
    "message.timeout.ms": 120_000,
    # How long a request waits for a node that hangs: the client looks at that once a second, and asks nobody who leads
    # by now before it has given up. Its default, 60 s, would hide what the cluster does.
    "socket.timeout.ms": 1000,
    "reconnect.backoff.max.ms": 500,
}


class Ack(NamedTuple):
    """One record that the cluster has promised to keep."""

    partition: int
    offset: int
    value: bytes
    at: float


class Load:
    """Idempotent producers with acks=all, each in a thread. A value is `producer:key:number` with padding behind."""

    def __init__(self, bootstrap: str, topic: str, *, records_per_second: int = RECORDS_PER_SECOND) -> None:
        self.topic = topic
        self.acks: list[Ack] = []
        self.latencies: list[float] = []
        """Seconds from `produce` to the acknowledgement, record by record."""
        self._pause = PRODUCERS / records_per_second
        self.errors: list[str] = []
        self._last_ack: dict[int, float] = {}
        self._is_over = threading.Event()
        self._is_abandoned = False
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._produce, args=(name, bootstrap), name=f"producer-{name}", daemon=True)
            for name in range(PRODUCERS)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_abandoned = True
        self._end()

    def finish(self) -> None:
        """Stop producing and wait until every record is acknowledged."""
        self._end()
        assert not self.errors, f"{len(self.errors)} errors reached the application, first {self.errors[0]}"

    def p99(self) -> float:
        """Of the seconds until records were acknowledged."""
        return sorted(self.latencies)[len(self.latencies) * 99 // 100]

    def acknowledged_since(self, moment: float, partitions: int) -> bool:
        """Whether every partition has acknowledged something after that moment."""
        with self._lock:
            return len(self._last_ack) == partitions and min(self._last_ack.values()) > moment

    def longest_gap(self, begin: float, end: float) -> float:
        """The longest time between two acknowledgements of one partition that lies, even in part, between the two
        moments."""
        with self._lock:
            acks = list(self.acks)
        times: dict[int, list[float]] = defaultdict(list)
        for ack in acks:
            times[ack.partition].append(ack.at)
        gaps = [
            after - before
            for moments in times.values()
            for before, after in pairwise(moments)
            if after > begin and before < end
        ]
        return max(gaps, default=0.0)

    def _end(self) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join(FLUSH_SECONDS_MAX + 10)

    def _produce(self, name: int, bootstrap: str) -> None:
        producer = Producer({"bootstrap.servers": bootstrap, **CLIENT})
        counts = [0] * KEYS
        turn = 0
        began = time.monotonic()
        while not self._is_over.wait(self._pause):
            # On a busy machine a wait takes longer than it was meant to; then several are due.
            due = int((time.monotonic() - began) / self._pause) - turn
            for _ in range(min(max(due, 1), BURST_MAX)):
                key = turn % KEYS
                turn += 1
                counts[key] += 1
                value = b"%d:%d:%d:%s" % (name, key, counts[key], PADDING)
                producer.produce(self.topic, value, key=b"%d" % key, on_delivery=self._delivered)
            producer.poll(0)
        if self._is_abandoned:
            producer.purge()
        left = producer.flush(FLUSH_SECONDS_MAX)
        if left:
            self.errors.append(f"{left} records were neither acknowledged nor refused")

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        now = time.monotonic()
        with self._lock:
            if error is not None:
                self.errors.append(str(error))
                return
            partition, offset, value = message.partition(), message.offset(), message.value()
            assert partition is not None, "what is acknowledged has a partition"
            assert offset is not None, "what is acknowledged has an offset"
            assert isinstance(value, bytes), "the load writes bytes"
            self.acks.append(Ack(partition, offset, value, now))
            self.latencies.append(message.latency() or 0.0)
            self._last_ack[partition] = now
