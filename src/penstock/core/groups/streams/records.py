"""A streams group as records: its epoch, its application, its target's epoch, and three for each member."""

from __future__ import annotations

from typing import Any, Final

from penstock.core.base.values import replaced
from penstock.core.groups.records import TAG_BYTES, record, tag_of, tombstone
from penstock.core.groups.streams import topology as topologies
from penstock.core.groups.streams.group import FIRST_EPOCH, StreamsGroup
from penstock.core.groups.streams.member import MemberState, StreamsMember
from penstock.core.groups.streams.tasks import NO_TASKS, Roles, Task, Tasks, read
from penstock.core.groups.streams.topology import Topology
from penstock.core.rsm.result import KeyValue
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.streams_group import (
    Endpoint,
    LastAssignmentConfig,
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupCurrentMemberAssignmentValueTaskIds,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMemberValueTaskIds,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
    StreamsGroupTopologyKey,
    StreamsGroupTopologyValue,
)
from penstock.core.wire.stored.streams_group import (
    KeyValue as Pair,
)

_VERSION: Final = 0
_KEYS: Final[tuple[type[StoredRecord], ...]] = (
    StreamsGroupMetadataKey,
    StreamsGroupMemberMetadataKey,
    StreamsGroupTopologyKey,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupCurrentMemberAssignmentKey,
)
KEY_OF_TYPE: Final = {key.TYPE: key for key in _KEYS}


def epoch_record(group_id: str, epoch: int, metadata_hash: int, valid_epoch: int, configs: dict[str, str]) -> KeyValue:
    value = StreamsGroupMetadataValue(
        epoch=epoch,
        metadata_hash=metadata_hash,
        validated_topology_epoch=valid_epoch,
        last_assignment_configs=[LastAssignmentConfig(key=key, value=each) for key, each in sorted(configs.items())],
    )
    return record(StreamsGroupMetadataKey(group_id=group_id), value, _VERSION)


def topology_record(group_id: str, topology: Topology) -> KeyValue:
    return record(StreamsGroupTopologyKey(group_id=group_id), topologies.written(topology), _VERSION)


def member_record(group_id: str, member: StreamsMember) -> KeyValue:
    value = StreamsGroupMemberMetadataValue(
        instance_id=None,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if member.endpoint is None else Endpoint(host=member.endpoint[0], port=member.endpoint[1]),
        client_tags=[Pair(key=key, value=each) for key, each in member.tags],
    )
    return record(StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id), value, _VERSION)


def target_epoch_record(group_id: str, epoch: int, now_ms: int) -> KeyValue:
    value = StreamsGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=now_ms)
    return record(StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), value, _VERSION)


def target_record(group_id: str, member_id: str, target: Roles) -> KeyValue:
    key = StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    active, standby, warmup = map(_target_ids, target)
    value = StreamsGroupTargetAssignmentMemberValue(active_tasks=active, standby_tasks=standby, warmup_tasks=warmup)
    return record(key, value, _VERSION)


def current_record(group_id: str, member: StreamsMember) -> KeyValue:
    key = StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id)
    value = StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        active_tasks=_current_ids(member.assigned.active, member),
        standby_tasks=_current_ids(member.assigned.standby),
        warmup_tasks=_current_ids(member.assigned.warmup),
        active_tasks_pending_revocation=_current_ids(member.revoking.active, member),
        standby_tasks_pending_revocation=_current_ids(member.revoking.standby),
        warmup_tasks_pending_revocation=_current_ids(member.revoking.warmup),
    )
    return record(key, value, _VERSION)


def member_tombstones(group_id: str, member_id: str) -> list[KeyValue]:
    return [
        tombstone(StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)),
        tombstone(StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)),
        tombstone(StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member_id)),
    ]


def group_tombstones(group: StreamsGroup) -> list[KeyValue]:
    members = [each for member_id in group.members for each in member_tombstones(group.group_id, member_id)]
    return [
        *members,
        tombstone(StreamsGroupTargetAssignmentMetadataKey(group_id=group.group_id)),
        tombstone(StreamsGroupTopologyKey(group_id=group.group_id)),
        tombstone(StreamsGroupMetadataKey(group_id=group.group_id)),
    ]


def decode_key(key: bytes) -> StoredRecord:
    return KEY_OF_TYPE[tag_of(key)].decode(key, 0, TAG_BYTES)


