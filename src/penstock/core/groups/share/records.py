"""A share group as records: its epoch, its target's, three for each member, and one of what is set up."""

from __future__ import annotations

from typing import Any, Final

from penstock.core.base.values import replaced
from penstock.core.groups.records import TAG_BYTES, record, tag_of, tombstone
from penstock.core.groups.share.group import ShareGroup
from penstock.core.groups.share.member import STABLE, Partitions, ShareMember
from penstock.core.groups.share.state_partitions import NONE, Named, StatePartitions, Topics
from penstock.core.rsm.result import KeyValue
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.share_group import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
    TopicInfo,
    TopicPartition,
    TopicPartitions,
    TopicPartitionsInfo,
)

_VERSION: Final = 0
_KEYS: Final[tuple[type[StoredRecord], ...]] = (
    ShareGroupMetadataKey,
    ShareGroupMemberMetadataKey,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupStatePartitionMetadataKey,
)
KEY_OF_TYPE: Final = {key.TYPE: key for key in _KEYS}


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> KeyValue:
    key = ShareGroupMetadataKey(group_id=group_id)
    return record(key, ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash), _VERSION)


def member_record(group_id: str, member: ShareMember) -> KeyValue:
    value = ShareGroupMemberMetadataValue(
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
    )
    return record(ShareGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id), value, _VERSION)


def target_epoch_record(group_id: str, epoch: int, now_ms: int) -> KeyValue:
    key = ShareGroupTargetAssignmentMetadataKey(group_id=group_id)
    value = ShareGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=now_ms)
    return record(key, value, _VERSION)


def target_record(group_id: str, member_id: str, target: Partitions) -> KeyValue:
    key = ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    partitions = [TopicPartition(topic_id=each, partitions=sorted(numbers)) for each, numbers in sorted(target.items())]
    return record(key, ShareGroupTargetAssignmentMemberValue(topic_partitions=partitions), _VERSION)


def current_record(group_id: str, member: ShareMember) -> KeyValue:
    key = ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id)
    value = ShareGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=STABLE,
        assigned_partitions=[
            TopicPartitions(topic_id=each, partitions=sorted(numbers))
            for each, numbers in sorted(member.assigned.items())
        ],
    )
    return record(key, value, _VERSION)


def states_record(group_id: str, states: StatePartitions) -> KeyValue:
    value = ShareGroupStatePartitionMetadataValue(
        initializing_topics=_stored(states.initializing),
        initialized_topics=_stored(states.initialized),
        deleting_topics=[TopicInfo(topic_id=each, topic_name=name) for each, name in sorted(states.deleting.items())],
    )
    return record(ShareGroupStatePartitionMetadataKey(group_id=group_id), value, _VERSION)


def member_tombstones(group_id: str, member_id: str) -> list[KeyValue]:
    return [
        tombstone(ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)),
        tombstone(ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)),
        tombstone(ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id)),
    ]


def group_tombstones(group: ShareGroup) -> list[KeyValue]:
    members = [each for member_id in group.members for each in member_tombstones(group.group_id, member_id)]
    return [
        *members,
        tombstone(ShareGroupTargetAssignmentMetadataKey(group_id=group.group_id)),
        tombstone(ShareGroupStatePartitionMetadataKey(group_id=group.group_id)),
        tombstone(ShareGroupMetadataKey(group_id=group.group_id)),
    ]


def decode_key(key: bytes) -> StoredRecord:
    return KEY_OF_TYPE[tag_of(key)].decode(key, 0, TAG_BYTES)


def replay_in(group: ShareGroup, key: StoredRecord, value: bytes | None, now_ms: int) -> None:
    """One of the group's records counts; the tombstone of the group itself is for whoever keeps the groups."""
    match key:
        case ShareGroupMetadataKey() if value is not None:
            epoch = ShareGroupMetadataValue.decode(value, tag_of(value), TAG_BYTES)
            group.epoch, group.metadata_hash = epoch.epoch, epoch.metadata_hash
        case ShareGroupTargetAssignmentMetadataKey():
            _replay_target_epoch(group, value)
        case ShareGroupTargetAssignmentMemberKey(member_id=member_id):
            _replay_target(group, member_id, value)
        case ShareGroupMemberMetadataKey(member_id=member_id):
            _replay_member(group, member_id, value)
        case ShareGroupCurrentMemberAssignmentKey(member_id=member_id):
            _replay_current(group, member_id, value)
        case ShareGroupStatePartitionMetadataKey():
            _replay_states(group, value, now_ms)


def _replay_target_epoch(group: ShareGroup, value: bytes | None) -> None:
    if value is None:
        group.assignment_epoch, group.assignment_ms = 0, None
        return
    target = ShareGroupTargetAssignmentMetadataValue.decode(value, tag_of(value), TAG_BYTES)
    group.assignment_epoch, group.assignment_ms = target.assignment_epoch, target.assignment_timestamp


def _replay_target(group: ShareGroup, member_id: str, value: bytes | None) -> None:
    if value is None:
        group.targets.pop(member_id, None)
        return
    stored = ShareGroupTargetAssignmentMemberValue.decode(value, tag_of(value), TAG_BYTES)
    group.targets[member_id] = {each.topic_id: frozenset(each.partitions) for each in stored.topic_partitions}


def _replay_member(group: ShareGroup, member_id: str, value: bytes | None) -> None:
    if value is None:
        group.remove(member_id)
        return
    stored = ShareGroupMemberMetadataValue.decode(value, tag_of(value), TAG_BYTES)
    group.put(
        replaced(
            group.members.get(member_id, ShareMember(member_id)),
            rack_id=stored.rack_id,
            client_id=stored.client_id,
            client_host=stored.client_host,
            topics=frozenset(stored.subscribed_topic_names),
        )
    )


def _replay_current(group: ShareGroup, member_id: str, value: bytes | None) -> None:
    member = group.members.get(member_id)
    if value is None:
        # What a member had goes before the member itself does.
        if member is not None:
            group.put(replaced(member, assigned={}, epoch=0, previous_epoch=0))
        return
    stored = ShareGroupCurrentMemberAssignmentValue.decode(value, tag_of(value), TAG_BYTES)
    assigned = {each.topic_id: frozenset(each.partitions) for each in stored.assigned_partitions}
    epochs = {"epoch": stored.member_epoch, "previous_epoch": stored.previous_member_epoch}
    group.put(replaced(member or ShareMember(member_id), assigned=assigned, **epochs))


def _replay_states(group: ShareGroup, value: bytes | None, now_ms: int) -> None:
    if value is None:
        group.states = NONE
        return
    stored = ShareGroupStatePartitionMetadataValue.decode(value, tag_of(value), TAG_BYTES)
    deleting = {each.topic_id: each.topic_name for each in stored.deleting_topics}
    group.states = StatePartitions(
        _read(stored.initializing_topics), _read(stored.initialized_topics), deleting, now_ms
    )


def _stored(topics: Topics) -> list[TopicPartitionsInfo]:
    return [
        TopicPartitionsInfo(topic_id=each, topic_name=name, partitions=sorted(partitions))
        for each, (name, partitions) in sorted(topics.items())
    ]


def _read(stored: list[Any]) -> Topics:
    return {each.topic_id: Named(each.topic_name, frozenset(each.partitions)) for each in stored}
