"""Asks coordinators, on behalf of the partitions that this node leads, whether transactions are open (KIP-890).

Of a client that knows the second version of the protocol the coordinator learns in this way that a partition belongs to
its transaction. Questions to one broker are gathered while it is asked: one request at a time goes to each.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.routing import partition_for_group
from penstock.core.metadata.image import NO_LEADER
from penstock.core.node.links.purposes import VERIFY
from penstock.core.node.membership.broker_channel import BrokerChannel
from penstock.core.node.membership.ports import MemberHost
from penstock.core.wire.api.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from penstock.core.wire.schema import Response

TRANSACTIONS_TOPIC: Final = "__transaction_state"

TOLD_AS: Final = {
    ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: ErrorCode.INVALID_TXN_STATE,
    ErrorCode.BROKER_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}
"""What a producer knows of these: they are about a broker's words, not about its own."""

Place = tuple[str, int]
Answers = dict[tuple[str, Place], ErrorCode]
"""By transactional id, topic and partition."""


class Transacting(NamedTuple):
    """Whose transaction it is."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    adds: bool
    """Whether the partition is added to it; otherwise it must be there already."""


class _Question(NamedTuple):
    who: Transacting
    place: Place
    end_ms: int
    then: Callable[[ErrorCode], None]


class TransactionVerifier:
    """All questions of a node that are under way."""

    def __init__(self, node: MemberHost, brokers: BrokerChannel) -> None:
        self._node = node
        self._brokers = brokers
        self._queues: dict[int, deque[_Question]] = {}
        self._busy: set[int] = set()

    def ask(self, who: Transacting, topic: str, index: int, then: Callable[[ErrorCode], None]) -> None:
        """`then` comes exactly once, in a later step: NONE says that the transaction is open and this is part of it."""
        settings = self._node.settings
        patience_ms = settings["add.partitions.to.txn.retry.backoff.max.ms"] if who.adds else 0
        end_ms = self._node.now_ms + min(patience_ms, settings["request.timeout.ms"])
        self._ask(_Question(who, (topic, index), end_ms, then))

    def _ask(self, question: _Question) -> None:
        coordinator = self._coordinator(question.who.transactional_id)
        if coordinator is None:
            self._node.deadlines.soon(partial(question.then, ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        self._queues.setdefault(coordinator, deque()).append(question)
        self._pump(coordinator)

    def _coordinator(self, transactional_id: str) -> int | None:
        topic = self._node.image.topic(TRANSACTIONS_TOPIC)
        if topic is None:
            return None
        leader = topic.leaders[partition_for_group(transactional_id, len(topic))]
        return None if leader == NO_LEADER else int(leader)

    def _pump(self, broker_id: int) -> None:
        if broker_id in self._busy or broker_id not in self._queues:
            return
        questions, left = _compatible(self._queues.pop(broker_id))
        if left:
            self._queues[broker_id] = left
        self._busy.add(broker_id)
        self._brokers.send(broker_id, VERIFY, _request(questions), partial(self._heard, broker_id, questions))

    def _heard(self, broker_id: int, questions: list[_Question], answer: Response | ErrorCode) -> None:
        self._busy.discard(broker_id)
        failure, answers = _read(answer)
        for question in questions:
            code = failure or answers.get((question.who.transactional_id, question.place), ErrorCode.NETWORK_EXCEPTION)
            self._tell(question, TOLD_AS.get(code, code))
        self._pump(broker_id)

    def _tell(self, question: _Question, code: ErrorCode) -> None:
        """A client would take longer to come again than the transaction before this one takes to end."""
        node = self._node
        if code is ErrorCode.CONCURRENT_TRANSACTIONS and node.now_ms < question.end_ms:
            again_ms = node.now_ms + node.settings["add.partitions.to.txn.retry.backoff.ms"]
            node.deadlines.at(again_ms, partial(self._ask, question))
        else:
            question.then(code)


def _compatible(questions: deque[_Question]) -> tuple[list[_Question], deque[_Question]]:
    """Those that one request can ask, and the others: it speaks of each transactional id once."""
    spoken_of: dict[str, Transacting] = {}
    asked, left = list[_Question](), deque[_Question]()
    for question in questions:
        fits = spoken_of.setdefault(question.who.transactional_id, question.who) == question.who
        (asked if fits else left).append(question)
    return asked, left


def _request(questions: list[_Question]) -> AddPartitionsToTxnRequest:
    places: dict[Transacting, dict[str, dict[int, None]]] = {}
    for who, (topic, index), _, _ in questions:
        places.setdefault(who, {}).setdefault(topic, {})[index] = None
    return AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnTransaction(
                transactional_id=who.transactional_id,
                producer_id=who.producer_id,
                producer_epoch=who.producer_epoch,
                verify_only=not who.adds,
                topics=[AddPartitionsToTxnTopic(name=name, partitions=[*indexes]) for name, indexes in topics.items()],
            )
            for who, topics in places.items()
        ]
    )


def _read(answer: Response | ErrorCode) -> tuple[ErrorCode, Answers]:
    """What is said of all, and of each."""
    if not isinstance(answer, AddPartitionsToTxnResponse):
        return answer if isinstance(answer, ErrorCode) else ErrorCode.NETWORK_EXCEPTION, {}
    return ErrorCode(answer.error_code), {
        (each.transactional_id, (topic.name, one.partition_index)): ErrorCode(one.partition_error_code)
        for each in answer.results_by_transaction
        for topic in each.topic_results
        for one in topic.results_by_partition
    }
