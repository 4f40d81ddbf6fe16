"""What a test writes to its broker and reads from it, without a client library: each call waits for its end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from penstock.api.values import Headers, Record, as_bytes, as_headers
from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import edges
from penstock.client.producing import Delivered, Producer
from penstock.client.reading import Chunk, Reader
from penstock.core.base.errors import ErrorCode
from penstock.testing.checking import checked_configs, checked_count, checked_name, require

RECORDS_S_MAX: Final = 10.0
CLIENT_ID: Final = "penstock-testing"
POLL_S: Final = 0.05
POLL_MS: Final = 50
Content = str | bytes | None


def create_topic(client: Client, name: str, partitions: int, configs: dict[str, object]) -> None:
    checked_name(name, "topic")
    checked_count(partitions, "partitions")
    Admin(client).create_topic(name, partitions=partitions, configs=checked_configs(configs))


class Sending(NamedTuple):
    """What all records of a call have in common."""

    key: Content = None
    headers: Headers | None = None
    partition: int | None = None
    timestamp_ms: int | None = None


def produce(client: Client, topic: str, values: Sequence[Content], sending: Sending) -> list[int]:
    """The offsets of the records, in order; they stand in one partition."""
    checked_name(topic, "topic")
    for name in ("partition", "timestamp_ms"):
        if (number := getattr(sending, name)) is not None:
            require(number, int, name)
    contents, key, headers = [as_bytes(value) for value in values], as_bytes(sending.key), as_headers(sending.headers)
    if not contents:
        raise TypeError("give produce a value; None makes a tombstone")
    found: list[int] = []

    def delivered(batch: Delivered) -> None:
        found.extend(range(batch.offset, batch.offset + batch.records))

    with Producer(client, on_delivery=delivered) as producer:
        partition = sending.partition
        for content in contents:
            # The first one chooses for all of them.
            at = producer.send(topic, key, content, headers, partition=partition, timestamp=sending.timestamp_ms)
            partition = at.partition
    return found


def records(client: Client, topic: str, count: int | None, partition: int | None, timeout_s: float) -> list[Record]:
    """All that are there now, or as soon as there are so many."""
    checked_name(topic, "topic")
    if partition is not None:
        require(partition, int, "partition")
    least = 0 if count is None else checked_count(count, "count")
    deadline = time.monotonic() + timeout_s
    while True:
        found = _read(client, topic, partition, may_be_missing=least > 0)
        if len(found) >= least:
            return found
        if time.monotonic() > deadline:
            raise TimeoutError(f"{topic} has {len(found)} records after {timeout_s:g} s, not {least}")
        time.sleep(POLL_S)


def _read(client: Client, topic: str, partition: int | None, *, may_be_missing: bool) -> list[Record]:
    try:
        known = client.topic(topic)
    except ClientError as failure:
        if may_be_missing and failure.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return []
        raise
    count = len(known.partitions)
    if partition is not None and not 0 <= partition < count:
        raise ValueError(f"{topic} has no partition {partition}: there are {count}")
    numbers = range(count) if partition is None else [partition]
    found_edges = edges(client, [TopicPartition(topic, number) for number in numbers])
    begins = {where: first for where, (first, _) in found_edges.items()}
    until = {where: end for where, (_, end) in found_edges.items()}
    reader = Reader(client, begins, until=until, wait_ms=POLL_MS)
    found = [record for chunk in reader for record in _records(chunk)]
    return sorted(found, key=lambda record: (record.partition, record.offset))


def _records(chunk: Chunk) -> list[Record]:
    where = chunk.where
    return [
        Record(where.topic, where.partition, each.offset, each.timestamp, each.key, each.value, each.headers)
        for each in chunk.records
    ]
