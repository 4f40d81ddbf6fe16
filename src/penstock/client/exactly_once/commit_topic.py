"""The commit topic: the newest record of each query, found from the end of its partition backwards."""

from __future__ import annotations

from typing import Final

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.exactly_once.marks import batches
from penstock.client.metadata import TopicPartition, TopicView
from penstock.client.offsets import edges
from penstock.core.base.errors import ErrorCode
from penstock.core.delivery.exactly_once.values import CommitRecord, decoded
from penstock.core.records.murmur2 import partition_for

COMMIT_TOPIC: Final = "_penstock_commits"
PARTITIONS: Final = 8
WINDOW: Final = 64
"""Offsets that are read first: a query that runs finds its last record among them."""
GROWTH: Final = 8
CONFIGS: Final = {"cleanup.policy": "compact"}


class CommitTopic:
    """As one query uses it. Whoever asks is the driver, so that everything of its query is decided."""

    def __init__(self, client: Client, name: str = COMMIT_TOPIC) -> None:
        self._client = client
        self.name = name

    def place_of(self, query: str) -> TopicPartition:
        return TopicPartition(self.name, partition_for(query.encode(), len(self._known().partitions)))

    def newest(self, query: str) -> CommitRecord | None:
        """The last record whose transaction was committed; None if there is none, or it was withdrawn."""
        where = self.place_of(query)
        start, end = edges(self._client, [where])[where]
        window = WINDOW
        while True:
            first = max(start, end - window)
            is_found, record = self._within(where, first, end, query.encode())
            if is_found or first == start:
                return record
            window *= GROWTH

    def _within(self, where: TopicPartition, first: int, end: int, key: bytes) -> tuple[bool, CommitRecord | None]:
        undecided: dict[int, bytes | None] = {}
        found: list[bytes | None] = []
        for each in batches(self._client, where, first, end):
            producer = each.header.producer_id
            if each.mark is not None and producer in undecided:
                value = undecided.pop(producer)
                found += [value] if each.mark else []
            elif not each.header.is_control:
                for record in each.records():
                    if record.key == key:
                        undecided[producer] = record.value
        if not found:
            return False, None
        return True, None if found[-1] is None else decoded(bytes(found[-1]))

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
