"""The state of a share group's partition as records of `__share_group_state`, in Kafka's format.

A snapshot says everything; an update says what has changed since. They have different keys, and the log is not
compacted: what is older than the last snapshot of every key is cut off.
"""

from __future__ import annotations

import struct
from typing import Any, Final

from penstock.core.rsm.result import KeyValue
from penstock.core.share_state.batches import StateBatch
from penstock.core.share_state.key import SharePartition
from penstock.core.share_state.state import ShareState
from penstock.core.wire.stored.share_state import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareSnapshotValueStateBatch,
    ShareUpdateKey,
    ShareUpdateValue,
    ShareUpdateValueStateBatch,
)

_TAG: Final = struct.Struct(">h")
SNAPSHOT: Final = ShareSnapshotKey.TYPE
UPDATE: Final = ShareUpdateKey.TYPE
_KEYS: Final[dict[int, Any]] = {SNAPSHOT: ShareSnapshotKey, UPDATE: ShareUpdateKey}
_VERSION: Final = 0
"""Of keys and values alike."""


def snapshot_record(key: SharePartition, state: ShareState) -> KeyValue:
    value = ShareSnapshotValue(
        snapshot_epoch=state.snapshot_epoch,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
        create_timestamp=state.created_ms,
        write_timestamp=state.written_ms,
        state_batches=_stored(state.batches, ShareSnapshotValueStateBatch),
    )
    return _key(SNAPSHOT, key), _TAG.pack(_VERSION) + value.encode(_VERSION)


def update_record(key: SharePartition, change: ShareState) -> KeyValue:
    """`change` has the epochs of what it changes."""
    value = ShareUpdateValue(
        snapshot_epoch=change.snapshot_epoch,
        leader_epoch=change.leader_epoch,
        start_offset=change.start_offset,
        delivery_complete_count=change.delivery_complete_count,
        state_batches=_stored(change.batches, ShareUpdateValueStateBatch),
    )
    return _key(UPDATE, key), _TAG.pack(_VERSION) + value.encode(_VERSION)


def tombstone(key: SharePartition) -> KeyValue:
    return _key(SNAPSHOT, key), None


def decode_key(key: bytes) -> tuple[int, SharePartition] | None:
    """What a record is, and what it is about; None for a type that a newer version has written."""
    (kind,) = _TAG.unpack_from(key)
    if kind not in _KEYS:
        return None
    found = _KEYS[kind].decode(key, _VERSION, _TAG.size)
    return kind, SharePartition(found.group_id, found.topic_id, found.partition)


def decode_snapshot(value: bytes) -> ShareState | None:
    """What a record says, or None for a version that is not known here."""
    if not _is_known(value):
        return None
    stored = ShareSnapshotValue.decode(value, _VERSION, _TAG.size)
    return ShareState(
        stored.snapshot_epoch,
        stored.state_epoch,
        stored.leader_epoch,
        stored.start_offset,
        stored.delivery_complete_count,
        stored.create_timestamp,
        stored.write_timestamp,
        _batches(stored.state_batches),
    )


def decode_update(value: bytes) -> ShareState | None:
    if not _is_known(value):
        return None
    stored = ShareUpdateValue.decode(value, _VERSION, _TAG.size)
    return ShareState(
        snapshot_epoch=stored.snapshot_epoch,
        leader_epoch=stored.leader_epoch,
        start_offset=stored.start_offset,
        delivery_complete_count=stored.delivery_complete_count,
        batches=_batches(stored.state_batches),
    )


def _key(kind: int, key: SharePartition) -> bytes:
    group_id, topic_id, partition = key
    made = _KEYS[kind](group_id=group_id, topic_id=topic_id, partition=partition)
    text: bytes = made.encode(_VERSION)
    return _TAG.pack(kind) + text


def _is_known(value: bytes) -> bool:
    version: int = _TAG.unpack_from(value)[0]
    return version == _VERSION


def _stored(batches: tuple[StateBatch, ...], kind: Any) -> list[Any]:
    return [
        kind(first_offset=each.first, last_offset=each.last, delivery_state=each.state, delivery_count=each.deliveries)
        for each in batches
    ]


def _batches(stored: list[Any]) -> tuple[StateBatch, ...]:
    return tuple(
        StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count) for each in stored
    )
