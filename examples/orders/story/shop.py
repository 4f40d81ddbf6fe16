"""The app that takes the orders: a thread that writes them to the log at its own pace, and knows nobody who reads."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from typing import Self

from confluent_kafka import Producer

from examples.orders.story.audit import Produced
from examples.orders.topics import ORDERS
from examples.orders.traffic import Traffic

TICK_S = 0.05
FLUSH_S_MAX = 30


class Shop:
    """Open as long as the `with` block, or until it is closed."""

    def __init__(self, address: str, per_minute: int) -> None:
        self._usual = self._surge = per_minute
        self._surge_ends = 0.0
        self._traffic = Traffic()
        where = {"bootstrap.servers": address, "log_level": "0"}
        self._producer = Producer({**where, "enable.idempotence": True, "linger.ms": 20})
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="shop", daemon=True)
        self.acknowledged = 0
        self.failed = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def surge(self, per_minute: int, seconds: float) -> None:
        """Everybody is hungry at once, for a while."""
        self._surge, self._surge_ends = per_minute, time.monotonic() + seconds

    @property
    def per_minute(self) -> int:
        if self._closing.is_set():
            return 0
        return self._surge if self.is_in_surge else self._usual

    @property
    def is_in_surge(self) -> bool:
        return time.monotonic() < self._surge_ends

    @property
    def produced(self) -> Produced:
        return Produced(self._traffic.placed, self._traffic.poisoned, self.acknowledged)

    def close(self) -> None:
        """Take no more orders; returns when the last one is acknowledged."""
        self._closing.set()
        self._thread.join()
        self._producer.flush(FLUSH_S_MAX)

    def _serve(self) -> None:
        owed, before = 0.0, time.monotonic()
        while not self._closing.wait(TICK_S):
            now = time.monotonic()
            owed, before = owed + (now - before) * self.per_minute / 60, now
            self._take(int(owed))
            owed -= int(owed)

    def _take(self, count: int) -> None:
        for _ in range(count):
            for event in self._traffic.next(datetime.now(UTC)):
                on_delivery = self._count if event.topic == ORDERS else None
                self._producer.produce(event.topic, event.value, event.key, on_delivery=on_delivery)
        self._producer.poll(0)

    def _count(self, error: object, _: object) -> None:
        if error is None:
            self.acknowledged += 1
        else:
            self.failed += 1
