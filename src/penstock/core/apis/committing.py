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
    """Answer once `records` are committed and acted upon; at once if there are none."""
    if not records:
        return response

    def committed(code: ErrorCode) -> None:
        for outcome in outcomes:
            if code is not ErrorCode.NONE and outcome.error_code == 0:
                outcome.error_code = code
        slot.reply(response)

    node.submit(records, committed)
    return PENDING
