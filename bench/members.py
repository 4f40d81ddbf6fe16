"""Many librdkafka consumers of one group in this process, and the moment at which all of them hold their share.

What they ask the broker is counted by librdkafka itself, so it is counted alike whoever the broker is.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Final

from confluent_kafka import Consumer, TopicPartition

# Once everybody holds a share, nothing may move for this long; and everybody has told its counts since.
STEADY_S: Final = 2.0
COUNTED_EVERY_MS: Final = 1_000
ASSIGNED_TIMEOUT_S: Final = 300.0
LOOK_AGAIN_S: Final = 0.002
# Closing waits for the coordinator, and the whole group does it at once.
LEAVING_MAX: Final = 64

UNNAMED: Final = "Unnamed"
"""What a connection sent beyond the APIs that librdkafka names in its statistics: ConsumerGroupHeartbeat is not among
them."""

_DECODER: Final = json.JSONDecoder()
_numbers = count(1)


def requests_in(statistics: str) -> Counter[str]:
    """How often each API was asked for, over all connections of one client.

    Only the brokers are parsed: what it says of a topic of 500 partitions is half a megabyte.
    """
    asked = Counter[str]()
    brokers, _ = _DECODER.raw_decode(statistics, statistics.index("{", statistics.index('"brokers"')))
    for broker in brokers.values():
        asked.update(broker["req"])
        asked[UNNAMED] += broker["tx"] - sum(broker["req"].values())
    return +asked


def is_shared(held: Sequence[set[int]], partitions: int) -> bool:
    """Complete, disjoint, and nobody without."""
    sizes = [len(each) for each in held]
    return min(sizes) > 0 and sum(sizes) == len(set[int]().union(*held)) == partitions


class Member:
    """One consumer, what it holds, and what it has asked for since it was made."""

    def __init__(self, topic: str, settings: Mapping[str, str | int | bool]) -> None:
        self.held: set[int] = set()
        self.changed_s = self.counted_s = time.monotonic()
        self.asked = Counter[str]()
        own = {"statistics.interval.ms": COUNTED_EVERY_MS, "stats_cb": self._count}
        self.consumer = Consumer({**settings, **own})
        self.consumer.subscribe([topic], on_assign=self._gain, on_revoke=self._lose, on_lost=self._lose)

    def _gain(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.held |= {each.partition for each in partitions}
        self.changed_s = time.monotonic()

    def _lose(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.held -= {each.partition for each in partitions}
        self.changed_s = time.monotonic()

    def _count(self, statistics: str) -> None:
        self.asked, self.counted_s = requests_in(statistics), time.monotonic()

    def poll(self) -> None:
        message = self.consumer.poll(0)
        error = message.error() if message is not None else None
        if error is not None and error.fatal():
            raise RuntimeError(f"a member failed: {error}")


class Members:
    """A group. A context manager: at its end everybody leaves."""

    def __init__(self, port: int, topic: str, partitions: int, settings: Mapping[str, str | int | bool]) -> None:
        self._topic, self._partitions = topic, partitions
        self._settings: dict[str, str | int | bool] = {
            "bootstrap.servers": f"127.0.0.1:{port}",
            "group.id": f"bench-group-{next(_numbers)}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **settings,
        }
        self._all: list[Member] = []
        self._leaving = ThreadPoolExecutor(LEAVING_MAX)

    def __enter__(self) -> Members:
        return self

    def __exit__(self, *raised: object) -> None:
        for _ in range(len(self._all)):
            self._leave_one()
        self._leaving.shutdown()

    def join(self, number: int) -> None:
        self._all += [Member(self._topic, self._settings) for _ in range(number)]

    def leave(self) -> None:
        """One closes, while the others go on."""
        self._leave_one()

    def _leave_one(self) -> None:
        self._leaving.submit(self._all.pop().consumer.close)

    def asked(self) -> Counter[str]:
        return sum((each.asked for each in self._all), Counter[str]())

    def until_assigned(self) -> float:
        """When the last change came, after which everybody holds a share of all partitions and keeps it."""
        until = time.monotonic() + ASSIGNED_TIMEOUT_S
        while time.monotonic() < until:
            for each in self._all:
                each.poll()
            changed_s = max(each.changed_s for each in self._all)
            if is_shared([each.held for each in self._all], self._partitions) and self._is_settled(changed_s):
                return changed_s
            time.sleep(LOOK_AGAIN_S)
        raise TimeoutError(f"no assignment: {sorted(len(each.held) for each in self._all)} of {self._partitions}")

    def _is_settled(self, changed_s: float) -> bool:
        counted_s = min(each.counted_s for each in self._all)
        return counted_s > changed_s and time.monotonic() - changed_s >= STEADY_S
