"""ConsumerGroupHeartbeat, versions 0 and 1: how a member joins, says what it reads and what it has, and hears what is
its own. Version 1 knows patterns of topics.

Three steps: the member as it is from now on; where the group has changed, its next epoch and a new target assignment;
and the member's next step towards that. All of it is decided on values, and becomes true with the records.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.values import frozen, replaced
from penstock.core.groups.asked import Asked
from penstock.core.groups.consumer import sessions
from penstock.core.groups.consumer.checking import JOIN_EPOCH, LEAVE_STATIC_EPOCH, check_epoch, check_instance
from penstock.core.groups.consumer.group import ConsumerGroup
from penstock.core.groups.consumer.member import ConsumerMember, Partitions, TopicIdPartition
from penstock.core.groups.consumer.reconciling import Target, reconciled
from penstock.core.groups.consumer.records import (
    current_record,
    epoch_record,
    member_record,
    member_tombstones,
    pattern_tombstone,
    target_record,
)
from penstock.core.groups.consumer.targeting import is_due, retarget, topic_ids
from penstock.core.groups.metadata_hash import metadata_hash
from penstock.core.groups.topics import TopicLookup
from penstock.core.groups.turn import Turn
from penstock.core.wire.api.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ResponseTopicPartitions,
)


@frozen
class Place:
    """Where a heartbeat comes from in the group: the member as it was, and how its former self is called, if it has
    another id now."""

    before: ConsumerMember
    is_new: bool
    replaces: ConsumerMember | None = None

    @property
    def former_id(self) -> str:
        """Under which the group knows it until now."""
        return self.before.member_id if self.replaces is None else self.replaces.member_id

    def is_free(self, group: ConsumerGroup) -> Callable[[TopicIdPartition], bool]:
        return lambda where: group.is_free(where, self.former_id)


def heartbeat(
    turn: Turn, topics: TopicLookup, group: ConsumerGroup, asked: Asked[ConsumerGroupHeartbeatRequest], new_id: str
) -> ConsumerGroupHeartbeatResponse:
    """Decide on a heartbeat of somebody who stays; `new_id` is for who has no id yet."""
    request = asked.request
    owned = _owned(request)
    place = _place(turn, group, request, new_id, owned)
    said = _updated(place.before, asked)
    _write_member(turn, group, place, said)
    _write_patterns(turn, group, place, said)
    epoch = _epoch(turn, topics, group, place, said)
    target = _target(turn, topics, group, epoch, place, said)
    has_changed = _reads(said) != _reads(place.before)
    after = reconciled(said, target, owned, place.is_free(group), has_changed)
    if after != said or place.is_new or place.replaces is not None:
        turn.result.records.append(current_record(group.group_id, after))
    sessions.keep_alive(turn, group, after.member_id)
    if after.state is not said.state or after.epoch != said.epoch:
        sessions.watch(turn, group, after)
    says_topics = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    is_full = request.rebalance_timeout_ms != -1 and says_topics and owned is not None
    tells_all = request.member_epoch == JOIN_EPOCH or is_full or after.assigned != place.before.assigned
    return ConsumerGroupHeartbeatResponse(
        member_id=after.member_id,
        member_epoch=after.epoch,
        heartbeat_interval_ms=turn.settings.consumer_heartbeat_interval_ms,
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
        member = group.members.get(member_id) or _admitted(turn, group, member_id)
    else:
        member = group.member(member_id)
    check_epoch(member, request.member_epoch, owned)
    return Place(member, is_new=member.member_id not in group.members)


def _admitted(turn: Turn, group: ConsumerGroup, member_id: str) -> ConsumerMember:
    if len(group.members) >= turn.settings.consumer_members_max:
        raise ApiError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {turn.settings.consumer_members_max} members.",
        )
    return ConsumerMember(member_id)


def _returned(known: ConsumerMember, member_id: str) -> Place:
    """A process takes the place of the one before it, which must have said that it goes."""
    if known.member_id == member_id:
        return Place(known, is_new=False)
    if known.epoch != LEAVE_STATIC_EPOCH:
        raise ApiError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {known.instance_id} cannot join the group because the "
            f"instance id is owned by member {known.member_id}.",
        )
    return Place(replaced(known, member_id=member_id, epoch=0, previous_epoch=0), is_new=False, replaces=known)


def _updated(member: ConsumerMember, asked: Asked[ConsumerGroupHeartbeatRequest]) -> ConsumerMember:
    """What it does not say stays as it was."""
    request = asked.request
    changes: dict[str, object] = {"client_id": asked.client_id, "client_host": asked.client_host}
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


def _write_member(turn: Turn, group: ConsumerGroup, place: Place, said: ConsumerMember) -> None:
    records, gone = turn.result.records, place.replaces
    if gone is not None:
        records += member_tombstones(group.group_id, gone.member_id)
        sessions.end(turn, group, gone)
        records.append(target_record(group.group_id, said.member_id, group.target(gone.member_id)))
    if place.is_new or gone is not None or _metadata(said) != _metadata(place.before):
        growth = said.size_bytes - (0 if place.is_new else place.before.size_bytes)
        if not turn.memory.admits(said.size_bytes, growth, turn.now_ms):
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        records.append(member_record(group.group_id, said))


def _write_patterns(turn: Turn, group: ConsumerGroup, place: Place, said: ConsumerMember) -> None:
    """What a pattern describes is found out when the first member has it, and forgotten after the last one."""
    before = place.before.pattern
    if before is not None and before != said.pattern and not group.has_pattern(before, place.former_id):
        turn.result.records.append(pattern_tombstone(group.group_id, before))
    if said.pattern is not None and said.pattern not in group.patterns:
        sessions.resolve_soon(turn, group.group_id)


def _reads(member: ConsumerMember) -> tuple[frozenset[str], str | None]:
    return member.topics, member.pattern


def _metadata(member: ConsumerMember) -> tuple[object, ...]:
    return (
        member.instance_id,
        member.rack_id,
        member.client_id,
        member.client_host,
        member.topics,
        member.pattern,
        member.rebalance_timeout_ms,
        member.assignor,
    )


def _epoch(turn: Turn, topics: TopicLookup, group: ConsumerGroup, place: Place, said: ConsumerMember) -> int:
    """The group's epoch from now on: the next one where its topics, or what is read of them, have changed."""
    has_changed = place.is_new or _reads(said) != _reads(place.before)
    if not has_changed and group.is_checked:
        return group.epoch
    found = metadata_hash(topics, _topics_with(group, place, said))
    group.is_checked = True
    if not has_changed and found == group.metadata_hash:
        return group.epoch
    if group.epoch == group.assignment_epoch:
        turn.counts.rebalances += 1
    turn.result.records.append(epoch_record(group.group_id, group.epoch + 1, found))
    return group.epoch + 1


def _topics_with(group: ConsumerGroup, place: Place, said: ConsumerMember) -> frozenset[str]:
    """The topics of all members, with what one of them says now."""
    others = (group.topics_of(each) for each in group.members.values() if each.member_id != place.former_id)
    return group.topics_of(said).union(*others)


def _target(
    turn: Turn, topics: TopicLookup, group: ConsumerGroup, epoch: int, place: Place, said: ConsumerMember
) -> Target:
    ids = topic_ids(topics, group.topics_of(said))
    if group.assignment_epoch < epoch and is_due(turn, group):
        members = {each: member for each, member in group.members.items() if each != place.former_id}
        targets = retarget(turn, topics, group, epoch, members | {said.member_id: said})
        return Target(epoch, targets[said.member_id], ids)
    return Target(group.assignment_epoch, group.target(place.former_id), ids)


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
