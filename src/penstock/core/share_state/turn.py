"""One turn of the machine: what it may look at, what it writes, and who hears of it."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.base.errors import ErrorCode
from penstock.core.base.values import fresh, frozen
from penstock.core.rsm.result import KeyValue, Performer, Timers
from penstock.core.share_state.key import SharePartition
from penstock.core.share_state.settings import ShareStateSettings
from penstock.core.share_state.state import Kept
from penstock.core.share_state.table import ShareStateTable

PartitionCount = Callable[[bytes], int | None]
"""How many partitions the topic with an id has; None where there is no such topic."""


@frozen
class ShareStateContext:
    """What all machines of a node have in common, and what each is given."""

    settings: ShareStateSettings
    timers: Timers
    partition_count: PartitionCount
    pruner: Performer


@frozen
class Turn:
    """What a request is judged by."""

    now_ms: int
    context: ShareStateContext
    table: ShareStateTable
    records: list[KeyValue] = fresh(default_factory=list)

    def exists(self, key: SharePartition) -> bool:
        count = self.context.partition_count(key.topic_id)
        return count is not None and key.partition < count


class Refused(Exception):
    """What is asked about one partition is not done."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(code.name)
        self.code = code
        self.message = message


UNKNOWN = "The topic or the partition is not known here."
NEGATIVE = "The partition's number is below zero."
STATE_FENCED = "The group's partition has been set up anew since."
LEADER_FENCED = "The partition has a later leader."


def check_index(key: SharePartition) -> None:
    if key.partition < 0:
        raise Refused(ErrorCode.INVALID_REQUEST, NEGATIVE)


def check_exists(turn: Turn, key: SharePartition) -> None:
    if not turn.exists(key):
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN)


def check_epochs(kept: Kept | None, leader_epoch: int, state_epoch: int) -> None:
    """An epoch of -1 is not compared."""
    if kept is None:
        return
    if leader_epoch != -1 and leader_epoch < kept.leader_epoch_seen:
        raise Refused(ErrorCode.FENCED_LEADER_EPOCH, LEADER_FENCED)
    if state_epoch != -1 and state_epoch < kept.state_epoch_seen:
        raise Refused(ErrorCode.FENCED_STATE_EPOCH, STATE_FENCED)


def initialized(turn: Turn, key: SharePartition) -> Kept:
    kept = turn.table.get(key)
    if kept is None:
        raise Refused(ErrorCode.INVALID_REQUEST, "Nothing is set up for this group's partition.")
    return kept
