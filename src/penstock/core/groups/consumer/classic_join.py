"""JoinGroup, versions 0 to 9, of a member of the classic protocol in a group whose coordinator assigns.

It is never told that it leads, and waits for nobody: what it says of itself is taken as a heartbeat is, its generation
is its epoch, and SyncGroup tells it what it has by then.
"""

from __future__ import annotations

from typing import Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.values import replaced
from penstock.core.groups.classic.join import MEMBER_ID_REQUIRED_FROM, refusal
from penstock.core.groups.classic.joiner import Joiner
from penstock.core.groups.classic.replies import join_refused
from penstock.core.groups.consumer import sessions
from penstock.core.groups.consumer.advancing import Place, admitted, advance
from penstock.core.groups.consumer.checking import check_instance
from penstock.core.groups.consumer.embedded import PROTOCOL_TYPE, MalformedProtocol, by_id, read_subscription
from penstock.core.groups.consumer.group import ConsumerGroup
from penstock.core.groups.consumer.member import ClassicMember, ConsumerMember
from penstock.core.groups.topics import TopicLookup
from penstock.core.groups.turn import Turn
from penstock.core.wire.api.join_group import JoinGroupResponse
from penstock.core.wire.stored.consumer_protocol import ConsumerProtocolSubscription

_NOBODY: Final = ""


def join(turn: Turn, topics: TopicLookup, group: ConsumerGroup, joiner: Joiner, new_id: str) -> JoinGroupResponse:
    """`new_id` is for who has no id yet."""
    _check(turn, group, joiner)
    if not joiner.member_id and joiner.instance_id is None and joiner.version >= MEMBER_ID_REQUIRED_FROM:
        admitted(turn, group, new_id)
        return join_refused(new_id, ErrorCode.MEMBER_ID_REQUIRED)
    try:
        subscription = read_subscription(joiner.protocols[0][1])
    except MalformedProtocol:
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL) from None
    place = _place(turn, group, joiner, new_id)
    said = _said(place.before, joiner, subscription)
    after = advance(turn, topics, group, place, said, by_id(topics, subscription.owned_partitions))
    sessions.expect_sync(turn, group, after)
    if place.replaces is not None:
        sessions.look_at_kind_soon(turn, group.group_id)
    assert after.classic is not None, "it has just said so"
    return JoinGroupResponse(
        generation_id=after.epoch,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=after.classic.protocol,
        leader=_NOBODY,
        member_id=after.member_id,
    )


def _check(turn: Turn, group: ConsumerGroup, joiner: Joiner) -> None:
    code = refusal(turn.settings, joiner)
    if code is not ErrorCode.NONE:
        raise ApiError(code)
    is_spoken = joiner.protocol_type == PROTOCOL_TYPE and group.supports(joiner.protocols)
    if not turn.settings.mixes or not is_spoken:
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def _place(turn: Turn, group: ConsumerGroup, joiner: Joiner, new_id: str) -> Place:
    known = None if joiner.instance_id is None else group.static_member(joiner.instance_id)
    if joiner.instance_id is not None and joiner.member_id:
        return Place(check_instance(known, joiner.member_id, joiner.instance_id), is_new=False)
    if known is not None:
        return Place.taken_over(known, new_id)
    member_id = joiner.member_id or new_id
    member = group.members.get(member_id)
    return Place(member or admitted(turn, group, member_id), is_new=member is None)


def _said(before: ConsumerMember, joiner: Joiner, subscription: ConsumerProtocolSubscription) -> ConsumerMember:
    return replaced(
        before,
        instance_id=joiner.instance_id,
        rack_id=before.rack_id if subscription.rack_id is None else subscription.rack_id,
        client_id=joiner.client_id,
        client_host=joiner.client_host,
        rebalance_timeout_ms=joiner.rebalance_timeout_ms,
        topics=frozenset(subscription.topics),
        pattern=None,
        assignor=None,
        classic=ClassicMember(joiner.session_timeout_ms, joiner.protocols),
    )
