"""What AlterConfigs and IncrementalAlterConfigs share: each resource stands or falls alone, all commit at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Protocol

from penstock.core.apis.committing import commit
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Slot
from penstock.core.wire import Message
from penstock.core.wire.schema import StoredRecord


class Outcome(Protocol):
    """The part of a response that speaks of one resource."""

    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str


Change = tuple[Callable[[], list[StoredRecord]], Outcome]


def alter(node: Node, slot: Slot, changes: list[Change], validate_only: bool, response: Message) -> Answer:
    """Plan every change, commit what may be, and answer for all."""
    records: list[StoredRecord] = []
    times = Counter((outcome.resource_type, outcome.resource_name) for _, outcome in changes)
    for plan, outcome in changes:
        try:
            if times[outcome.resource_type, outcome.resource_name] > 1:
                raise ApiError(ErrorCode.INVALID_REQUEST, "Each resource may be named once.")
            records += plan()
        except ApiError as error:
            outcome.error_code = node.error(slot.api.name, error.code)
            outcome.error_message = error.message
    outcomes = [outcome for _, outcome in changes]
    return commit(node, slot, [] if validate_only else records, outcomes, response)
