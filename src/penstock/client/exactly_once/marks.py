"""A partition as it is, with the marks of transactions: what has ended how, wherever its last stable offset is.

A read_committed reader waits behind whoever has an open transaction in the partition. Who wants to know of one producer
need not wait for others: the first mark behind what it has written says what became of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from penstock.client.blocking import Client
from penstock.client.errors import check
from penstock.client.metadata import TopicPartition
from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Buffer
from penstock.core.records.batch import BatchHeader, iterate_headers
from penstock.core.records.control import ControlType, decode_key
from penstock.core.records.record import Record, iterate
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from penstock.core.wire.fields import ZERO_UUID

FETCH_BYTES: Final = 4 * 1_048_576
IDS_FROM: Final = 13
"""From this version on a Fetch names topics by id."""


class Found(NamedTuple):
    """A batch, and where it is in what was fetched."""

    blob: Buffer
    at: int
    header: BatchHeader

    @property
    def mark(self) -> bool | None:
        """Whether it says that its producer's transaction is committed; None where it says nothing of that."""
        if not self.header.is_control:
            return None
        record = next(iterate(self.blob, self.at), None)
        kind = None if record is None else decode_key(record.key)
        return None if kind not in (ControlType.COMMIT, ControlType.ABORT) else kind is ControlType.COMMIT

    def records(self) -> Iterator[Record]:
        return iterate(self.blob, self.at)


def batches(client: Client, where: TopicPartition, first: int, end: int) -> Iterator[Found]:
    """All batches of a range, whatever became of them."""
    position = first
    while position < end:
        blob = client.retry(lambda position=position: _fetch(client, where, position))  # type: ignore[misc]  # Bytes.
        before = position
        for at, header in iterate_headers(blob, partial_tail=True):
            position = max(position, header.next_offset)
            if header.last_offset >= first:
                yield Found(blob, at, header)
        if position == before:
            # What was there up to the end is compacted away.
            return


def outcome(client: Client, where: TopicPartition, offset: int, producer_id: int, end: int) -> bool | None:
    """How the transaction ended that this producer has written a record of at an offset; None: it has not."""
    for found in batches(client, where, offset, end):
        if found.header.producer_id == producer_id and found.mark is not None:
            return found.mark
    return None


def _fetch(client: Client, where: TopicPartition, position: int) -> Buffer:
    topic_id = client.topic(where.topic).topic_id
    wanted = FetchPartition(partition=where.partition, fetch_offset=position, partition_max_bytes=FETCH_BYTES)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=FETCH_BYTES,
        topics=[FetchTopic(topic=where.topic, topic_id=topic_id, partitions=[wanted])],
    )
    newest = IDS_FROM - 1 if topic_id == ZERO_UUID else None
    answer = client.ask(request, FetchResponse, node=client.leader(where), newest_version=newest)
    check(answer.error_code, "a fetch")
    ((data,),) = (topic.partitions for topic in answer.responses)
    if data.error_code != ErrorCode.NONE:
        client.forget(where.topic)
    check(data.error_code, f"reading {where}")
    blob = b"" if data.records is None else data.records
    assert isinstance(blob, bytes | bytearray | memoryview), "a decoded answer holds bytes"
    return blob
