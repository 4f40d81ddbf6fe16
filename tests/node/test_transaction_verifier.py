"""How coordinators are asked whether transactions are open: gathered by broker, one request at a time."""

from __future__ import annotations

from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.node.membership.transaction_verifier import TRANSACTIONS_TOPIC, Transacting
from penstock.core.wire.api.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from tests.node.world import World

V1 = Transacting("old", 1, 0, adds=False)
V2 = Transacting("new", 2, 0, adds=True)


class Brokers:
    """Takes what a verifier sends, and answers when the test says so."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.sent: list[tuple[AddPartitionsToTxnRequest, Any]] = []
        world.node.cluster.brokers.send = self.send  # type: ignore[method-assign]  # nobody is there to be asked

    def send(self, broker_id: int, purpose: str, request: AddPartitionsToTxnRequest, then: Any) -> None:
        assert broker_id == self.world.node.node_id
        self.sent.append((request, then))

    def asked(self) -> list[tuple[str, bool, list[tuple[str, list[int]]]]]:
        """What the oldest request is about."""
        return [
            (each.transactional_id, each.verify_only, [(topic.name, topic.partitions) for topic in each.topics])
            for each in self.sent[0][0].transactions
        ]

    def answer(self, code: ErrorCode = ErrorCode.NONE) -> None:
        """The same of each partition."""
        request, then = self.sent.pop(0)
        results = [
            AddPartitionsToTxnResult(
                transactional_id=each.transactional_id,
                topic_results=[
                    AddPartitionsToTxnTopicResult(
                        name=topic.name,
                        results_by_partition=[
                            AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
                            for index in topic.partitions
                        ],
                    )
                    for topic in each.topics
                ],
            )
            for each in request.transactions
        ]
        self.world.turn(lambda: then(AddPartitionsToTxnResponse(results_by_transaction=results)))

    def fail(self, code: ErrorCode) -> None:
        _, then = self.sent.pop(0)
        self.world.turn(lambda: then(code))


class Asking:
    """Asks through a node, and hears what is said."""

    def __init__(self, has_topic: bool = True) -> None:
        self.world = World()
        if has_topic:
            self.world.create(TRANSACTIONS_TOPIC)
        self.brokers = Brokers(self.world)
        self.heard: list[ErrorCode] = []

    def ask(self, who: Transacting, topic: str = "t", index: int = 0) -> None:
        verifier = self.world.node.cluster.transaction_verifier
        self.world.turn(lambda: verifier.ask(who, topic, index, self.heard.append))


def test_questions_are_gathered_while_one_is_under_way() -> None:
    asking = Asking()
    asking.ask(V1)
    for index in (0, 1, 1):
        asking.ask(V2, "u", index)
    asking.ask(V1, "u")
    assert asking.brokers.asked() == [("old", True, [("t", [0])])]
    asking.brokers.answer()
    assert asking.heard == [ErrorCode.NONE]
    assert asking.brokers.asked() == [("new", False, [("u", [0, 1])]), ("old", True, [("u", [0])])]
    asking.brokers.answer(ErrorCode.INVALID_TXN_STATE)
    assert asking.heard == [ErrorCode.NONE] + [ErrorCode.INVALID_TXN_STATE] * 4
    assert asking.brokers.sent == []


def test_a_request_speaks_of_each_transactional_id_once() -> None:
    asking = Asking()
    asking.ask(V1)
    asking.ask(V2)
    asking.ask(V2._replace(producer_epoch=1))
    asking.brokers.answer()
    assert [each.producer_epoch for each in asking.brokers.sent[0][0].transactions] == [0]
    asking.brokers.answer()
    assert [each.producer_epoch for each in asking.brokers.sent[0][0].transactions] == [1]


def test_producers_hear_what_they_know() -> None:
    asking = Asking()
    for said in (ErrorCode.PRODUCER_FENCED, ErrorCode.TRANSACTION_ABORTABLE):
        asking.ask(V2)
        asking.brokers.answer(said)
    for failure in (ErrorCode.NETWORK_EXCEPTION, ErrorCode.BROKER_NOT_AVAILABLE):
        asking.ask(V2)
        asking.brokers.fail(failure)
    assert asking.heard == [
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ]


def test_without_a_coordinator_nobody_is_asked() -> None:
    asking = Asking(has_topic=False)
    asking.ask(V2)
    assert asking.heard == []
    asking.world.run_due()
    assert asking.heard == [ErrorCode.COORDINATOR_NOT_AVAILABLE]


def test_a_transaction_that_still_ends_is_waited_for_only_where_it_is_added_to() -> None:
    asking = Asking()
    asking.ask(V1)
    asking.brokers.answer(ErrorCode.CONCURRENT_TRANSACTIONS)
    assert asking.heard == [ErrorCode.CONCURRENT_TRANSACTIONS]
    asking.ask(V2)
    asking.brokers.answer(ErrorCode.CONCURRENT_TRANSACTIONS)
    assert asking.brokers.sent == []
    asking.world.pass_time(20)
    asking.brokers.answer()
    assert asking.heard == [ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NONE]


def test_it_is_not_waited_for_for_long() -> None:
    asking = Asking()
    asking.ask(V2)
    for _ in range(5):
        asking.brokers.answer(ErrorCode.CONCURRENT_TRANSACTIONS)
        asking.world.pass_time(20)
    assert asking.heard == []
    asking.brokers.answer(ErrorCode.CONCURRENT_TRANSACTIONS)
    assert asking.heard == [ErrorCode.CONCURRENT_TRANSACTIONS]
