"""What comes of a member's word, whichever protocol it speaks.

Three steps: the member as it is from now on; where the group has changed, its next epoch and a new target assignment;
and the member's next step towards that. All of it is decided on values, and becomes true with the records.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.values import frozen, replaced
from penstock.core.groups.consumer import sessions
from penstock.core.groups.consumer.group import ConsumerGroup
from penstock.core.groups.consumer.member import (
    NO_EPOCHS,
    ConsumerMember,
    MemberState,
    Partitions,
    TopicIdPartition,
)
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


@frozen
class Place:
    """Where a word comes from in the group: the member as it was, and how its former self is called, if it has
    another id now."""

    before: ConsumerMember
    is_new: bool
    replaces: ConsumerMember | None = None

    @classmethod
    def taken_over(cls, known: ConsumerMember, member_id: str) -> Place:
        """Another process has the instance of one before."""
        # It has nothing yet that it could give up.
        fresh = {"epoch": 0, "previous_epoch": 0, "state": MemberState.STABLE, "revoking": NO_EPOCHS}
        return cls(replaced(known, member_id=member_id, **fresh), is_new=False, replaces=known)

    @property
    def former_id(self) -> str:
        """Under which the group knows it until now."""
        return self.before.member_id if self.replaces is None else self.replaces.member_id

    def is_free(self, group: ConsumerGroup) -> Callable[[TopicIdPartition], bool]:
        return lambda where: group.is_free(where, self.former_id)


def admitted(turn: Turn, group: ConsumerGroup, member_id: str) -> ConsumerMember:
    if len(group.members) >= turn.settings.consumer_members_max:
        raise ApiError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {turn.settings.consumer_members_max} members.",
        )
    return ConsumerMember(member_id)


def advance(
    turn: Turn,
    topics: TopicLookup,
    group: ConsumerGroup,
    place: Place,
    said: ConsumerMember,
    owned: Partitions | None,
) -> ConsumerMember:
    """The member after its next step; `owned` is what it says that it has, if it says so."""
    _write_member(turn, group, place, said)
    _write_patterns(turn, group, place, said)
    epoch = _epoch(turn, topics, group, place, said)
    target = _target(turn, topics, group, epoch, place, said)
    has_changed = _reads(said) != _reads(place.before)
    after = reconciled(said, target, owned, place.is_free(group), has_changed)
    if after != said or place.is_new or place.replaces is not None:
        turn.result.records.append(current_record(group.group_id, after))
    sessions.keep_alive(turn, group.group_id, after)
    if after.state is not said.state or after.epoch != said.epoch:
        sessions.watch(turn, group, after)
    return after


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
        member.classic,
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
