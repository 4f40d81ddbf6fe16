"""A committed offset as a record."""

from __future__ import annotations

from penstock.core.groups.offsets.store import CommittedOffset
from penstock.core.groups.records import TAG_BYTES, encode_key, record, tag_of, tombstone
from penstock.core.rsm.result import KeyValue
from penstock.core.wire.stored.classic_group import LegacyOffsetCommitKey, OffsetCommitKey, OffsetCommitValue

# The two types have the same fields; Kafka wrote the older one long ago.
OFFSET_COMMIT_TYPES = (LegacyOffsetCommitKey.TYPE, OffsetCommitKey.TYPE)
_VALUE_VERSION = 4
# Only this version can hold an expiry of its own; clients stopped asking for one with OffsetCommit 5.
_EXPIRING_VALUE_VERSION = 1
_NO_TIMESTAMP = -1
_EMPTY_PLACE_BYTES = 6
"""The length of a topic's name, and a partition's index."""


def offset_record(group_id: str, topic: str, partition: int, commit: CommittedOffset) -> KeyValue:
    value = OffsetCommitValue(
        offset=commit.offset,
        leader_epoch=commit.leader_epoch,
        metadata=commit.metadata,
        commit_timestamp=commit.committed_ms,
        expire_timestamp=_NO_TIMESTAMP if commit.expires_ms is None else commit.expires_ms,
        topic_id=commit.topic_id,
    )
    version = _VALUE_VERSION if commit.expires_ms is None else _EXPIRING_VALUE_VERSION
    return record(OffsetCommitKey(group=group_id, topic=topic, partition=partition), value, version)


def offset_tombstone(group_id: str, topic: str, partition: int) -> KeyValue:
    return tombstone(OffsetCommitKey(group=group_id, topic=topic, partition=partition))


def offset_key(group_id: str, topic: str, partition: int) -> bytes:
    return encode_key(OffsetCommitKey(group=group_id, topic=topic, partition=partition))


def group_prefix(group_id: str) -> bytes:
    """How the keys of all offsets of a group begin."""
    return offset_key(group_id, "", 0)[:-_EMPTY_PLACE_BYTES]


def decode_offset_key(key: bytes) -> OffsetCommitKey:
    return OffsetCommitKey.decode(key, 0, TAG_BYTES)


def decode_offset_value(value: bytes) -> CommittedOffset:
    stored = OffsetCommitValue.decode(value, tag_of(value), TAG_BYTES)
    return CommittedOffset(
        offset=stored.offset,
        leader_epoch=stored.leader_epoch,
        metadata=stored.metadata,
        committed_ms=stored.commit_timestamp,
        expires_ms=None if stored.expire_timestamp == _NO_TIMESTAMP else stored.expire_timestamp,
        topic_id=stored.topic_id,
    )
