"""Kafka's own reader of log files finds ours in order: records, checksums, indexes."""

import random
from collections.abc import Iterable, Iterator
from itertools import repeat

import pytest
from confluent_kafka import Producer

from penstock.testing import Broker
from tests.conformance.confluent import consumer, producer
from tests.conformance.packing import wait_until_packed
from tests.kafka_peer import Tool, java_tool

pytestmark = [pytest.mark.java, pytest.mark.slow]

RECORDS = 2000
SEGMENT_BYTES = 1 << 20


def noise() -> Iterator[bytes]:
    chance = random.Random(1)
    while True:
        yield chance.randbytes(1500)


def write(client: Producer, topic: str, contents: Iterable[bytes]) -> None:
    for number, content in zip(range(RECORDS), contents, strict=False):
        client.produce(topic, b"%06d" % number + content, key=b"key-%d" % (number % 10))
        if number % 50 == 0:
            client.flush(10)
    assert client.flush(10) == 0


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_segments_and_indexes_are_sound(codec: str) -> None:
    with Broker({"log.segment.bytes": SEGMENT_BYTES}, beside=True) as broker:
        broker.create_topic("orders")
        write(producer(broker, compression_type=codec), "orders", noise())
        with consumer(broker, "readers") as reader:
            reader.subscribe(["orders"])
            while (message := reader.poll(1)) is None:
                pass
            reader.commit(message, asynchronous=False)
        broker.stop()
        check(broker)
        assert "Errors" not in offsets_dump(broker)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_segments_compressed_after_they_were_sealed_are_sound(codec: str) -> None:
    with Broker({"log.segment.bytes": SEGMENT_BYTES, "log.cleaner.backoff.ms": 50}, beside=True) as broker:
        broker.create_topic("orders", penstock_sealed_compression_type=codec)
        write(producer(broker, enable_idempotence=True), "orders", repeat(b"text " * 300))
        wait_until_packed(broker.folder / "orders-0")
        broker.stop()
        dumped = check(broker)
        # Batches that are not compressed are left in the active segment only.
        assert f"compresscodec: {codec}" in dumped
        assert f"compresscodec: {codec}" not in dumped[dumped.index("compresscodec: none") :]


def check(broker: Broker) -> str:
    """Kafka's tool likes all the files; gives what it printed of the records."""
    folder = broker.folder / "orders-0"
    segments = sorted(folder.glob("*.log"))
    assert len(segments) > 2
    files = [file for kind in ("log", "index", "timeindex", "snapshot") for file in sorted(folder.glob(f"*.{kind}"))]
    dumped = java_tool(Tool.DUMP_LOG, "--files", ",".join(map(str, files)), "--deep-iteration", "--verify-index-only")
    assert dumped.returncode == 0, dumped.stderr
    for complaint in ("Mismatches", "non-consecutive", "not found", "Found timestamp mismatch", "Exception"):
        assert complaint not in dumped.stdout + dumped.stderr, dumped.stdout
    dumped = java_tool(Tool.DUMP_LOG, "--files", ",".join(map(str, segments)), "--deep-iteration", "--print-data-log")
    assert "isvalid: false" not in dumped.stdout
    payloads = [line.rpartition("payload: ")[2][:6] for line in dumped.stdout.splitlines() if "payload: " in line]
    assert [int(payload) for payload in payloads] == list(range(RECORDS))
    return dumped.stdout


def offsets_dump(broker: Broker) -> str:
    """The group's records, read by Kafka's decoder for them."""
    files = [file for file in broker.folder.glob("__consumer_offsets-*/*.log") if file.stat().st_size]
    dumped = java_tool(Tool.DUMP_LOG, "--files", ",".join(map(str, files)), "--offsets-decoder")
    assert dumped.returncode == 0, dumped.stderr
    assert '"group":"readers"' in dumped.stdout
    assert '"topic":"orders"' in dumped.stdout
    return dumped.stdout


def test_the_metadata_log_and_its_snapshots_are_sound() -> None:
    with Broker({"metadata.log.max.record.bytes.between.snapshots": 1000}, beside=True) as broker:
        for number in range(12):
            broker.create_topic(f"topic-{number}")
        broker.stop()
        folder = broker.folder / "__cluster_metadata-0"
        newest = max(folder.glob("*.checkpoint"))
        snapshot = java_tool(Tool.DUMP_LOG, "--cluster-metadata-decoder", "--files", newest).stdout
        assert "SnapshotHeader" in snapshot
        assert "SnapshotFooter" in snapshot
        assert '"type":"TOPIC_RECORD"' in snapshot
        log = java_tool(Tool.DUMP_LOG, "--cluster-metadata-decoder", "--files", max(folder.glob("*.log"))).stdout
        assert "isvalid: false" not in log + snapshot
        assert "Unable to decode" not in log + snapshot
