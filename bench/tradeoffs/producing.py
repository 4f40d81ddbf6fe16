"""A real producer in two moods: at a steady pace, to see how long records take, and as fast as it can."""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable

from confluent_kafka import Producer

from bench.loadgen import Figures
from bench.pacing import due_times

FLUSH_TIMEOUT_S = 60.0
# Left out of the figures: connecting, and the first metadata.
FIRST_S = 1.0
Settings = dict[str, str | int | float]


def orders(count: int) -> list[bytes]:
    """What people put into records: JSON that repeats its field names, with values that do not repeat."""
    chance = random.Random(1)
    dishes = ["ramen", "pizza margherita", "pho bo", "tacos al pastor", "bibimbap"]
    return [
        json.dumps(
            {
                "order_id": f"{chance.getrandbits(64):016x}",
                "customer_id": chance.randrange(100_000),
                "items": [
                    {"dish": chance.choice(dishes), "price_cents": chance.randrange(300, 3000)} for _ in range(3)
                ],
                "placed_at_ms": 1_700_000_000_000 + number * 37,
            }
        ).encode()
        for number in range(count)
    ]


class _Deliveries:
    def __init__(self) -> None:
        self.taken_ms: list[float] = []

    def expect(self, due: float) -> Callable[[object, object], None]:
        def told(error: object, _message: object) -> None:
            assert error is None, f"a record was not delivered: {error}"
            self.taken_ms.append((time.monotonic() - due) * 1000)

        return told


def at_a_pace(settings: Settings, topic: str, value: bytes, records_per_s: int, seconds: float) -> Figures:
    """Records are due evenly and timed from when they were due until the client is told of their delivery."""
    producer = Producer(settings)
    deliveries = _Deliveries()
    last = time.monotonic() + FIRST_S + seconds
    for due in due_times(producer, records_per_s):
        producer.produce(topic, value, on_delivery=deliveries.expect(due))
        if due >= last:
            break
    assert not producer.flush(FLUSH_TIMEOUT_S), "records were left undelivered"
    counted = deliveries.taken_ms[int(FIRST_S * records_per_s) :]
    hundredths = statistics.quantiles(counted, n=100)
    return {"p50_ms": hundredths[49], "p99_ms": hundredths[98]}


def flat_out(settings: Settings, topic: str, values: list[bytes]) -> Figures:
    producer = Producer({"queue.buffering.max.messages": 1_000_000, **settings})
    began = time.monotonic()
    for value in values:
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:
                producer.poll(0.01)
    assert not producer.flush(FLUSH_TIMEOUT_S), "records were left undelivered"
    return {"records_per_s": len(values) / (time.monotonic() - began)}
