"""InitProducerId (22). Versions 0 to 6: 3 lets a producer that comes back say who it was, 4 knows PRODUCER_FENCED.

Version 6, for transactions that an outside coordinator ends (KIP-939), is not final in Kafka 4.3: it is served where
`unstable.api.versions.enable` says so.
"""

from __future__ import annotations

from penstock.core.apis.asking_transactions import ask
from penstock.core.apis.places import by_coordinator
from penstock.core.base.errors import ErrorCode
from penstock.core.node.coordination.transactions import transaction_settings
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, Resource, Touches, on_transactional_ids
from penstock.core.node.serving.api import PENDING, Answer, Api
from penstock.core.node.serving.authorizing import Question
from penstock.core.node.serving.slots import Slot
from penstock.core.transactions.initializing import initialize, problem, refused
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from penstock.core.wire.schema import Response

NO_ID = -1
NO_EPOCH = -1


def handle(node: Node, request: InitProducerIdRequest, slot: Slot) -> Answer:
    if request.transactional_id is None:
        return _idempotent(node, request, slot)
    code = problem(request, transaction_settings(node.settings))
    if code is not ErrorCode.NONE:
        node.error("InitProducerId", code)
        return refused(code, slot.version)
    return ask(node, slot, request.transactional_id, initialize, request, lambda code: refused(code, slot.version))


def _idempotent(node: Node, request: InitProducerIdRequest, slot: Slot) -> Answer:
    """Without a transactional id nobody keeps epochs: a producer that comes back simply gets a new id, as in Kafka."""
    if (request.producer_id == NO_ID) != (request.producer_epoch == NO_EPOCH):
        return refused(ErrorCode(node.error("InitProducerId", ErrorCode.INVALID_REQUEST)), slot.version)

    def given(producer_id: int, error: ErrorCode) -> None:
        epoch = 0 if error is ErrorCode.NONE else NO_EPOCH
        slot.reply(InitProducerIdResponse(error_code=error, producer_id=producer_id, producer_epoch=epoch))

    node.producer_ids.take(given)
    return PENDING


IDEMPOTENT = Touches(Operation.IDEMPOTENT_WRITE, Resource.CLUSTER, unless=Touches(Operation.WRITE, Resource.TOPIC))


def authorize(question: Question) -> Response | None:
    """Without a transactional id, whoever may write to any topic may. Who wants its transactions to wait for an outside
    coordinator needs a right of its own for that."""
    name = question.request.transactional_id
    if name is not None:
        allowed = question.may(Operation.WRITE, Resource.TRANSACTIONAL_ID, name)
        if allowed and question.request.enable2_pc:
            allowed = question.may(Operation.TWO_PHASE_COMMIT, Resource.TRANSACTIONAL_ID, name)
        return None if allowed else question.refuse(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if question.may(Operation.IDEMPOTENT_WRITE, Resource.CLUSTER):
        return None
    if question.may_some(Operation.WRITE, Resource.TOPIC):
        return None
    return question.refuse(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


API = Api(
    InitProducerIdRequest,
    range(7),
    by_coordinator(handle),
    (
        *on_transactional_ids(Operation.WRITE, "transactional_id"),
        *on_transactional_ids(Operation.TWO_PHASE_COMMIT, "transactional_id"),
        IDEMPOTENT,
    ),
    authorize=authorize,
    refuse=lambda request, version, code, message: refused(code, version),
    final=range(6),
)
