"""Transactions that end, and the request that tells one broker of several of them."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.base.errors import ErrorCode
from penstock.core.transactions.markers import MarkersDue, TopicPartition
from penstock.core.wire.api.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from penstock.core.wire.schema import Response

Codes = dict[TopicPartition, ErrorCode]


class Ending:
    """One transaction, until every partition has written its marker."""

    __slots__ = ("due", "index", "left")

    def __init__(self, index: int, due: MarkersDue) -> None:
        """`index`: of the machine that decided it."""
        self.index = index
        self.due = due
        self.left = set(due.partitions)

    @property
    def key(self) -> tuple[int, str]:
        return self.index, self.due.transactional_id


class Batch:
    """What goes to one broker at once."""

    __slots__ = ("_heard", "wanted")

    def __init__(self, wanted: dict[Ending, set[TopicPartition]]) -> None:
        self.wanted = wanted
        self._heard: dict[int, Codes] | None = None

    def request(self) -> WriteTxnMarkersRequest:
        return WriteTxnMarkersRequest(
            markers=[_marker(each.due, partitions) for each, partitions in self.wanted.items()]
        )

    def codes(self, ending: Ending, answer: Response | ErrorCode) -> Codes:
        """What the broker says of each partition of a transaction; nothing of those it does not speak of."""
        if not isinstance(answer, WriteTxnMarkersResponse):
            return {}
        if self._heard is None:
            self._heard = _by_producer(answer)
        return self._heard.get(ending.due.producer_id, {})


def _marker(due: MarkersDue, partitions: Iterable[TopicPartition]) -> WritableTxnMarker:
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        topics.setdefault(topic, []).append(index)
    return WritableTxnMarker(
        producer_id=due.producer_id,
        producer_epoch=due.producer_epoch,
        transaction_result=due.committed,
        topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=found) for topic, found in topics.items()],
        coordinator_epoch=due.coordinator_epoch,
        transaction_version=due.transaction_version,
    )


def _by_producer(answer: WriteTxnMarkersResponse) -> dict[int, Codes]:
    heard: dict[int, Codes] = {}
    for marker in answer.markers:
        codes = heard.setdefault(marker.producer_id, {})
        for topic in marker.topics:
            for each in topic.partitions:
                codes[topic.name, each.partition_index] = ErrorCode(each.error_code)
    return heard
