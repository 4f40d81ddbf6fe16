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


def fence(turn: Turn, topics: TopicLookup, group: ConsumerGroup, *going: ConsumerMember) -> None:
    """They are no members any more, and what they had is free."""
    gone = {each.member_id for each in going}
    staying = [each for each in group.members.values() if each.member_id not in gone]
    rest = frozenset[str]().union(*map(group.topics_of, staying))
    left = {each.pattern for each in going if each.pattern is not None} - {each.pattern for each in staying}
    turn.result.records += [pattern_tombstone(group.group_id, each) for each in sorted(left)]
    if group.epoch == group.assignment_epoch:
        turn.counts.rebalances += 1
    for member in going:
        turn.result.records += member_tombstones(group.group_id, member.member_id)
        sessions.end(turn, group, member)
    turn.result.records.append(epoch_record(group.group_id, group.epoch + 1, metadata_hash(topics, rest)))
    if any(each.classic is not None for each in staying):
        sessions.look_at_kind_soon(turn, group.group_id)


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
