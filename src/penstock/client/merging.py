"""One order over many partitions: a merge by timestamp, for readers that want a topic as one log.

Within a partition the log's order stays, whatever its timestamps say. Between partitions the record with the lowest
timestamp comes first, the lower partition where they are equal. A record is given once no open partition can still
come up with an earlier one: each has a record waiting, is at its end, or had no news when it was asked last.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator

from penstock.client.metadata import TopicPartition
from penstock.client.reading import Reader
from penstock.core.records.record import Record


def merge_by_timestamp(reader: Reader) -> Iterator[tuple[TopicPartition, Record]]:
    """The records of all the reader's partitions in one order; ends when the reader does."""
    waiting: dict[TopicPartition, deque[Record]] = {where: deque() for where in reader.positions}
    heads: list[tuple[int, TopicPartition]] = []
    while reader.open or heads:
        _refill(reader, waiting, heads)
        while heads and all(map(reader.is_caught_up, _empty(reader, waiting))):
            _, where = heapq.heappop(heads)
            yield where, waiting[where].popleft()
            if waiting[where]:
                heapq.heappush(heads, (waiting[where][0].timestamp, where))


def _empty(reader: Reader, waiting: dict[TopicPartition, deque[Record]]) -> list[TopicPartition]:
    """The open partitions without a record at hand."""
    return [where for where in reader.open if not waiting[where]]


def _refill(
    reader: Reader, waiting: dict[TopicPartition, deque[Record]], heads: list[tuple[int, TopicPartition]]
) -> None:
    """Fetch for the partitions that have run dry, and only for those: the others keep what they have."""
    empty = _empty(reader, waiting)
    if not empty:
        return
    # With records at hand nobody waits for partitions that may stay silent for long.
    for chunk in reader.poll(0 if heads else None, empty):
        if chunk.records:
            heapq.heappush(heads, (chunk.records[0].timestamp, chunk.where))
            waiting[chunk.where].extend(chunk.records)
