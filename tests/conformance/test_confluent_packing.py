"""Sealed segments compressed on the disk: a real client reads the same bytes, before, meanwhile and after."""

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message

from penstock.testing import Broker
from tests.conformance.confluent import producer, read_from_start
from tests.conformance.packing import wait_until_packed
from tests.talk import complaints

pytestmark = pytest.mark.slow

RECORDS = 100_000
SEGMENT_BYTES = 1 << 20
SETTINGS = {"log.segment.bytes": SEGMENT_BYTES, "log.cleaner.backoff.ms": 50, "log.segment.delete.delay.ms": 0}


def value_of(number: int) -> bytes:
    return b'{"number": %d, "text": "a value like many others", "rest": "%s"}' % (number, b"abc " * 10)


def fill(broker: Broker, topic: str) -> int:
    """Produce without compression; gives the bytes of all values."""
    client = producer(broker, compression_type="none", enable_idempotence=True, linger_ms=5)
    size = 0
    for number in range(RECORDS):
        value = value_of(number)
        size += len(value)
        headers = [("number", b"%d" % number)] if number % 1000 == 0 else None
        client.produce(topic, value, key=b"%d" % (number % 100), headers=headers, timestamp=1_700_000_000_000 + number)
        if number % 10_000 == 0:
            client.flush(10)
    assert client.flush(20) == 0
    return size


def seen(message: Message) -> tuple[Any, ...]:
    return (message.offset(), message.timestamp()[1], message.key(), message.value(), message.headers())


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_a_consumer_reads_what_was_produced(codec: str, tmp_path: Path) -> None:
    with Broker(SETTINGS, folder=tmp_path, beside=True) as broker:
        broker.create_topic("orders", penstock_sealed_compression_type=codec, retention_ms=-1)
        produced_bytes = fill(broker, "orders")
        # Some segments are being replaced while this one reads.
        meanwhile = list(map(seen, read_from_start(broker, "orders", RECORDS)))
        folder = tmp_path / "orders-0"
        wait_until_packed(folder)
        segments = sorted(folder.glob("*.log"))
        assert len(segments) > 5
        sealed_bytes = [path.stat().st_size for path in segments[:-1]]
        assert sum(sealed_bytes) < produced_bytes / 2
        assert [number for number, *_ in meanwhile] == list(range(RECORDS))
        assert [value for _, _, _, value, _ in meanwhile] == list(map(value_of, range(RECORDS)))
        assert list(map(seen, read_from_start(broker, "orders", RECORDS))) == meanwhile
        broker.stop()
        broker.start()
        assert list(map(seen, read_from_start(broker, "orders", RECORDS))) == meanwhile
        assert [path.stat().st_size for path in segments[:-1]] == sealed_bytes
        assert complaints(broker) == []
