"""A consumer group as records: one for its epoch, one for its target's, and three for each member."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.core.base.values import replaced
from penstock.core.groups.consumer.group import ConsumerGroup
from penstock.core.groups.consumer.member import ClassicMember, ConsumerMember, Epochs, MemberState, Partitions
from penstock.core.groups.records import TAG_BYTES, record, tag_of, tombstone
from penstock.core.rsm.result import KeyValue
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.consumer_group import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    TopicPartition,
    TopicPartitions,
)

_VERSION: Final = 0
_KEYS: Final[tuple[type[StoredRecord], ...]] = (
    ConsumerGroupMetadataKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupRegularExpressionKey,
)
KEY_OF_TYPE: Final = {key.TYPE: key for key in _KEYS}


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> KeyValue:
    key = ConsumerGroupMetadataKey(group_id=group_id)
    return record(key, ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash), _VERSION)


def member_record(group_id: str, member: ConsumerMember) -> KeyValue:
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.pattern,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.assignor,
        classic_member_metadata=_stored_classic(member.classic),
    )
    return record(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id), value, _VERSION)


def pattern_record(group_id: str, pattern: str, topics: frozenset[str], now_ms: int) -> KeyValue:
    key = ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=pattern)
    value = ConsumerGroupRegularExpressionValue(topics=sorted(topics), version=0, timestamp=now_ms)
    return record(key, value, _VERSION)


def pattern_tombstone(group_id: str, pattern: str) -> KeyValue:
    return tombstone(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=pattern))


def target_epoch_record(group_id: str, epoch: int, now_ms: int) -> KeyValue:
    key = ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id)
    value = ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=now_ms)
    return record(key, value, _VERSION)


def target_record(group_id: str, member_id: str, target: Partitions) -> KeyValue:
    key = ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    partitions = [
        TopicPartition(topic_id=topic_id, partitions=sorted(numbers)) for topic_id, numbers in sorted(target.items())
    ]
    return record(key, ConsumerGroupTargetAssignmentMemberValue(topic_partitions=partitions), _VERSION)


def current_record(group_id: str, member: ConsumerMember) -> KeyValue:
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id)
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        assigned_partitions=_stored(member.assigned),
        partitions_pending_revocation=_stored(member.revoking),
    )
    return record(key, value, _VERSION)


def member_tombstones(group_id: str, member_id: str) -> list[KeyValue]:
    return [
        tombstone(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)),
        tombstone(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)),
        tombstone(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id)),
    ]


def group_tombstones(group: ConsumerGroup) -> list[KeyValue]:
    members = [each for member_id in group.members for each in member_tombstones(group.group_id, member_id)]
    return [
        *members,
        *(pattern_tombstone(group.group_id, each) for each in group.patterns),
        tombstone(ConsumerGroupTargetAssignmentMetadataKey(group_id=group.group_id)),
        tombstone(ConsumerGroupMetadataKey(group_id=group.group_id)),
    ]


def decode_key(key: bytes) -> StoredRecord:
    return KEY_OF_TYPE[tag_of(key)].decode(key, 0, TAG_BYTES)


def replay_in(group: ConsumerGroup, key: StoredRecord, value: bytes | None) -> None:
    """One of the group's records counts; the tombstone of the group itself is for whoever keeps the groups."""
    match key:
        case ConsumerGroupMetadataKey() if value is not None:
            epoch = ConsumerGroupMetadataValue.decode(value, tag_of(value), TAG_BYTES)
            group.epoch, group.metadata_hash = epoch.epoch, epoch.metadata_hash
        case ConsumerGroupTargetAssignmentMetadataKey():
            _replay_target_epoch(group, value)
        case ConsumerGroupTargetAssignmentMemberKey(member_id=member_id):
            _replay_target(group, member_id, value)
        case ConsumerGroupRegularExpressionKey(regular_expression=pattern):
            _replay_pattern(group, pattern, value)
        case ConsumerGroupMemberMetadataKey(member_id=member_id):
            _replay_member(group, member_id, value)
        case ConsumerGroupCurrentMemberAssignmentKey(member_id=member_id):
            _replay_current(group, member_id, value)


