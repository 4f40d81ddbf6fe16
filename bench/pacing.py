"""Records that are due evenly, whether or not the ones before have been answered."""

import time
from collections.abc import Iterator

from confluent_kafka import Producer


def due_times(producer: Producer, per_s: float) -> Iterator[float]:
    """When each record is due, given at that time, for ever. Until then the client hears what it is told."""
    due = time.monotonic()
    while True:
        due += 1 / per_s
        while (left := due - time.monotonic()) > 0:
            producer.poll(left)
        yield due
