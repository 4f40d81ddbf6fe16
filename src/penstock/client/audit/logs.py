"""The logs of topics as they are stored: whole batches, whose headers are counted and whose bytes are checksummed.

No record is looked at. What retention, `delete-records` and compaction have removed is no loss: the count begins where
the log begins, and of a compacted topic it is only asked that it does not end earlier than it did.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from penstock.client.admin import TOPIC, Admin
from penstock.client.audit.book import Book
from penstock.client.audit.counting import Count
from penstock.client.audit.findings import Gap
from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import edges
from penstock.client.ranges import RangeLost, RangeReader
from penstock.core.base.errors import ErrorCode
from penstock.core.records import checksum

FETCH_BYTES: Final = 4 * 1_048_576


class Log(NamedTuple):
    """What was counted of one partition in a run."""

    where: TopicPartition
    first: int
    end: int
    records: int
    """In the part that is new to the book."""
    gaps: list[Gap]
    is_compacted: bool


def audited_topics(client: Client) -> list[str]:
    """Those of users; what is internal has names that say so."""
    names = sorted(topic.name for topic in client.topics() if not topic.is_internal)
    return [name for name in names if not name.startswith(("__", "_penstock"))]


def count_topic(client: Client, topic: str, book: Book, *, is_only_new: bool = False) -> Iterator[Log]:
    """Count each partition of a topic, and write what is new into the book."""
    view = client.topic(topic, fresh=True)
    policies = Admin(client).describe_configs(TOPIC, topic, ["cleanup.policy"])
    is_compacted = any("compact" in (one.value or "") for one in policies)
    for number in range(len(view.partitions)):
        yield _count(client, TopicPartition(topic, number), view.topic_id, book, is_only_new, is_compacted)


def _count(
    client: Client, where: TopicPartition, topic_id: bytes, book: Book, is_only_new: bool, is_compacted: bool
) -> Log:
    place = (where.topic, topic_id.hex(), where.partition)
    first, end = edges(client, [where])[where]
    booked = book.spans(*place)
    begin = max([first, *(span.end for span in booked)]) if is_only_new else first
    count = Count(where, min(begin, end), booked, is_compacted=is_compacted)
    _read(client, where, topic_id, min(begin, end), end, count)
    count.finish(end)
    book.forget(*place, first)
    book.add(*place, count.spans)
    return Log(where, first, end, sum(span.records for span in count.spans), count.gaps, is_compacted)


def _read(client: Client, where: TopicPartition, topic_id: bytes, first: int, end: int, count: Count) -> None:
    def lost(loss: RangeLost) -> None:
        """While it is counted, a log may lose its beginning to retention, and nothing else."""
        begins, ends = edges(client, [where])[where]
        if loss.code is not ErrorCode.OFFSET_OUT_OF_RANGE or ends < end:
            raise loss
        count.expired(min(begins, end))

    reader = RangeReader(
        client,
        where,
        first,
        end,
        topic_id=topic_id,
        fetch_bytes=FETCH_BYTES,
        stall_seconds_max=client.timeout,
        on_loss=lost,
    )
    for fetched in reader:
        for at, header in fetched.batches:
            if header.base_offset < end:
                count.take(header, checksum.is_valid(fetched.blob, at, header))