def _replay_target_epoch(group: ConsumerGroup, value: bytes | None) -> None:
    if value is None:
        group.assignment_epoch, group.assignment_ms = 0, None
        return
    target = ConsumerGroupTargetAssignmentMetadataValue.decode(value, tag_of(value), TAG_BYTES)
    group.assignment_epoch, group.assignment_ms = target.assignment_epoch, target.assignment_timestamp


def _replay_pattern(group: ConsumerGroup, pattern: str, value: bytes | None) -> None:
    if value is None:
        group.patterns.pop(pattern, None)
        return
    stored = ConsumerGroupRegularExpressionValue.decode(value, tag_of(value), TAG_BYTES)
    group.patterns[pattern] = frozenset(stored.topics)


def _replay_target(group: ConsumerGroup, member_id: str, value: bytes | None) -> None:
    if value is None:
        group.targets.pop(member_id, None)
        return
    stored = ConsumerGroupTargetAssignmentMemberValue.decode(value, tag_of(value), TAG_BYTES)
    group.targets[member_id] = {each.topic_id: frozenset(each.partitions) for each in stored.topic_partitions}


def _replay_member(group: ConsumerGroup, member_id: str, value: bytes | None) -> None:
    if value is None:
        group.remove(member_id)
        return
    stored = ConsumerGroupMemberMetadataValue.decode(value, tag_of(value), TAG_BYTES)
    group.put(
        replaced(
            group.members.get(member_id, ConsumerMember(member_id)),
            instance_id=stored.instance_id,
            rack_id=stored.rack_id,
            client_id=stored.client_id,
            client_host=stored.client_host,
            rebalance_timeout_ms=stored.rebalance_timeout_ms,
            topics=frozenset(stored.subscribed_topic_names),
            pattern=stored.subscribed_topic_regex or None,
            assignor=stored.server_assignor,
            classic=_read_classic(stored.classic_member_metadata),
        )
    )


def _replay_current(group: ConsumerGroup, member_id: str, value: bytes | None) -> None:
    member = group.members.get(member_id)
    if value is None:
        # What a member had goes before the member itself does.
        if member is not None:
            group.put(replaced(member, assigned={}, revoking={}, epoch=0, previous_epoch=0, state=MemberState.STABLE))
        return
    stored = ConsumerGroupCurrentMemberAssignmentValue.decode(value, tag_of(value), TAG_BYTES)
    group.put(
        replaced(
            member or ConsumerMember(member_id),
            epoch=stored.member_epoch,
            previous_epoch=stored.previous_member_epoch,
            state=MemberState(stored.state),
            assigned=_read(stored.assigned_partitions, stored.member_epoch),
            revoking=_read(stored.partitions_pending_revocation, stored.member_epoch),
        )
    )


def _stored_classic(classic: ClassicMember | None) -> ClassicMemberMetadata | None:
    if classic is None:
        return None
    protocols = [ClassicProtocol(name=name, metadata=metadata) for name, metadata in classic.protocols]
    return ClassicMemberMetadata(session_timeout_ms=classic.session_timeout_ms, supported_protocols=protocols)


def _read_classic(stored: ClassicMemberMetadata | None) -> ClassicMember | None:
    if stored is None:
        return None
    return ClassicMember(
        stored.session_timeout_ms, tuple((each.name, each.metadata) for each in stored.supported_protocols)
    )


def _stored(epochs: Epochs) -> list[TopicPartitions]:
    return [
        TopicPartitions(
            topic_id=topic_id,
            partitions=sorted(partitions),
            assignment_epochs=[partitions[number] for number in sorted(partitions)],
        )
        for topic_id, partitions in sorted(epochs.items())
    ]


def _read(stored: Iterable[TopicPartitions], epoch: int) -> Epochs:
    """Writers of before 4.3 name no epochs: the member's own is as old as any."""
    return {
        each.topic_id: dict(zip(each.partitions, each.assignment_epochs or [epoch] * len(each.partitions), strict=True))
        for each in stored
    }
