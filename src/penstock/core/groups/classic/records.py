"""A classic group as a record: its last complete generation, or that it is empty."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.groups.classic.member import Member
from penstock.core.groups.classic.states import State
from penstock.core.groups.records import TAG_BYTES, record, tag_of, tombstone
from penstock.core.rsm.result import KeyValue
from penstock.core.wire.stored.classic_group import GroupMetadataKey, GroupMetadataValue, MemberMetadata

GROUP_METADATA_TYPE = GroupMetadataKey.TYPE
# Kafka 4.3 writes version 3 whatever the metadata version, and reads up to 4.
_VALUE_VERSION = 3
_NO_TIMESTAMP = -1
_NO_TIMEOUT = -1


def group_metadata_record(group: ClassicGroup, assignments: Mapping[str, bytes]) -> KeyValue:
    """The group as it is now, with the assignment its members are about to get."""
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol,
        leader=group.leader,
        current_state_timestamp=_NO_TIMESTAMP if group.state_since_ms is None else group.state_since_ms,
        members=[_member_value(group, member, assignments[member.member_id]) for member in group.members.values()],
    )
    return record(GroupMetadataKey(group=group.group_id), value, _VALUE_VERSION)


def group_tombstone(group_id: str) -> KeyValue:
    return tombstone(GroupMetadataKey(group=group_id))


def decode_group_key(key: bytes) -> str:
    return GroupMetadataKey.decode(key, 0, TAG_BYTES).group


def decode_group_value(value: bytes) -> GroupMetadataValue:
    return GroupMetadataValue.decode(value, tag_of(value), TAG_BYTES)


def restored(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """The group that a record describes. A member's other protocols are not kept; it names them when it rejoins."""
    group = ClassicGroup(group_id, _since(value))
    group.generation = value.generation
    group.protocol = value.protocol
    group.leader = value.leader
    for stored in value.members:
        group.add(_restored_member(stored, value.protocol or ""), value.protocol_type)
    group.protocol_type = value.protocol_type or None
    group.state = State.STABLE if group.members else State.EMPTY
    group.learn_subscriptions()
    return group


def has_come_from(group: ClassicGroup, value: GroupMetadataValue) -> bool:
    """Whether a group is what its record says, and perhaps further; otherwise it must be made anew.

    A group whose members gather or wait for their assignment is ahead of its record, which is its own. At rest it is
    what the last record has said, unless the next one is of another generation or of other members.
    """
    if group.state not in (State.STABLE, State.EMPTY):
        assert value.generation == group.generation, "a record is replayed in the turn that wrote it"
        return True
    return value.generation == group.generation and group.members.keys() == {each.member_id for each in value.members}


def recorded(group: ClassicGroup, value: GroupMetadataValue, now_ms: int) -> None:
    """The log now holds a record of this group; the assignment in it makes a generation stable."""
    for stored in value.members:
        group.assign(group.members[stored.member_id], stored.assignment)
    if group.state is State.COMPLETING_REBALANCE:
        group.move_to(State.STABLE, now_ms)
    elif group.is_empty:
        group.protocol_type = value.protocol_type or None
        group.state_since_ms = _since(value)


def _since(value: GroupMetadataValue) -> int | None:
    since_ms = value.current_state_timestamp
    return None if since_ms == _NO_TIMESTAMP else since_ms


def _member_value(group: ClassicGroup, member: Member, assignment: bytes) -> MemberMetadata:
    assert group.protocol is not None, "a group with members has a protocol"
    return MemberMetadata(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout=member.rebalance_timeout_ms,
        session_timeout=member.session_timeout_ms,
        subscription=member.metadata(group.protocol),
        assignment=assignment,
    )


def _restored_member(stored: MemberMetadata, protocol: str) -> Member:
    timeout_ms = stored.session_timeout if stored.rebalance_timeout == _NO_TIMEOUT else stored.rebalance_timeout
    return Member(
        member_id=stored.member_id,
        instance_id=stored.group_instance_id,
        client_id=stored.client_id,
        client_host=stored.client_host,
        rebalance_timeout_ms=timeout_ms,
        session_timeout_ms=stored.session_timeout,
        protocols=((protocol, stored.subscription),),
        assignment=stored.assignment,
    )
