"""ShareGroupHeartbeat, version 1: how a member joins, says what it reads, and hears what it is to read.

Three steps: the member as it is from now on; where the group has changed, its next epoch and a new target assignment;
and the member's step to that, which nobody has to make room for. Beside them, what is to be set up at share
coordinators. All of it is decided on values, and becomes true with the records.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.values import replaced
from penstock.core.groups.asked import Asked
from penstock.core.groups.metadata_hash import metadata_hash
from penstock.core.groups.share import sessions
from penstock.core.groups.share.group import ShareGroup
from penstock.core.groups.share.member import Partitions, ShareMember
from penstock.core.groups.share.records import (
    current_record,
    epoch_record,
    member_record,
    states_record,
    target_epoch_record,
    target_record,
)
from penstock.core.groups.share.setting_up import is_unread, missing
from penstock.core.groups.share.simple_assignor import assign
from penstock.core.groups.share.state_partitions import Topics
from penstock.core.groups.topics import TopicLookup
from penstock.core.groups.turn import Turn
from penstock.core.wire.api.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
MEMBER_ID_CHARS_MAX: Final = 36


class Beat(NamedTuple):
    """What a heartbeat comes to."""

    response: ShareGroupHeartbeatResponse
    epoch: int
    """The group's from now on."""
    to_set_up: Topics


class _Target(NamedTuple):
    epoch: int
    partitions: Partitions


def check_request(request: ShareGroupHeartbeatRequest) -> None:
    """Raise ApiError where it contradicts itself, whatever the group is."""
    _check(0 < len(request.member_id) <= MEMBER_ID_CHARS_MAX, "Invalid member id in the request.")
    _check(bool(request.group_id.strip()), "GroupId can't be empty.")
    _check(request.rack_id is None or bool(request.rack_id.strip()), "RackId can't be empty.")
    if request.member_epoch == JOIN_EPOCH:
        _check(bool(request.subscribed_topic_names), "SubscribedTopicNames must be set in first request.")
    _check(request.member_epoch >= LEAVE_EPOCH, "MemberEpoch is invalid.")


def heartbeat(turn: Turn, topics: TopicLookup, group: ShareGroup, asked: Asked[ShareGroupHeartbeatRequest]) -> Beat:
    """Decide on a heartbeat of somebody who stays."""
    request = asked.request
    before = _before(turn, group, request)
    said = _updated(before, asked)
    is_new = said.member_id not in group.members
    _write_member(turn, group, before, said, is_new)
    names = _names_with(group, said)
    has_changed = is_new or said.topics != before.topics
    epoch = _epoch(turn, topics, group, names, has_changed)
    target = _target(turn, topics, group, epoch, said)
    after = _reconciled(topics, said, target, has_changed)
    if after != said or is_new:
        turn.result.records.append(current_record(group.group_id, after))
    to_set_up = missing(turn, topics, group, names)
    if to_set_up:
        turn.result.records.append(states_record(group.group_id, group.states.begun(to_set_up)))
    sessions.keep_alive(turn, group.group_id, after.member_id)
    is_full = request.member_epoch == JOIN_EPOCH or request.subscribed_topic_names is not None
    response = ShareGroupHeartbeatResponse(
        member_id=after.member_id,
        member_epoch=after.epoch,
        heartbeat_interval_ms=turn.settings.share(group.group_id).heartbeat_interval_ms,
        assignment=_assignment(after) if is_full or after.assigned != before.assigned else None,
    )
    return Beat(response, epoch, to_set_up)


def _before(turn: Turn, group: ShareGroup, request: ShareGroupHeartbeatRequest) -> ShareMember:
    known = group.members.get(request.member_id)
    members_max = turn.settings.share_members_max
    if known is None and len(group.members) >= members_max:
        raise ApiError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The share group has reached its maximum capacity of {members_max} members.",
        )
    if request.member_epoch == JOIN_EPOCH:
        return known or ShareMember(request.member_id)
    member = group.member(request.member_id)
    _check_epoch(member, request.member_epoch)
    return member


