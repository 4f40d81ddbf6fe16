"""DescribeTransactions (65). Version 0: what is known of some transactional ids."""

from __future__ import annotations

from typing import cast

from penstock.core.apis.asking_transactions import decide
from penstock.core.apis.gathering import Gathering, Part
from penstock.core.apis.places import by_coordinator
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, Resource, Touches, on_transactional_ids
from penstock.core.node.serving.api import PENDING, Answer, Api
from penstock.core.node.serving.authorizing import Question
from penstock.core.node.serving.slots import Answerable, Slot
from penstock.core.transactions.context import Turn
from penstock.core.transactions.describing import described
from penstock.core.wire import Message
from penstock.core.wire.api.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from penstock.core.wire.schema import Response


def handle(node: Node, request: DescribeTransactionsRequest, slot: Slot) -> Answer:
    names = request.transactional_ids
    if not names:
        return DescribeTransactionsResponse()
    gathering = Gathering(slot, len(names), _merged)
    for number, name in enumerate(names):
        _ask(node, slot, name, Part(gathering, number))
    return PENDING


def _ask(node: Node, slot: Slot, name: str, reply: Answerable) -> None:
    def rule(turn: Turn) -> None:
        turn.answer(reply, DescribeTransactionsResponse(transaction_states=[described(turn.table, name)]))

    try:
        if not name:
            raise ApiError(ErrorCode.INVALID_REQUEST)
        decide(node, name, rule)
    except ApiError as error:
        code = node.error(slot.api.name, error.code)
        refused = TransactionState(transactional_id=name, error_code=code)
        reply.reply(DescribeTransactionsResponse(transaction_states=[refused]))


def _merged(parts: list[Message]) -> Message:
    answers = cast("list[DescribeTransactionsResponse]", parts)
    return DescribeTransactionsResponse(
        transaction_states=[each for part in answers for each in part.transaction_states]
    )


def authorize(question: Question) -> Response | None:
    """Of a transaction somebody is told the topics that he may look at."""

    def verdict(name: str) -> ErrorCode | None:
        allowed = question.may(Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, name)
        return None if allowed else ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

    def leave_out(answer: DescribeTransactionsResponse) -> None:
        for state in answer.transaction_states:
            state.topics = [
                each for each in state.topics if question.may(Operation.DESCRIBE, Resource.TOPIC, each.topic)
            ]
            if state.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
                # As where a coordinator refuses: nothing at all is said.
                state.producer_id = state.transaction_start_time_ms = 0

    refused = question.set_aside("transactional_ids", verdict, then=lambda: question.after.append(leave_out))
    if isinstance(refused, DescribeTransactionsResponse):
        leave_out(refused)
    return refused


API = Api(
    DescribeTransactionsRequest,
    range(1),
    by_coordinator(handle),
    (
        *on_transactional_ids(Operation.DESCRIBE, "transactional_ids"),
        Touches(Operation.DESCRIBE, Resource.TOPIC),
    ),
    authorize=authorize,
)