def replay_in(group: StreamsGroup, key: StoredRecord, value: bytes | None) -> None:
    """One of the group's records counts; the tombstone of the group itself is for whoever keeps the groups."""
    match key:
        case StreamsGroupMetadataKey() if value is not None:
            _replay_epoch(group, value)
        case StreamsGroupTopologyKey():
            stored = None if value is None else StreamsGroupTopologyValue.decode(value, tag_of(value), TAG_BYTES)
            group.topology = None if stored is None else topologies.read(stored)
            group.configured = None
        case StreamsGroupTargetAssignmentMetadataKey():
            _replay_target_epoch(group, value)
        case StreamsGroupTargetAssignmentMemberKey(member_id=member_id):
            _replay_target(group, member_id, value)
        case StreamsGroupMemberMetadataKey(member_id=member_id):
            _replay_member(group, member_id, value)
        case StreamsGroupCurrentMemberAssignmentKey(member_id=member_id):
            _replay_current(group, member_id, value)


def _replay_epoch(group: StreamsGroup, value: bytes) -> None:
    stored = StreamsGroupMetadataValue.decode(value, tag_of(value), TAG_BYTES)
    group.epoch, group.metadata_hash = stored.epoch, stored.metadata_hash
    group.valid_epoch = stored.validated_topology_epoch
    group.assignment_configs = {each.key: each.value for each in stored.last_assignment_configs or ()}


def _replay_target_epoch(group: StreamsGroup, value: bytes | None) -> None:
    if value is None:
        group.assignment_epoch, group.assignment_ms = FIRST_EPOCH, None
        return
    target = StreamsGroupTargetAssignmentMetadataValue.decode(value, tag_of(value), TAG_BYTES)
    group.assignment_epoch, group.assignment_ms = target.assignment_epoch, target.assignment_timestamp


def _replay_target(group: StreamsGroup, member_id: str, value: bytes | None) -> None:
    if value is None:
        group.targets.pop(member_id, None)
        return
    stored = StreamsGroupTargetAssignmentMemberValue.decode(value, tag_of(value), TAG_BYTES)
    group.targets[member_id] = Roles(read(stored.active_tasks), read(stored.standby_tasks), read(stored.warmup_tasks))


def _replay_member(group: StreamsGroup, member_id: str, value: bytes | None) -> None:
    if value is None:
        group.remove(member_id)
        return
    stored = StreamsGroupMemberMetadataValue.decode(value, tag_of(value), TAG_BYTES)
    endpoint = stored.user_endpoint
    group.put(
        replaced(
            group.members.get(member_id, StreamsMember(member_id)),
            rack_id=stored.rack_id,
            client_id=stored.client_id,
            client_host=stored.client_host,
            rebalance_timeout_ms=stored.rebalance_timeout_ms,
            topology_epoch=stored.topology_epoch,
            process_id=stored.process_id,
            endpoint=None if endpoint is None else (endpoint.host, endpoint.port),
            tags=tuple((each.key, each.value) for each in stored.client_tags),
        )
    )


def _replay_current(group: StreamsGroup, member_id: str, value: bytes | None) -> None:
    member = group.members.get(member_id)
    if value is None:
        # What a member had goes before the member itself does.
        if member is not None:
            nothing: dict[str, Any] = {"assigned": NO_TASKS, "revoking": NO_TASKS, "since": {}}
            group.put(replaced(member, **nothing, epoch=0, previous_epoch=0, state=MemberState.STABLE))
        return
    stored = StreamsGroupCurrentMemberAssignmentValue.decode(value, tag_of(value), TAG_BYTES)
    revoking = Roles(
        read(stored.active_tasks_pending_revocation),
        read(stored.standby_tasks_pending_revocation),
        read(stored.warmup_tasks_pending_revocation),
    )
    group.put(
        replaced(
            member or StreamsMember(member_id),
            epoch=stored.member_epoch,
            previous_epoch=stored.previous_member_epoch,
            state=MemberState(stored.state),
            assigned=Roles(read(stored.active_tasks), read(stored.standby_tasks), read(stored.warmup_tasks)),
            revoking=revoking,
            since={
                Task(each.subtopology_id, number): epoch
                for each in (*stored.active_tasks, *stored.active_tasks_pending_revocation)
                for number, epoch in zip(each.partitions, each.assignment_epochs or (), strict=False)
            },
        )
    )


def _target_ids(tasks: Tasks) -> list[StreamsGroupTargetAssignmentMemberValueTaskIds]:
    return [
        StreamsGroupTargetAssignmentMemberValueTaskIds(subtopology_id=name, partitions=sorted(numbers))
        for name, numbers in tasks.items()
    ]


def _current_ids(
    tasks: Tasks, member: StreamsMember | None = None
) -> list[StreamsGroupCurrentMemberAssignmentValueTaskIds]:
    """Of active tasks, `member` has them since some epoch."""
    return [
        StreamsGroupCurrentMemberAssignmentValueTaskIds(
            subtopology_id=name,
            partitions=sorted(numbers),
            assignment_epochs=None
            if member is None
            else [member.since.get(Task(name, number), member.epoch) for number in sorted(numbers)],
        )
        for name, numbers in tasks.items()
    ]
