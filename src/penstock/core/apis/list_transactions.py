"""ListTransactions (66). Versions 0 to 2: the transactional ids whose coordinator this is.

1 filters by duration, 2 by a regular expression that all of an id must match.
"""

from __future__ import annotations

from typing import cast

from penstock.core.apis.gathering import Gathering, Part
from penstock.core.apis.places import by_coordinator
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.patterns.tree import InvalidPattern
from penstock.core.base.ports import Steps
from penstock.core.node.coordination.transactions import list_transactions
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, Resource, Touches
from penstock.core.node.serving.api import PENDING, Answer, Api
from penstock.core.node.serving.authorizing import Question
from penstock.core.node.serving.slots import Slot
from penstock.core.transactions.describing import filter_of, unknown_states
from penstock.core.wire import Message
from penstock.core.wire.api.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from penstock.core.wire.schema import Response


def handle(node: Node, request: ListTransactionsRequest, slot: Slot) -> Answer:
    try:
        wanted, unknown = filter_of(request), unknown_states(request)
    except InvalidPattern:
        return ListTransactionsResponse(error_code=node.error(slot.api.name, ErrorCode.INVALID_REGULAR_EXPRESSION))
    hosts = node.coordinators.transactions
    indexes = hosts.local
    if not indexes:
        return ListTransactionsResponse(unknown_state_filters=unknown)
    gathering = Gathering(slot, len(indexes), lambda parts: _merged(parts, unknown))

    def ask_each() -> Steps[None]:
        for index in indexes:
            reply = Part(gathering, index)
            try:
                yield from list_transactions(hosts.at(index), wanted, reply)
            except ApiError as error:
                reply.reply(ListTransactionsResponse(error_code=node.error(slot.api.name, error.code)))

    node.tasks.run(ask_each())
    return PENDING


def _merged(parts: list[Message], unknown: list[str]) -> Message:
    """One that is being loaded spoils all, as in Kafka; one that has gone elsewhere is listed there."""
    answers = cast("list[ListTransactionsResponse]", parts)
    if any(each.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS for each in answers):
        return ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    states = [state for each in answers for state in each.transaction_states]
    return ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=states)


def authorize(question: Question) -> Response | None:
    """Everybody is told of those that he may look at."""

    def leave_out(answer: ListTransactionsResponse) -> None:
        answer.transaction_states = [
            each
            for each in answer.transaction_states
            if question.may(Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, each.transactional_id)
        ]

    question.after.append(leave_out)
    return None


DESCRIBE = (Touches(Operation.DESCRIBE, Resource.TRANSACTIONAL_ID),)
API = Api(ListTransactionsRequest, range(3), by_coordinator(handle), DESCRIBE, authorize=authorize)
