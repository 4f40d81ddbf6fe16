"""ConsumerGroupHeartbeat, versions 0 and 1: how a member joins, says what it reads and what it has, and hears what is
its own. Version 1 knows patterns of topics.

What it says makes the member as it is from now on; the rest is `advancing`.
"""

from __future__ import annotations

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.values import replaced
from penstock.core.groups.asked import Asked
from penstock.core.groups.consumer.advancing import Place, admitted, advance
from penstock.core.groups.consumer.checking import JOIN_EPOCH, LEAVE_STATIC_EPOCH, check_epoch, check_instance
from penstock.core.groups.consumer.group import ConsumerGroup
from penstock.core.groups.consumer.member import ConsumerMember, Partitions
from penstock.core.groups.topics import TopicLookup
from penstock.core.groups.turn import Turn
from penstock.core.wire.api.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ResponseTopicPartitions,
)


def heartbeat(
    turn: Turn, topics: TopicLookup, group: ConsumerGroup, asked: Asked[ConsumerGroupHeartbeatRequest], new_id: str
) -> ConsumerGroupHeartbeatResponse:
    """Decide on a heartbeat of somebody who stays; `new_id` is for who has no id yet."""
    request = asked.request
    owned = _owned(request)
    place = _place(turn, group, request, new_id, owned)
    after = advance(turn, topics, group, place, _updated(place.before, asked), owned)
    says_topics = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    is_full = request.rebalance_timeout_ms != -1 and says_topics and owned is not None
    tells_all = request.member_epoch == JOIN_EPOCH or is_full or after.assigned != place.before.assigned
    return ConsumerGroupHeartbeatResponse(
        member_id=after.member_id,
        member_epoch=after.epoch,
        heartbeat_interval_ms=turn.settings.consumer(group.group_id).heartbeat_interval_ms,
        assignment=_assignment(after) if tells_all else None,
    )


def _place(
    turn: Turn, group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, new_id: str, owned: Partitions | None
) -> Place:
    member_id, is_joining = request.member_id or new_id, request.member_epoch == JOIN_EPOCH
    known = None if request.instance_id is None else group.static_member(request.instance_id)
    if request.instance_id is not None and not is_joining:
        member = check_instance(known, member_id, request.instance_id)
    elif known is not None:
        return _returned(known, member_id)
    elif is_joining:
        member = group.members.get(member_id) or admitted(turn, group, member_id)
    else:
        member = group.member(member_id)
    check_epoch(member, request.member_epoch, owned)
    return Place(member, is_new=member.member_id not in group.members)


def _returned(known: ConsumerMember, member_id: str) -> Place:
    """A process takes the place of the one before it, which must have said that it goes."""
    if known.member_id == member_id:
        return Place(known, is_new=False)
    if known.epoch != LEAVE_STATIC_EPOCH and known.classic is None:
        raise ApiError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {known.instance_id} cannot join the group because the "
            f"instance id is owned by member {known.member_id}.",
        )
    return Place.taken_over(known, member_id)


def _updated(member: ConsumerMember, asked: Asked[ConsumerGroupHeartbeatRequest]) -> ConsumerMember:
    """What it does not say stays as it was."""
    request = asked.request
    changes: dict[str, object] = {"client_id": asked.client_id, "client_host": asked.client_host, "classic": None}
    if request.instance_id is not None:
        changes["instance_id"] = request.instance_id
    if request.rack_id is not None:
        changes["rack_id"] = request.rack_id
    if request.rebalance_timeout_ms != -1:
        changes["rebalance_timeout_ms"] = request.rebalance_timeout_ms
    if request.server_assignor is not None:
        changes["assignor"] = request.server_assignor
    if request.subscribed_topic_names is not None:
        changes["topics"] = frozenset(request.subscribed_topic_names)
    if request.subscribed_topic_regex is not None:
        changes["pattern"] = request.subscribed_topic_regex or None
    return replaced(member, **changes)


def _owned(request: ConsumerGroupHeartbeatRequest) -> Partitions | None:
    if request.topic_partitions is None:
        return None
    return {each.topic_id: frozenset(each.partitions) for each in request.topic_partitions}


def _assignment(member: ConsumerMember) -> Assignment:
    return Assignment(
        topic_partitions=[
            ResponseTopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in sorted(member.assigned.items())
        ]
    )
