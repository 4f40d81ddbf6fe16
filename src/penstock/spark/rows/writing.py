"""What a writing task does on an executor: Arrow batches in, acknowledged records out.

At least once: a task returns when everything it was given is acknowledged, and a task that fails may have written some
of it. The producer is idempotent, so no retry of its own doubles a record.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.client.admin import TOPIC, Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.producing import Delivered, Producer
from penstock.core.base.errors import PenstockError
from penstock.core.records.batch import HEADER_BYTES
from penstock.core.records.codecs import Codec
from penstock.spark.rows.arrays import Binary
from penstock.spark.rows.encode import Column, Records, batches, encoded_headers
from penstock.spark.rows.links import client_of
from penstock.spark.rows.partitioning import Partitioner
from penstock.spark.rows.settings import ClientSettings
from penstock.spark.rows.varints import Numbers

# Rows are encoded this much at a time: less would leave each partition a small batch, more would leave the processor's
# cache between two steps.
ENCODE_BYTES: Final = 4 * 1024 * 1024
# A frame may be larger. This bounds memory and keeps clear of the 32 bits of Arrow's offsets.
ENCODE_BYTES_MAX: Final = 32 * 1024 * 1024
MESSAGE_BYTES_DEFAULT: Final = 1_048_588


class SinkSettings(NamedTuple):
    """Where a query writes to: a topic for all rows, or None for the one that each row names."""

    client: ClientSettings
    topic: str | None = None
    # The column whose time each record gets; None: the time at which it is written.
    timestamp_column: str | None = None


class Written(NamedTuple):
    """What a task has had acknowledged: the number of rows, and the offset after the last one in each partition."""

    rows: int
    ends: Mapping[TopicPartition, int]


def write_rows(sink: SinkSettings, frames: Iterable[pa.RecordBatch]) -> Written:
    """Write everything and wait until it is acknowledged."""
    ends: dict[TopicPartition, int] = {}

    def delivered(batch: Delivered) -> None:
        ends[batch.where] = batch.offset + batch.records

    with client_of(sink.client) as client, _producer(client, sink.client, delivered) as producer:
        rows = spread(client, producer, sink, handy(frames))
    return Written(rows, ends)


def spread(
    client: Client,
    producer: Producer,
    sink: SinkSettings,
    frames: Iterable[pa.RecordBatch],
    watch: Callable[[Records], None] = lambda _: None,
) -> int:
    """Give the rows of handy frames to a producer, and their number back."""
    rows = 0
    topics: dict[str, _TopicWriter] = {}
    for frame in frames:
        for name, records, partitions in _by_topic(sink, frame):
            watch(records)
            if name not in topics:
                topics[name] = _TopicWriter(client, producer, name, sink.client.batch_bytes)
            topics[name].write(records, partitions)
        rows += frame.num_rows
    return rows


def _producer(client: Client, settings: ClientSettings, delivered: Callable[[Delivered], None]) -> Producer:
    return Producer(
        client,
        acks=settings.acks,
        codec=Codec(settings.codec),
        idempotent=settings.idempotent,
        delivery_seconds_max=settings.delivery_timeout_ms / 1000,
        on_delivery=delivered,
    )


def handy(frames: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in frames of a handy size: Spark's are of 10,000 rows, whatever these take."""
    gathered: list[pa.RecordBatch] = []
    gathered_bytes = 0
    for frame in frames:
        gathered.append(frame)
        gathered_bytes += frame.nbytes
        if gathered_bytes >= ENCODE_BYTES:
            yield from _pieces(_one(gathered))
            gathered, gathered_bytes = [], 0
    if gathered:
        yield from _pieces(_one(gathered))


def _one(frames: list[pa.RecordBatch]) -> pa.RecordBatch:
    return frames[0] if len(frames) == 1 else pa.concat_batches(frames)


def _pieces(frame: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A frame in pieces where it is large; an empty one has none."""
    pieces = max(1, frame.nbytes // ENCODE_BYTES_MAX)
    step = -(-frame.num_rows // pieces)
    for first in range(0, frame.num_rows, max(step, 1)):
        yield frame.slice(first, step)


def _by_topic(sink: SinkSettings, frame: pa.RecordBatch) -> Iterator[tuple[str, Records, pa.Array | None]]:
    """The rows of each topic, with the partitions they name."""
    if sink.topic is not None:
        yield sink.topic, _records(sink, frame), _column(frame, "partition")
        return
    names = frame.column("topic")
    if names.null_count:
        raise PenstockError("a row has no topic; name one for all rows with the option `topic`")
    for name in names.unique().to_pylist():
        chosen = frame.filter(pc.equal(names, name))
        yield name, _records(sink, chosen), _column(chosen, "partition")


def _records(sink: SinkSettings, frame: pa.RecordBatch) -> Records:
    keys, headers = _column(frame, "key"), _column(frame, "headers")
    return Records(
        Column.of(pa.nulls(frame.num_rows, pa.binary()) if keys is None else keys.cast(pa.binary())),
        Column.of(frame.column("value").cast(pa.binary())),
        None if headers is None else encoded_headers(headers),
        _times(frame, sink.timestamp_column),
    )


def _times(frame: pa.RecordBatch, column: str | None) -> Numbers:
    now = int(time.time() * 1000)
    if column is None:
        return np.full(frame.num_rows, now, np.int64)
    times = frame.column(column).cast(pa.timestamp("ms"), safe=False).cast(pa.int64()).fill_null(now)
    return np.asarray(times.to_numpy(zero_copy_only=False), np.int64)


def _column(frame: pa.RecordBatch, name: str) -> pa.Array | None:
    return frame.column(name) if name in frame.schema.names else None


class _TopicWriter:
    """Spreads the rows of one topic over its partitions."""

    def __init__(self, client: Client, producer: Producer, topic: str, batch_bytes: int) -> None:
        self._producer = producer
        self._topic = topic
        count = len(client.topic(topic, create=True).partitions)
        self._batch_bytes = min(batch_bytes, _message_bytes_max(client, topic) - HEADER_BYTES)
        self._partitioner = Partitioner(topic, count, self._batch_bytes)

    def write(self, records: Records, named: pa.Array | None) -> None:
        partitions = self._partitioner.partitions(Binary.of(records.keys.cells), named, records.sizes())
        if (np.diff(partitions) < 0).any():
            order = _order(partitions)
            records, partitions = records.take(order), partitions[order]
        groups = np.append(np.flatnonzero(np.diff(partitions, prepend=-1)), len(partitions))
        made = batches(records, groups, self._batch_bytes)
        # One batch of each partition at a time, because that is what a request holds.
        for turn in zip_longest(*made):
            for number, batch in zip(partitions[groups[:-1]].tolist(), turn, strict=True):
                if batch is not None:
                    self._producer.send_batch(TopicPartition(self._topic, number), batch)


def _order(partitions: Numbers) -> Numbers:
    """The rows by partition, those of each in their order. Numbers of 16 bits are sorted eight times as fast."""
    is_small = partitions.max() <= np.iinfo(np.uint16).max
    return np.argsort(partitions.astype(np.uint16) if is_small else partitions, kind="stable")


def _message_bytes_max(client: Client, topic: str) -> int:
    """What the topic takes in one batch. Who may not ask gets Kafka's default."""
    try:
        (setting,) = Admin(client).describe_configs(TOPIC, topic, ["max.message.bytes"])
        return int(setting.value or MESSAGE_BYTES_DEFAULT)
    except ClientError as failure:
        if failure.is_transient:
            raise
        return MESSAGE_BYTES_DEFAULT
