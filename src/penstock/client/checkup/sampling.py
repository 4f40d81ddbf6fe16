"""A reader that also counts how batches were written, which records no longer show."""

from __future__ import annotations

from typing import Any

from penstock.client.metadata import TopicPartition
from penstock.client.reading import Chunk, Reader
from penstock.core.records.batch import NO_PRODUCER_ID, iterate_headers
from penstock.core.wire.api.fetch import PartitionData


class Sampler(Reader):
    """For one poll; `batches` leaves out what the cluster wrote itself."""

    def __init__(self, *places: Any, **how: Any) -> None:
        super().__init__(*places, **how)
        self.batches = self.careless_batches = 0

    def _chunk(self, where: TopicPartition, data: PartitionData) -> Chunk:
        chunk = super()._chunk(where, data)
        blob = data.records
        if isinstance(blob, bytes | bytearray | memoryview):
            for _, header in iterate_headers(blob, partial_tail=True):
                if not header.is_control and header.last_offset >= self.positions[where]:
                    self.batches += 1
                    self.careless_batches += header.producer_id == NO_PRODUCER_ID
        return chunk
