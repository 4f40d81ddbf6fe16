"""The commit topic: the newest record of each query, found from the end of its partition backwards."""

from __future__ import annotations

from typing import Final

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.exactly_once.marks import batches
from penstock.client.metadata import TopicPartition, TopicView
from penstock.client.offsets import edges
from penstock.client.producing import Delivered, Producer
from penstock.core.base.errors import ErrorCode
from penstock.core.delivery.exactly_once.values import CommitRecord, decoded
from penstock.core.records.murmur2 import partition_for

COMMIT_TOPIC: Final = "_penstock_commits"
PARTITIONS: Final = 8
WINDOW: Final = 64
"""Offsets that are read first: a query that runs finds its last record among them."""
GROWTH: Final = 8
MARK_PREFIX: Final = b"\xff"
"""Before the name of a query: no name in UTF-8 begins so."""
BEHIND: Final = (ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.OFFSET_NOT_AVAILABLE)
CONFIGS: Final = {"cleanup.policy": "compact"}


class CommitTopic:
    """As one query uses it. Whoever asks is the driver, so that everything of its query is decided."""

    def __init__(self, client: Client, name: str = COMMIT_TOPIC) -> None:
        self._client = client
        self.name = name

    def place_of(self, query: str) -> TopicPartition:
        return TopicPartition(self.name, partition_for(query.encode(), len(self._known().partitions)))

    def newest(self, query: str) -> CommitRecord | None:
        """The last record whose transaction was committed, as whoever is asked has it; None if there is none, or it was
        withdrawn."""
        where = self.place_of(query)
        _, end = edges(self._client, [where])[where]
        return self._newest(query, where, end, surely=False)

    def surely_newest(self, query: str) -> CommitRecord | None:
        """For who goes by it. A leader that was cut off, and does not know of the next one yet, tells of the past; so a
        mark is written first, which only the leader can, and what is read reaches to it."""
        where = self.place_of(query)
        end = self._mark(query, where) + 1

        def attempt() -> CommitRecord | None:
            try:
                return self._newest(query, where, end, surely=True)
            except ClientError as failure:
                if failure.code not in BEHIND:
                    raise
            self._client.forget(where.topic)
            raise ClientError(f"{where} ends before {end}", code=ErrorCode.NOT_LEADER_OR_FOLLOWER)

        return self._client.retry(attempt)

    def _mark(self, query: str, where: TopicPartition) -> int:
        """Gives its offset. A tombstone: compaction forgets it."""
        offsets: list[int] = []

        def delivered(batch: Delivered) -> None:
            offsets.append(batch.offset)

        with Producer(self._client, idempotent=False, on_delivery=delivered) as producer:
            producer.send(where.topic, MARK_PREFIX + query.encode(), None, partition=where.partition)
        return offsets[-1]

    def _newest(self, query: str, where: TopicPartition, end: int, surely: bool) -> CommitRecord | None:
        start, _ = edges(self._client, [where])[where]
        window = WINDOW
        while True:
            first = max(start, end - window)
            reached, is_found, record = self._within(where, first, end, query.encode())
            if surely and reached < end:
                raise ClientError(f"{where} ends at {reached}", code=ErrorCode.OFFSET_OUT_OF_RANGE)
            if is_found or first == start:
                return record
            window *= GROWTH

    def _within(self, where: TopicPartition, first: int, end: int, key: bytes) -> tuple[int, bool, CommitRecord | None]:
        """How far there was something to read, whether a record of the query is there that has ended, and the last that
        was committed."""
        undecided: dict[int, bytes | None] = {}
        found: list[bytes | None] = []
        reached = first
        for each in batches(self._client, where, first, end):
            reached = each.header.next_offset
            producer = each.header.producer_id
            if each.mark is not None and producer in undecided:
                value = undecided.pop(producer)
                found += [value] if each.mark else []
            elif not each.header.is_control:
                for record in each.records():
                    if record.key == key:
                        undecided[producer] = record.value
        if not found:
            return reached, False, None
        return reached, True, None if found[-1] is None else decoded(bytes(found[-1]))

    def _known(self) -> TopicView:
        """Created by whoever comes first."""
        try:
            return self._client.topic(self.name)
        except ClientError as failure:
            if failure.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
        self._create()
        return self._client.topic(self.name, fresh=True)

    def _create(self) -> None:
        try:
            Admin(self._client).create_topic(self.name, PARTITIONS, configs=CONFIGS)
        except ClientError as failure:
            if failure.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
