"""How long a test waits for its node: from making a `Broker` to the first acknowledged record.

Run as `python -m bench.fixture_startup`. The first round of a process pays for imports and is shown apart.
"""

from __future__ import annotations

import statistics
import time

from confluent_kafka import Producer

from penstock.testing import Broker

ROUNDS = 15


def first_ack_ms(beside: bool) -> float:
    """One node from nothing to its first acknowledged record, the topic's creation included."""
    begun = time.perf_counter()
    with Broker(beside=beside) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0, "log_level": 0})
        producer.produce("first", b"record")
        assert producer.flush(10) == 0
        return (time.perf_counter() - begun) * 1000


def main() -> None:
    for place, beside in (("in the test process", False), ("beside it", True)):
        first, *rest = (first_ack_ms(beside) for _ in range(ROUNDS))
        print(
            f"{place}: first {first:.0f} ms, then median {statistics.median(rest):.0f} ms, "
            f"slowest {max(rest):.0f} ms of {len(rest)}"
        )


if __name__ == "__main__":
    main()