def _check_epoch(member: ShareMember, epoch: int) -> None:
    """An epoch may be the one before: the answer with the next one was lost."""
    if epoch == member.epoch or (epoch < member.epoch and epoch == member.previous_epoch):
        return
    compared = "greater" if epoch > member.epoch else "smaller"
    raise ApiError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The share group member has a {compared} member epoch ({epoch}) than the one known by the group coordinator "
        f"({member.epoch}). The member must abandon all its partitions and rejoin.",
    )


def _updated(member: ShareMember, asked: Asked[ShareGroupHeartbeatRequest]) -> ShareMember:
    """What it does not say stays as it was."""
    request = asked.request
    changes: dict[str, object] = {"client_id": asked.client_id, "client_host": asked.client_host}
    if request.rack_id is not None:
        changes["rack_id"] = request.rack_id
    if request.subscribed_topic_names is not None:
        changes["topics"] = frozenset(request.subscribed_topic_names)
    return replaced(member, **changes)


def _write_member(turn: Turn, group: ShareGroup, before: ShareMember, said: ShareMember, is_new: bool) -> None:
    if not is_new and said == before:
        return
    growth = said.size_bytes - (0 if is_new else before.size_bytes)
    if not turn.memory.admits(said.size_bytes, growth, turn.now_ms):
        raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    turn.result.records.append(member_record(group.group_id, said))


def _names_with(group: ShareGroup, said: ShareMember) -> frozenset[str]:
    """The topics of all members, with what one of them says now."""
    others = (each.topics for each in group.members.values() if each.member_id != said.member_id)
    return said.topics.union(*others)


def _epoch(turn: Turn, topics: TopicLookup, group: ShareGroup, names: frozenset[str], has_changed: bool) -> int:
    """The next one where the members have changed, their topics, or what is set up of these."""
    is_at_rest = group.assignment_epoch >= group.epoch
    is_due = has_changed or (is_at_rest and is_unread(topics, group, names))
    if not is_due and group.is_checked:
        return group.epoch
    found = metadata_hash(topics, names)
    group.is_checked = True
    if not is_due and found == group.metadata_hash:
        return group.epoch
    if is_at_rest:
        turn.counts.rebalances += 1
    turn.result.records.append(epoch_record(group.group_id, group.epoch + 1, found))
    return group.epoch + 1


def _target(turn: Turn, topics: TopicLookup, group: ShareGroup, epoch: int, said: ShareMember) -> _Target:
    """Members that come one after the other are one change; what nobody reads yet does not wait for others."""
    is_behind = group.assignment_epoch < epoch
    if not is_behind or not (_is_due(turn, group) or is_unread(topics, group, group.subscribers)):
        return _Target(group.assignment_epoch, group.target(said.member_id))
    members = group.members | {said.member_id: said}
    subscriptions = {each.member_id: _ids(topics, each.topics) for each in members.values()}
    targets = assign(subscriptions, group.states.assignable(), group.targets)
    for member_id, target in targets.items():
        if target != group.targets.get(member_id):
            turn.result.records.append(target_record(group.group_id, member_id, target))
    turn.result.records.append(target_epoch_record(group.group_id, epoch, turn.now_ms))
    return _Target(epoch, targets[said.member_id])


def _is_due(turn: Turn, group: ShareGroup) -> bool:
    made_ms, interval_ms = group.assignment_ms, turn.settings.share(group.group_id).assignment_interval_ms
    return made_ms is None or not made_ms <= turn.now_ms < made_ms + interval_ms


def _reconciled(topics: TopicLookup, said: ShareMember, target: _Target, has_changed: bool) -> ShareMember:
    """It goes to the target at once, and reads nothing that it does not want."""
    if target.epoch == said.epoch and not has_changed:
        return said
    wanted = _ids(topics, said.topics)
    assigned = {topic_id: each for topic_id, each in target.partitions.items() if topic_id in wanted}
    if target.epoch == said.epoch:
        return replaced(said, assigned=assigned)
    return replaced(said, assigned=assigned, epoch=target.epoch, previous_epoch=said.epoch)


def _ids(topics: TopicLookup, names: frozenset[str]) -> frozenset[bytes]:
    return frozenset(found for found in map(topics.id_of, names) if found is not None)


def _assignment(member: ShareMember) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in sorted(member.assigned.items())
        ]
    )


def _check(is_right: bool, message: str) -> None:
    if not is_right:
        raise ApiError(ErrorCode.INVALID_REQUEST, message)
