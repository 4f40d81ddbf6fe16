"""What a heartbeat may not say, in the order in which Kafka looks at it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.patterns.pattern import Pattern
from penstock.core.base.patterns.tree import InvalidPattern
from penstock.core.groups.consumer.member import ConsumerMember, Partitions
from penstock.core.wire.api.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

JOIN_EPOCH: Final = 0
ID_FROM: Final = 1
"""From this version on members choose their ids, and may read what a pattern describes."""
_BE: Final = {True: "be set in", False: "be non-null in"}
LEAVE_STATIC_EPOCH: Final = -2
"""A static member goes, and its instance will be back within a session."""


def check_request(request: ConsumerGroupHeartbeatRequest, version: int, assignors: Collection[str]) -> None:
    """Raise ApiError where it contradicts itself, whatever the group is."""
    _check(bool(request.group_id), "GroupId can't be empty.")
    gets_id = version < ID_FROM and request.member_epoch == JOIN_EPOCH
    _check(gets_id or bool(request.member_id), "MemberId can't be empty.")
    _check(request.instance_id != "", "InstanceId can't be empty.")
    _check(request.rack_id != "", "RackId can't be empty.")
    if request.member_epoch == JOIN_EPOCH:
        _check(request.rebalance_timeout_ms != -1, "RebalanceTimeoutMs must be provided in first request.")
        _check(request.topic_partitions == [], "TopicPartitions must be empty when (re-)joining.")
        is_said = request.subscribed_topic_names or request.subscribed_topic_regex
        missing = "SubscribedTopicNames" if version < ID_FROM else "Either SubscribedTopicNames or SubscribedTopicRegex"
        _check(bool(is_said), f"{missing} must {_BE[version < ID_FROM]} first request.")
    elif request.member_epoch == LEAVE_STATIC_EPOCH:
        _check(request.instance_id is not None, "InstanceId can't be null.")
    elif request.member_epoch < LEAVE_STATIC_EPOCH:
        _check(False, f"MemberEpoch is {request.member_epoch}, but must be greater than or equal to -2.")
    if request.subscribed_topic_regex:
        _check_pattern(request.subscribed_topic_regex)
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise ApiError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {', '.join(assignors)}.",
        )


def check_epoch(member: ConsumerMember, epoch: int, owned: Partitions | None) -> None:
    """An epoch may be one behind: the answer with the next one was lost."""
    if epoch in (JOIN_EPOCH, member.epoch):
        return
    if epoch == member.previous_epoch and epoch < member.epoch and _is_within(owned, member):
        return
    compared = "greater" if epoch > member.epoch else "smaller"
    raise ApiError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {compared} member epoch ({epoch}) than the one known by the group "
        f"coordinator ({member.epoch}). The member must abandon all its partitions and rejoin.",
    )


def check_instance(known: ConsumerMember | None, member_id: str, instance_id: str) -> ConsumerMember:
    """Who speaks for a static member has to be the process that came last."""
    if known is None:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if known.member_id != member_id:
        raise ApiError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {known.member_id}.",
        )
    return known


def _check_pattern(text: str) -> None:
    try:
        Pattern(text)
    except InvalidPattern as wrong:
        raise ApiError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{text}` is not a valid regular expression: {wrong}.",
        ) from None


def _is_within(owned: Partitions | None, member: ConsumerMember) -> bool:
    """Whether it has no more than it was given."""
    if owned is None:
        return False
    return all(numbers <= member.assigned.get(topic_id, {}).keys() for topic_id, numbers in owned.items())


def _check(is_right: bool, message: str) -> None:
    if not is_right:
        raise ApiError(ErrorCode.INVALID_REQUEST, message)
