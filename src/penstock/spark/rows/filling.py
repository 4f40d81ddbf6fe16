"""What a task of an exactly-once sink does: it writes its rows in a transaction, flushes, and leaves it open."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa

from penstock.client.blocking import Client
from penstock.client.exactly_once.performing import Performer
from penstock.client.producing import Delivered
from penstock.client.transactional import TransactionalProducer
from penstock.core.delivery.exactly_once import tasks
from penstock.core.delivery.exactly_once.asks import End, Fill
from penstock.core.delivery.exactly_once.values import Part, Place, Producer
from penstock.core.records.codecs import Codec
from penstock.spark.rows.arrays import Binary
from penstock.spark.rows.encode import Column, Records
from penstock.spark.rows.settings import ClientSettings
from penstock.spark.rows.writing import SinkSettings, handy, spread

MODULUS: Final = 1 << 63
SIZES_WEIGHT: Final = 1_000_003


class Checksum:
    """Of rows in whatever order: how long keys and values are, and the sum of their bytes. Times are left out, because
    who writes a row again does so later."""

    def __init__(self) -> None:
        self.value = 0

    def add(self, records: Records) -> None:
        for weight, column in ((1, records.keys), (7, records.values)):
            sizes, total = _sums(column)
            self.value = (self.value + weight * (SIZES_WEIGHT * sizes + total)) % MODULUS


def _sums(column: Column) -> tuple[int, int]:
    found = Binary.of(column.cells)
    if not len(found.starts):
        return 0, 0
    data = found.data[int(found.starts[0]) : int(found.ends[-1])]
    sizes = column.declared.astype(np.int64)
    return int((sizes * sizes).sum()), int(data.sum(dtype=np.uint64))


def performer_of(client: Client, settings: ClientSettings) -> Performer:
    return Performer(client, settings.transaction_timeout_ms, settings.delivery_timeout_ms / 1000)


def fill(
    client: Client, sink: SinkSettings, query: str, task: str, attempt: int, frames: Iterable[pa.RecordBatch]
) -> Part | None:
    """Write the rows of a task; None where there are none."""
    pieces = iter(handy(frames))
    first = next(pieces, None)
    if first is None:
        return None
    performer = performer_of(client, sink.client)
    writing = tasks.write(query, task, attempt)
    producer: Producer = performer.perform(next(writing))
    asked = writing.send(producer)
    assert isinstance(asked, Fill), "who has introduced itself writes"
    try:
        part = _written(client, sink, asked, first, pieces)
    except BaseException:
        # Readers need not wait for it until it times out.
        performer.perform(End(asked.transactional_id, producer, committed=False))
        raise
    return part


def _written(
    client: Client, sink: SinkSettings, asked: Fill, first: pa.RecordBatch, pieces: Iterable[pa.RecordBatch]
) -> Part:
    places: list[Place] = []

    def delivered(batch: Delivered) -> None:
        if not places:
            places.append(Place(batch.where.topic, batch.where.partition, batch.offset))

    checksum = Checksum()
    producer = TransactionalProducer(
        client,
        asked.transactional_id,
        codec=Codec(sink.client.codec),
        delivery_seconds_max=sink.client.delivery_timeout_ms / 1000,
        on_delivery=delivered,
    )
    producer.adopt(asked.producer.id, asked.producer.epoch)
    rows = spread(client, producer, sink, chain([first], pieces), checksum.add)
    producer.flush()
    return Part(asked.task, asked.transactional_id, asked.producer, rows, checksum.value, places[0])
