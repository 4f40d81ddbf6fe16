"""InitProducerId (22). Versions 0 to 5, for idempotent producers; 3 lets one that comes back say who it was."""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.slots import PENDING, Answer, Api, Slot
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

NO_ID = -1
NO_EPOCH = -1


def handle(node: Node, request: InitProducerIdRequest, slot: Slot) -> Answer:
    code = _problem(request)
    if code is not ErrorCode.NONE:
        node.error("InitProducerId", code)
        return InitProducerIdResponse(error_code=code, producer_id=NO_ID, producer_epoch=NO_EPOCH)

    def given(producer_id: int, error: ErrorCode) -> None:
        epoch = 0 if error is ErrorCode.NONE else NO_EPOCH
        slot.reply(InitProducerIdResponse(error_code=error, producer_id=producer_id, producer_epoch=epoch))

    # Without a transactional id nobody keeps epochs: a producer that comes back simply gets a new id, as in Kafka.
    node.producer_ids.take(given)
    return PENDING


def _problem(request: InitProducerIdRequest) -> ErrorCode:
    if request.transactional_id == "":
        return ErrorCode.INVALID_REQUEST
    if request.transactional_id is not None:
        return ErrorCode.INVALID_REQUEST
    if (request.producer_id == NO_ID) != (request.producer_epoch == NO_EPOCH):
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE


API = Api(InitProducerIdRequest, range(6), handle)
