"""A transactional client in few words, over one connection to one node."""

from __future__ import annotations

from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch
from penstock.core.transactions.metadata import Producer
from penstock.core.wire.api.add_offsets_to_txn import AddOffsetsToTxnRequest
from penstock.core.wire.api.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from penstock.core.wire.api.describe_transactions import DescribeTransactionsRequest
from penstock.core.wire.api.end_txn import EndTxnRequest
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest
from penstock.core.wire.api.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.node.world import Client, World

TRANSACTION = 1


class Transactional:
    """One producer under a transactional id."""

    def __init__(self, world: World, name: str = "tx", client: Client | None = None) -> None:
        self.world = world
        self.name = name
        self.client = client or world.client()
        self.producer = Producer(-1, -1)
        self._sequences: dict[tuple[str, int], int] = {}

    def find(self) -> Any:
        return self.client.ask(FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=[self.name]), 5)

    def begin(self, timeout_ms: int = 60_000, version: int = 5, **fields: Any) -> ErrorCode:
        """InitProducerId."""
        request = InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=timeout_ms, **fields)
        answer = self.client.ask(request, version)
        if answer.error_code == 0:
            self.producer = Producer(answer.producer_id, answer.producer_epoch)
            self._sequences.clear()
        return ErrorCode(answer.error_code)

    def add(self, topic: str, *partitions: int, version: int = 3) -> list[ErrorCode]:
        topics = [AddPartitionsToTxnTopic(name=topic, partitions=list(partitions))]
        producer_id, epoch = self.producer
        if version <= 3:
            request = AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self.name,
                v3_and_below_producer_id=producer_id,
                v3_and_below_producer_epoch=epoch,
                v3_and_below_topics=topics,
            )
            found = self.client.ask(request, version).results_by_topic_v3_and_below
        else:
            found = self._ask_as_broker(topics, False)
        return [ErrorCode(each.partition_error_code) for result in found for each in result.results_by_partition]

    def verify(self, topic: str, *partitions: int) -> list[ErrorCode]:
        found = self._ask_as_broker([AddPartitionsToTxnTopic(name=topic, partitions=list(partitions))], True)
        return [ErrorCode(each.partition_error_code) for result in found for each in result.results_by_partition]

    def _ask_as_broker(self, topics: list[AddPartitionsToTxnTopic], verify_only: bool) -> Any:
        producer_id, epoch = self.producer
        one = AddPartitionsToTxnTransaction(
            transactional_id=self.name,
            producer_id=producer_id,
            producer_epoch=epoch,
            verify_only=verify_only,
            topics=topics,
        )
        return self.client.ask(AddPartitionsToTxnRequest(transactions=[one]), 5).results_by_transaction[0].topic_results

    def add_offsets(self, group: str) -> ErrorCode:
        producer_id, epoch = self.producer
        request = AddOffsetsToTxnRequest(
            transactional_id=self.name, producer_id=producer_id, producer_epoch=epoch, group_id=group
        )
        return ErrorCode(self.client.ask(request, 4).error_code)

    def commit_offsets(
        self, group: str, topic: str, offsets: dict[int, int], version: int = 5, **fields: Any
    ) -> list[ErrorCode]:
        """TxnOffsetCommit."""
        partitions = [
            TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata="")
            for index, offset in offsets.items()
        ]
        request = TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=group,
            producer_id=self.producer.id,
            producer_epoch=self.producer.epoch,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=partitions)],
            **fields,
        )
        found = self.client.ask(request, version).topics
        return [ErrorCode(each.error_code) for result in found for each in result.partitions]

    def write(self, topic: str, value: bytes, partition: int = 0) -> None:
        """Append a batch at the leader, as if it had been verified."""
        sequence = self._sequences.get((topic, partition), 0)
        self._sequences[topic, partition] = sequence + 1
        replica, now_ms = self.world.node.replicas.get(topic, partition), self.world.now_ms
        assert replica is not None
        producer_id, epoch = self.producer
        batch = build_batch(
            [(None, value, (), now_ms)],
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=True,
        )
        self.world.turn(lambda: replica.append_own(batch, read_header(batch), now_ms))

    def end(self, committed: bool = True, version: int = 4) -> ErrorCode:
        """EndTxn; from version 5 on with the epoch to go on in."""
        producer_id, epoch = self.producer
        request = EndTxnRequest(
            transactional_id=self.name, producer_id=producer_id, producer_epoch=epoch, committed=committed
        )
        answer = self.client.ask(request, version)
        if answer.error_code == 0 and version >= 5:
            self.producer = Producer(answer.producer_id, answer.producer_epoch)
            self._sequences.clear()
        return ErrorCode(answer.error_code)

    def state(self) -> str:
        return str(self.described().transaction_state)

    def described(self) -> Any:
        return self.client.ask(DescribeTransactionsRequest(transactional_ids=[self.name])).transaction_states[0]
