"""What becomes of a request, for one share partition: the rules of the five APIs.

Each gives the record that the log gets, if any, and the partition's part of the answer. Kafka checks in this order, so
who is refused for several reasons hears the same one.
"""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.base.values import replaced
from penstock.core.share_state.batches import UNCHANGED, StateBatch, combined
from penstock.core.share_state.key import SharePartition
from penstock.core.share_state.records import snapshot_record, tombstone, update_record
from penstock.core.share_state.state import NO_COUNT, NO_OFFSET, Kept, ShareState
from penstock.core.share_state.turn import Turn, check_epochs, check_exists, check_index, initialized
from penstock.core.wire.api import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)


def initialize(
    turn: Turn, key: SharePartition, asked: initialize_share_group_state.PartitionData
) -> initialize_share_group_state.PartitionResult:
    """Begin anew: what was known before does not count."""
    check_index(key)
    kept = turn.table.get(key)
    check_epochs(kept, -1, asked.state_epoch)
    check_exists(turn, key)
    state = ShareState(
        snapshot_epoch=0 if kept is None else kept.state.snapshot_epoch + 1,
        state_epoch=asked.state_epoch,
        # Who led before and was replaced stays so, also when the log has been cut.
        leader_epoch=0 if kept is None else kept.leader_epoch_seen,
        start_offset=asked.start_offset,
        # Before somebody has begun nobody can say how much is done.
        delivery_complete_count=NO_COUNT if asked.start_offset == NO_OFFSET else 0,
        created_ms=turn.now_ms,
        written_ms=turn.now_ms,
    )
    turn.records.append(snapshot_record(key, state))
    return initialize_share_group_state.PartitionResult(partition=key.partition, error_code=ErrorCode.NONE)


def read(
    turn: Turn, key: SharePartition, asked: read_share_group_state.PartitionData
) -> read_share_group_state.PartitionResult:
    """A leader that begins: from now on those before it are refused."""
    check_index(key)
    kept = initialized(turn, key)
    check_epochs(kept, asked.leader_epoch, -1)
    check_exists(turn, key)
    state = kept.state
    if asked.leader_epoch not in (-1, kept.leader_epoch_seen):
        count = state.delivery_complete_count
        _write(turn, key, kept, ShareState(0, 0, asked.leader_epoch, state.start_offset, count))
    return read_share_group_state.PartitionResult(
        partition=key.partition,
        error_code=ErrorCode.NONE,
        state_epoch=state.state_epoch,
        start_offset=state.start_offset,
        state_batches=[
            read_share_group_state.StateBatch(
                first_offset=each.first,
                last_offset=each.last,
                delivery_state=each.state,
                delivery_count=each.deliveries,
            )
            for each in state.batches
        ],
    )


def write(
    turn: Turn, key: SharePartition, asked: write_share_group_state.PartitionData
) -> write_share_group_state.PartitionResult:
    check_index(key)
    kept = initialized(turn, key)
    check_epochs(kept, asked.leader_epoch, asked.state_epoch)
    check_exists(turn, key)
    said = [
        StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
        for each in asked.state_batches
    ]
    batches = combined((), said, asked.start_offset)
    epoch = kept.state.leader_epoch
    _write(turn, key, kept, ShareState(0, 0, epoch, asked.start_offset, asked.delivery_complete_count, 0, 0, batches))
    return write_share_group_state.PartitionResult(partition=key.partition, error_code=ErrorCode.NONE)


def delete(
    turn: Turn, key: SharePartition, asked: delete_share_group_state.PartitionData
) -> delete_share_group_state.PartitionResult:
    """What is not there is deleted already."""
    check_index(key)
    check_exists(turn, key)
    if key in turn.table:
        turn.records.append(tombstone(key))
    return delete_share_group_state.PartitionResult(partition=key.partition, error_code=ErrorCode.NONE)


def read_summary(
    turn: Turn, key: SharePartition, asked: read_share_group_state_summary.PartitionData
) -> read_share_group_state_summary.PartitionResult:
    """For whoever wants to know how far a group is; nobody is refused afterwards."""
    check_index(key)
    check_exists(turn, key)
    kept = turn.table.get(key)
    state = ShareState() if kept is None else kept.state
    return read_share_group_state_summary.PartitionResult(
        partition=key.partition,
        error_code=ErrorCode.NONE,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
    )


def _write(turn: Turn, key: SharePartition, kept: Kept, change: ShareState) -> None:
    """An update, or everything anew where there were enough of them."""
    state = kept.state
    if kept.updates < turn.context.settings.updates_per_snapshot:
        turn.records.append(update_record(key, replaced(change, snapshot_epoch=state.snapshot_epoch)))
        return
    start = state.start_offset if change.start_offset == UNCHANGED else change.start_offset
    whole = replaced(
        change,
        snapshot_epoch=state.snapshot_epoch + 1,
        state_epoch=state.state_epoch,
        start_offset=start,
        created_ms=turn.now_ms,
        written_ms=turn.now_ms,
        batches=combined(state.batches, change.batches, start),
    )
    turn.records.append(snapshot_record(key, whole))
