"""What `penstock bench` measures: how fast records are written and read, and how long one is on its way.

Each is measured by a client as a person uses it, which is written in Python and a part of what the figures say.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from penstock.client.blocking import Client
from penstock.client.errors import ClientError, check
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import edges
from penstock.client.producing import Producer
from penstock.client.reading import Reader
from penstock.core.base.errors import ErrorCode

RUN_BYTES = 8
NUMBER_BYTES = 8
MARK_BYTES = RUN_BYTES + NUMBER_BYTES
"""A record that is waited for begins with its run's mark and its number."""
VALUES = 512
"""Different values, so that a codec finds in them what it finds in most: something."""
LOOK_MS = 100


class Flow(NamedTuple):
    """So many records in so many seconds."""

    records: int
    bytes: int
    seconds: float

    @property
    def records_per_second(self) -> int:
        return round(self.records / self.seconds)

    @property
    def megabytes_per_second(self) -> float:
        return round(self.bytes / self.seconds / 1e6, 1)


class Spread(NamedTuple):
    """Times in milliseconds."""

    p50: float
    p99: float
    max: float


class Delays(NamedTuple):
    """From when a record was due to its acknowledgement, and until a reader had it."""

    acknowledged: Spread
    read: Spread


def write(producer: Producer, topic: str, records: int, record_bytes: int) -> Flow:
    """Write as fast as it goes, and wait until all of it is acknowledged."""
    half = record_bytes // 2
    values = [os.urandom(half) + bytes(record_bytes - half) for _ in range(VALUES)]
    send, began = producer.send, time.perf_counter()
    for number in range(records):
        send(topic, None, values[number % VALUES])
    producer.flush()
    return Flow(records, records * record_bytes, time.perf_counter() - began)


def read(client: Client, topic: str, records: int | None, sizes: Mapping[str, int]) -> Flow:
    """Read from the beginning until so many were read, or until the end as it is now."""
    places = [TopicPartition(topic, each.number) for each in client.topic(topic).partitions]
    ends = edges(client, places)
    reader = Reader(
        client,
        {where: first for where, (first, _) in ends.items()},
        until={where: end for where, (_, end) in ends.items()},
        **sizes,
    )
    count, size, began = 0, 0, time.perf_counter()
    for chunk in reader:
        count += len(chunk.records)
        size += sum(len(record.value or b"") + len(record.key or b"") for record in chunk.records)
        if records is not None and count >= records:
            break
    return Flow(count, size, time.perf_counter() - began)


def time_records(
    producer: Producer, reading: Client, topic: str, records: int, record_bytes: int, rate: float
) -> Delays:
    """Write one record after the other at a rate, and read them on another connection."""
    where = TopicPartition(topic, 0)
    run = os.urandom(RUN_BYTES)
    arrivals = _Arrivals(Reader(reading, {where: edges(reading, [where])[where][1]}), run, records)
    filler = os.urandom(max(record_bytes - MARK_BYTES, 0))
    began, due, acknowledged = time.perf_counter(), [], []
    arrivals.start()
    try:
        for number in range(records):
            due.append(began + number / rate)
            time.sleep(max(due[-1] - time.perf_counter(), 0))
            producer.send(topic, None, run + number.to_bytes(NUMBER_BYTES) + filler, partition=where.partition)
            producer.flush()
            acknowledged.append(time.perf_counter() - due[-1])
        arrived = arrivals.wait(reading.timeout)
    finally:
        arrivals.stop()
    return Delays(_spread(acknowledged), _spread([arrived[number] - due[number] for number in range(records)]))


class _Arrivals(threading.Thread):
    """A reader that notes when each record of a run came."""

    def __init__(self, reader: Reader, run: bytes, count: int) -> None:
        super().__init__(daemon=True)
        self._reader = reader
        self._run = run
        self._count = count
        self._at: dict[int, float] = {}
        self._failure: ClientError | None = None
        self._is_over = threading.Event()

    def run(self) -> None:
        try:
            while len(self._at) < self._count and not self._is_over.is_set():
                for chunk in self._reader.poll(LOOK_MS):
                    now = time.perf_counter()
                    for record in chunk.records:
                        value = record.value or b""
                        if value.startswith(self._run):
                            self._at[int.from_bytes(value[RUN_BYTES:MARK_BYTES])] = now
        except ClientError as failure:
            self._failure = failure
        self._is_over.set()

    def wait(self, seconds: float) -> dict[int, float]:
        self._is_over.wait(seconds)
        if self._failure is not None:
            raise self._failure
        if len(self._at) < self._count:
            check(ErrorCode.REQUEST_TIMED_OUT, f"reading {self._count - len(self._at)} of {self._count} records")
        return self._at

    def stop(self) -> None:
        self._is_over.set()
        self.join()


def _spread(seconds: Sequence[float]) -> Spread:
    in_order = sorted(each * 1000 for each in seconds)
    last = len(in_order) - 1
    return Spread(*(round(in_order[round(last * share)], 3) for share in (0.5, 0.99, 1)))
