"""Orders to carry out, and the audit of what was carried out."""

from __future__ import annotations

import random
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable
from types import TracebackType
from typing import Any, NamedTuple, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from tests.chaos.load import CLIENT
from tests.waiting import wait_until

ORDERS, LEDGER, GROUP = "orders", "ledger", "tellers"
ACCOUNTS = 12
LEDGER_PARTITIONS = 3
ORDERS_PER_SECOND = 40
"""For each teller."""
END_SECONDS_MAX = 120.0
COMPLAINTS_MAX = 10
_SETTINGS = {key: CLIENT[key] for key in ("log_level", "socket.timeout.ms", "reconnect.backoff.max.ms")}
# What a client tells of connections that end is no complaint: it connects again by itself.
_PASSES = frozenset({KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT})


class Order(NamedTuple):
    """So much from one account to another. In text, numbers with colons between them."""

    name: str
    source: int
    target: int
    amount: int

    def entries(self) -> list[tuple[int, str]]:
        """What goes into which partition of the ledger."""
        return [
            (self.source % LEDGER_PARTITIONS, f"{self.name}:{self.source}:{-self.amount}"),
            (self.target % LEDGER_PARTITIONS, f"{self.name}:{self.target}:{self.amount}"),
        ]


def parse(value: bytes | None) -> Order:
    name, *numbers = (value or b"").decode().split(":")
    return Order(name, *map(int, numbers))


def committed_reader(bootstrap: str, **settings: object) -> Consumer:
    """One that does not follow where somebody else has written: it is told where to begin."""
    fixed: dict[str, Any] = {"group.id": GROUP, "enable.auto.commit": False, "auto.offset.reset": "error"}
    isolation = {"isolation.level": "read_committed", "fetch.wait.max.ms": 100}
    return Consumer({"bootstrap.servers": bootstrap, **_SETTINGS, **fixed, **isolation, **settings})


class Orders:
    """Written at a steady rate, by an idempotent producer, until it is enough."""

    def __init__(self, bootstrap: str, tellers: int, chance: random.Random) -> None:
        self.placed: dict[str, Order] = {}
        self.counts: Counter[int] = Counter()
        self._tellers = tellers
        self._chance = chance
        self._producer = Producer({"bootstrap.servers": bootstrap, **CLIENT})
        self._is_enough = threading.Event()
        self._thread = threading.Thread(target=self._place, name="orders", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_enough.set()
        self._thread.join()

    def finish(self) -> None:
        self._is_enough.set()
        self._thread.join()
        assert self._producer.flush(END_SECONDS_MAX) == 0, "some orders were never acknowledged"

    def _place(self) -> None:
        while not self._is_enough.wait(1 / (ORDERS_PER_SECOND * self._tellers)):
            number = len(self.placed)
            source, target = self._chance.sample(range(ACCOUNTS), 2)
            order = Order(f"o{number}", source, target, self._chance.randint(1, 100))
            self.placed[order.name] = order
            self.counts[number % self._tellers] += 1
            value = ":".join(map(str, order))
            self._producer.produce(ORDERS, value.encode(), partition=number % self._tellers)
            self._producer.poll(0)


class Audit:
    """Reads the ledger as it is written. An entry that comes twice is wrong at once; one without its other half is
    wrong once nothing more is coming."""

    def __init__(self, bootstrap: str) -> None:
        self.complaints: list[str] = []
        self.halves: dict[str, dict[int, int]] = defaultdict(dict)
        self._reader = committed_reader(bootstrap)
        self._reader.assign([TopicPartition(LEDGER, each, 0) for each in range(LEDGER_PARTITIONS)])
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="audit", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()
        self._reader.close()

    @property
    def balance(self) -> int:
        """Over all accounts, of all that has been read: nothing, once every order has both halves."""
        return sum(amount for halves in list(self.halves.values()) for amount in halves.values())

    def carried_out(self) -> int:
        return sum(len(halves) == 2 for halves in list(self.halves.values()))

    def wait_for(self, count: int) -> None:
        wait_until(lambda: self.carried_out() >= count, timeout_s=END_SECONDS_MAX, what=f"{count} orders in the ledger")

    def verdict(self, placed: Iterable[Order]) -> list[str]:
        """When all that was ordered has been read."""
        expected = {order.name: {order.source: -order.amount, order.target: order.amount} for order in placed}
        wrong = [name for name, halves in expected.items() if self.halves.get(name) != halves]
        return [
            *self.complaints,
            *(f"wrong: order {name} is {self.halves.get(name)} in the ledger" for name in wrong),
            *(f"unknown: order {name} was never placed" for name in self.halves.keys() - expected.keys()),
            *([f"the sum over all accounts is {self.balance}"] if self.balance else []),
        ][:COMPLAINTS_MAX]

    def _watch(self) -> None:
        while not self._is_over.is_set():
            for message in self._reader.consume(500, 0.1):
                error = message.error()
                if error is None:
                    self._take(message.value(), f"{message.partition()}:{message.offset()}")
                elif error.code() not in _PASSES:
                    self.complaints.append(f"the reader was told: {error}")

    def _take(self, value: bytes | None, where: str) -> None:
        name, account, amount = (value or b"").decode().split(":")
        halves = self.halves[name]
        if int(account) in halves:
            self.complaints.append(f"twice: {name} for account {account}, again at {where}")
        halves[int(account)] = int(amount)


class Place:
    """Where a teller stands in its orders, as the group knows it: the tellers that come after it begin there."""

    def __init__(self, bootstrap: str, partition: int) -> None:
        self.partition = partition
        self._reader = committed_reader(bootstrap)
        self._position: int | None = None

    def next(self, count: int) -> tuple[list[Order], int]:
        """Some orders, if there are any, and where the ones behind them begin."""
        if self._position is None:
            self._position = self._committed()
            if self._position is None:
                return [], 0
            self._reader.assign([TopicPartition(ORDERS, self.partition, self._position)])
        found = [message for message in self._reader.consume(count, 0.02) if message.error() is None]
        if found:
            self._position = (found[-1].offset() or 0) + 1
        return [parse(message.value()) for message in found], self._position

    def forget(self) -> None:
        """What has become of the last transaction is not known here."""
        self._position = None

    def close(self) -> None:
        self._reader.close()

    def _committed(self) -> int | None:
        """None while nobody can say, or a transaction with an offset in it is open."""
        try:
            (found,) = self._reader.committed([TopicPartition(ORDERS, self.partition)], 5)
        except KafkaException:
            return None
        return None if found.error else max(found.offset, 0)
