"""What is kept about one partition of a share group."""

from __future__ import annotations

from typing import Final

from penstock.core.base.values import frozen
from penstock.core.share_state.batches import StateBatch

NO_OFFSET: Final = -1
"""Nobody has begun to read: where to begin is for the partition's leader to find out."""
NO_COUNT: Final = -1


@frozen
class ShareState:
    """As Kafka's snapshot has it."""

    snapshot_epoch: int = 0
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = NO_OFFSET
    delivery_complete_count: int = NO_COUNT
    created_ms: int = 0
    written_ms: int = 0
    batches: tuple[StateBatch, ...] = ()


@frozen
class Kept:
    """A state, and what the machine has to know of its records."""

    state: ShareState
    offset: int
    """Of the snapshot: what the log has before the first of these is not needed any more."""
    updates: int = 0
    """Since the snapshot."""
    leader_epoch_seen: int = 0
    state_epoch_seen: int = 0
    """The highest ones. Whoever comes with less has been replaced."""
