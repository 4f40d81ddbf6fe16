"""Open transactions as partitions have them: finding those that no coordinator will end, and ending them.

A transaction hangs in a partition that has its records, while its coordinator does not know of them. Readers of
committed records wait behind it for ever, and compaction stops there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple

from penstock.client.blocking import Client
from penstock.client.errors import ClientError, check
from penstock.client.metadata import NO_NODE, TopicPartition
from penstock.client.offsets import by_leader, by_topic
from penstock.client.transactions import Transactions
from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from penstock.core.wire.api.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

PARTITIONS_PER_REQUEST_MAX: Final = 500
STATE_TOPIC: Final = "__transaction_state"
NO_OFFSET: Final = -1


class ProducerAt(NamedTuple):
    """A producer as a partition knows it; `start_offset` is where its open transaction begins there, or -1."""

    where: TopicPartition
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    start_offset: int

    @property
    def is_open(self) -> bool:
        return self.start_offset != NO_OFFSET

    @property
    def transaction(self) -> tuple[TopicPartition, int, int]:
        """What tells a transaction in a partition from any other."""
        return self.where, self.producer_id, self.start_offset


def producers(client: Client, places: Iterable[TopicPartition]) -> list[ProducerAt]:
    """All producers that the leaders of some partitions know."""
    left = list(places)
    found: list[ProducerAt] = []
    while left:
        some, left = left[:PARTITIONS_PER_REQUEST_MAX], left[PARTITIONS_PER_REQUEST_MAX:]
        found += client.retry(partial(_producers, client, some))
    return sorted(found)


def _producers(client: Client, places: Sequence[TopicPartition]) -> list[ProducerAt]:
    found: list[ProducerAt] = []
    for leader, led in by_leader(client, places).items():
        topics = [TopicRequest(name=topic, partition_indexes=numbers) for topic, numbers in by_topic(led).items()]
        answer = client.ask(DescribeProducersRequest(topics=topics), DescribeProducersResponse, node=leader)
        for topic in answer.topics:
            for each in topic.partitions:
                where = TopicPartition(topic.name, each.partition_index)
                _check_led(client, where, each.error_code)
                found += [
                    ProducerAt(
                        where,
                        one.producer_id,
                        one.producer_epoch,
                        one.last_sequence,
                        one.last_timestamp,
                        one.coordinator_epoch,
                        one.current_txn_start_offset,
                    )
                    for one in each.active_producers
                ]
    return found


def hanging(client: Client, places: Sequence[TopicPartition], older_than_ms: int, now_ms: int) -> list[ProducerAt]:
    """The open transactions in some partitions whose last record is older, and that no coordinator will end."""
    suspects = [
        each for each in producers(client, places) if each.is_open and now_ms - each.last_timestamp_ms > older_than_ms
    ]
    if not suspects:
        return []
    expected = _expected(client, suspects)
    left = [each for each in suspects if (each.producer_id, each.where) not in expected]
    # A coordinator forgets a partition once the marker is there: what ended while it was asked is open no more.
    still = {each.transaction for each in producers(client, {each.where for each in left})}
    return [each for each in left if each.transaction in still]


def _expected(client: Client, suspects: Sequence[ProducerAt]) -> set[tuple[int, TopicPartition]]:
    """The partitions in which coordinators will still end something, by producer id."""
    _check_all_coordinators(client)
    transactions = Transactions(client)
    expected: set[tuple[int, TopicPartition]] = set()
    for listed in transactions.list(producer_ids=sorted({each.producer_id for each in suspects})):
        try:
            known = transactions.describe(listed.transactional_id)
        except ClientError as failure:
            if failure.code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                raise
            continue
        expected |= {(known.producer_id, where) for where in known.partitions}
    return expected


def _check_all_coordinators(client: Client) -> None:
    """Who takes a transaction for hanging because its coordinator is away would abort what is about to be committed."""
    try:
        topic = client.topic(STATE_TOPIC, fresh=True)
    except ClientError as failure:
        if failure.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        return
    if missing := [each.number for each in topic.partitions if each.leader == NO_NODE]:
        raise ClientError(
            f"nobody leads {STATE_TOPIC}-{missing[0]}, so nobody knows which transactions its coordinator will end",
            code=ErrorCode.COORDINATOR_NOT_AVAILABLE,
            hint="see `penstock cluster health`, and try again when all its partitions have leaders",
        )


def abort(client: Client, transaction: ProducerAt) -> None:
    """End an open transaction in one partition, as its coordinator would: with a marker. Only what hangs may be ended
    so, because other partitions of the same transaction hear nothing of it."""
    where = transaction.where
    marker = WritableTxnMarker(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name=where.topic, partition_indexes=[where.partition])],
        # A partition that has seen no marker of this producer knows no coordinator's epoch.
        coordinator_epoch=max(0, transaction.coordinator_epoch),
    )

    def attempt() -> None:
        request = WriteTxnMarkersRequest(markers=[marker])
        answer = client.ask(request, WriteTxnMarkersResponse, node=client.leader(where))
        for result in answer.markers:
            for topic in result.topics:
                for each in topic.partitions:
                    _check_led(client, where, each.error_code)

    client.retry(attempt)


def _check_led(client: Client, where: TopicPartition, code: int) -> None:
    if code != ErrorCode.NONE:
        client.forget(where.topic)
    check(code, f"partition {where}")
