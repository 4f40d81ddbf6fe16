"""What AlterConfigs and IncrementalAlterConfigs share: each resource stands or falls alone, all commit at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from penstock.core.apis.committing import commit
from penstock.core.base.errors import ApiError
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Slot
from penstock.core.wire import Message
from penstock.core.wire.schema import StoredRecord


class Outcome(Protocol):
    """The part of a response that speaks of one resource."""

    error_code: int
    error_message: str | None


Change = tuple[Callable[[], list[StoredRecord]], Outcome]


def alter(node: Node, slot: Slot, changes: list[Change], validate_only: bool, response: Message) -> Answer:
    """Plan every change, commit what may be, and answer for all."""
    records: list[StoredRecord] = []
    for plan, outcome in changes:
        try:
            records += plan()
        except ApiError as error:
            outcome.error_code = node.error(slot.api.name, error.code)
            outcome.error_message = error.message
    outcomes = [outcome for _, outcome in changes]
    return commit(node, slot, [] if validate_only else records, outcomes, response)
