"""AddOffsetsToTxn (25). Versions 0 to 4: the offsets of a group become part of a transaction; 2 knows PRODUCER_FENCED.

What joins is the partition of `__consumer_offsets` in which the group's offsets are.
"""

from __future__ import annotations

from penstock.core.apis.asking_transactions import ask
from penstock.core.apis.places import by_coordinator
from penstock.core.node.coordination.groups import OFFSETS_TOPIC
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, on_groups, on_transactional_ids
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.transactions.adding import FENCING_VERSION, add
from penstock.core.transactions.asked import Asked, told
from penstock.core.transactions.context import Turn
from penstock.core.transactions.metadata import Producer
from penstock.core.wire.api.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

CLIENT_VERSION = 0
"""Clients of `transaction.version` 2 do not send this: the group's coordinator asks for them."""


def handle(node: Node, request: AddOffsetsToTxnRequest, slot: Slot) -> Answer:
    groups = node.coordinators.groups
    partition = (OFFSETS_TOPIC, groups.kind.index_of(request.group_id, groups.count))

    def answer(turn: Turn, asked: Asked[AddOffsetsToTxnRequest]) -> None:
        producer = Producer(request.producer_id, request.producer_epoch)
        code = add(turn, request.transactional_id, producer, (partition,), CLIENT_VERSION)
        turn.answer(asked.reply, AddOffsetsToTxnResponse(error_code=told(code, asked.version, FENCING_VERSION)))

    return ask(
        node, slot, request.transactional_id, answer, request, lambda code: AddOffsetsToTxnResponse(error_code=code)
    )


API = Api(
    AddOffsetsToTxnRequest,
    range(5),
    by_coordinator(handle),
    on_transactional_ids(Operation.WRITE, "transactional_id") + on_groups(Operation.READ, "group_id"),
)
