"""EndTxn (26). Versions 0 to 5: 2 knows PRODUCER_FENCED, 5 answers with the epoch that the producer goes on in."""

from __future__ import annotations

from penstock.core.apis.asking_transactions import ask
from penstock.core.apis.places import by_coordinator
from penstock.core.base.errors import ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, on_transactional_ids
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.transactions.ending import end
from penstock.core.wire.api.end_txn import EndTxnRequest, EndTxnResponse


def handle(node: Node, request: EndTxnRequest, slot: Slot) -> Answer:
    if not request.transactional_id:
        return EndTxnResponse(error_code=node.error("EndTxn", ErrorCode.INVALID_REQUEST))
    return ask(node, slot, request.transactional_id, end, request, lambda code: EndTxnResponse(error_code=code))


API = Api(EndTxnRequest, range(6), by_coordinator(handle), on_transactional_ids(Operation.WRITE, "transactional_id"))
