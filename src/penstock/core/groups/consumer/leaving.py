"""How members go: by themselves, by silence, or because they do not give up what they must."""

from __future__ import annotations

from penstock.core.base.values import replaced
from penstock.core.groups.consumer import sessions
from penstock.core.groups.consumer.checking import LEAVE_STATIC_EPOCH, check_instance
from penstock.core.groups.consumer.group import ConsumerGroup
from penstock.core.groups.consumer.member import ConsumerMember, MemberState
from penstock.core.groups.consumer.records import current_record, epoch_record, member_tombstones, pattern_tombstone
from penstock.core.groups.metadata_hash import metadata_hash
from penstock.core.groups.topics import TopicLookup
from penstock.core.groups.turn import Turn
from penstock.core.wire.api.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


def leave(
    turn: Turn, topics: TopicLookup, group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse:
    if request.instance_id is None:
        member = group.member(request.member_id)
    else:
        member = check_instance(group.static_member(request.instance_id), request.member_id, request.instance_id)
    if request.member_epoch == LEAVE_STATIC_EPOCH:
        _step_out(turn, group, member)
    else:
        fence(turn, topics, group, member)
    return ConsumerGroupHeartbeatResponse(member_id=member.member_id, member_epoch=request.member_epoch)


def fence(turn: Turn, topics: TopicLookup, group: ConsumerGroup, member: ConsumerMember) -> None:
    """It is no member any more, and what it had is free."""
    rest = frozenset[str]().union(*(group.topics_of(each) for each in group.members.values() if each is not member))
    if member.pattern is not None and not group.has_pattern(member.pattern, member.member_id):
        turn.result.records.append(pattern_tombstone(group.group_id, member.pattern))
    if group.epoch == group.assignment_epoch:
        turn.counts.rebalances += 1
    turn.result.records += member_tombstones(group.group_id, member.member_id)
    turn.result.records.append(epoch_record(group.group_id, group.epoch + 1, metadata_hash(topics, rest)))
    sessions.end(turn, group, member)


def _step_out(turn: Turn, group: ConsumerGroup, member: ConsumerMember) -> None:
    """Its place is kept for a session; what it has belongs to whoever comes with its instance id, from epoch 0 on."""
    assigned = {topic_id: dict.fromkeys(partitions, 0) for topic_id, partitions in member.assigned.items()}
    gone = replaced(
        member,
        epoch=LEAVE_STATIC_EPOCH,
        previous_epoch=member.epoch,
        state=MemberState.STABLE,
        assigned=assigned,
        revoking={},
    )
    turn.result.records.append(current_record(group.group_id, gone))
