"""How transaction APIs reach the machine of a transactional id."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.serving.api import PENDING, Answer
from penstock.core.node.serving.slots import Slot
from penstock.core.transactions.asked import Asked
from penstock.core.transactions.context import Turn
from penstock.core.wire import Message
from penstock.core.wire.schema import Response

R = TypeVar("R", bound=Message)
Rule = Callable[[Turn], None]
"""Decides in a turn of a machine."""
Refuse = Callable[[ErrorCode], Response]


def decide(node: Node, transactional_id: str, rule: Rule) -> None:
    """Let the machine of an id decide; ApiError where it is not here, or cannot be asked yet."""
    host = node.coordinators.transactions.find(transactional_id)
    host.run(lambda machine: machine.decide(node.now_ms, rule))


def ask(
    node: Node,
    slot: Slot,
    transactional_id: str,
    answer: Callable[[Turn, Asked[R]], None],
    request: R,
    refuse: Refuse,
) -> Answer:
    """Answer a slot with what a rule makes of its request. There are producer ids in stock when it is asked."""
    asked = Asked(request, slot.version, slot)

    def refused(code: ErrorCode) -> None:
        slot.reply(refuse(ErrorCode(node.error(slot.api.name, code))))

    def run(code: ErrorCode) -> None:
        if code is not ErrorCode.NONE:
            refused(code)
            return
        try:
            decide(node, transactional_id, lambda turn: answer(turn, asked))
        except ApiError as error:
            refused(error.code)

    node.producer_ids.when_stocked(run)
    return PENDING
