"""Everything a topic holds, as numbers to compare: what two brokers show is the same if these are equal."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from typing import NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

READ_SECONDS_MAX = 60.0
POLL_SECONDS = 0.05
BATCH = 5000


class Digest(NamedTuple):
    """A partition's records: how many, from where to where, and a hash over all there is to each of them."""

    count: int
    first_offset: int
    end_offset: int
    sha256: str


def read_all(bootstrap: str, topic: str, partition: int) -> Iterator[Message]:
    """Every committed record of a partition, from its beginning to its end of now."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "nobody",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "check.crcs": True,
        "log_level": 0,
    }
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
    deadline = time.monotonic() + READ_SECONDS_MAX
    try:
        while time.monotonic() < deadline:
            for message in consumer.consume(BATCH, POLL_SECONDS):
                error = message.error()
                if error is None:
                    yield message
                else:
                    # The end was asked for as an event; anything else would be a failure.
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    return
        raise AssertionError(f"{topic}-{partition} does not end")
    finally:
        consumer.close()


def digest(bootstrap: str, topic: str, partition: int) -> Digest:
    total, count, first, last = hashlib.sha256(), 0, -1, -1
    for message in read_all(bootstrap, topic, partition):
        offset = message.offset() or 0
        content = (offset, message.timestamp(), message.key(), message.value(), message.headers())
        total.update(repr(content).encode())
        first, last, count = (offset if first < 0 else first), offset, count + 1
    return Digest(count, first, last + 1, total.hexdigest())


def last_of_each_key(bootstrap: str, topic: str) -> dict[object, tuple[object, ...]]:
    """What compaction promises to keep."""
    found = read_all(bootstrap, topic, 0)
    return {message.key(): (message.offset(), message.timestamp(), message.value()) for message in found}
