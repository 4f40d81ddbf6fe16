"""What every administrative API ends with: the records are committed, then the answer leaves, or says why not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from penstock.core.base.errors import ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.slots import PENDING, Answer, Slot
from penstock.core.wire import Message
from penstock.core.wire.schema import StoredRecord


class Outcome(Protocol):
    """The part of a response that speaks of one thing asked for."""

    error_code: int


def commit(
    node: Node, slot: Slot, records: list[StoredRecord], outcomes: Sequence[Outcome], response: Message
) -> Answer:
    """Answer once `records` are committed and acted upon. Where there are none, what others have submitted may be the
    reason (a topic that is being deleted), and a refusal for that must not be heard before it is sure."""
    if not records:
        return response if node.quorum.is_settled else _wait(node, slot, outcomes, response)

    def committed(code: ErrorCode) -> None:
        for outcome in outcomes:
            if code is not ErrorCode.NONE and outcome.error_code == 0:
                outcome.error_code = code
        slot.reply(response)

    node.submit(records, committed)
    return PENDING


def _wait(node: Node, slot: Slot, outcomes: Sequence[Outcome], response: Message) -> Answer:
    def settled(code: ErrorCode) -> None:
        for outcome in outcomes:
            outcome.error_code = code or outcome.error_code
        slot.reply(response)

    node.quorum.when_settled(settled)
    return PENDING
