"""How a live group changes its kind: from classic to one whose coordinator assigns when the first member comes that
speaks that protocol, and back when the last of those has gone. Both are one batch.

Nobody loses what he reads: what the last generation gave to a member is what it has in the first epoch, and the last
target is the assignment of the first generation. Generation and epoch go on counting from each other.
"""

from __future__ import annotations

from typing import Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.groups.classic import rebalance
from penstock.core.groups.classic.group import CONSUMER_PROTOCOL_TYPE, ClassicGroup
from penstock.core.groups.classic.member import Member
from penstock.core.groups.classic.records import group_metadata_record, group_tombstone
from penstock.core.groups.classic.replies import join_refused, sync_refused
from penstock.core.groups.classic.sessions import session_key
from penstock.core.groups.classic.states import State
from penstock.core.groups.consumer import sessions
from penstock.core.groups.consumer.embedded import (
    MalformedProtocol,
    by_id,
    read_assignment,
    read_subscription,
    written_assignment,
)
from penstock.core.groups.consumer.group import ConsumerGroup, GroupState
from penstock.core.groups.consumer.member import ClassicMember, ConsumerMember, Epochs, without_epochs
from penstock.core.groups.consumer.records import (
    current_record,
    decode_key,
    epoch_record,
    group_tombstones,
    member_record,
    replay_in,
    target_epoch_record,
    target_record,
)
from penstock.core.groups.metadata_hash import metadata_hash
from penstock.core.groups.topics import TopicLookup
from penstock.core.groups.turn import Turn
from penstock.core.wire.stored.consumer_protocol import (
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)

_MADE_LONG_AGO: Final = 0


def upgraded(turn: Turn, topics: TopicLookup, group: ClassicGroup) -> ConsumerGroup:
    """The group as it will be once the records count."""
    _check_upgrade(turn, group)
    try:
        members = _members(topics, group)
    except MalformedProtocol:
        raise _cannot_upgrade(group, "the embedded consumer protocol is malformed.") from None
    after, records = ConsumerGroup(group.group_id), turn.result.records
    records.append(group_tombstone(group.group_id))
    read = frozenset[str]().union(*(each.topics for each in members))
    made = [member_record(group.group_id, each) for each in members]
    made.append(epoch_record(group.group_id, group.generation, metadata_hash(topics, read)))
    made += [target_record(group.group_id, each.member_id, without_epochs(each.assigned)) for each in members]
    made.append(target_epoch_record(group.group_id, group.generation, _MADE_LONG_AGO))
    made += [current_record(group.group_id, each) for each in members]
    for key, value in made:
        replay_in(after, decode_key(key), value)
    records += made
    return after


def moved_in(turn: Turn, before: ClassicGroup, after: ConsumerGroup) -> None:
    """The upgrade is decided: those who wait hear that they have to join again, and sessions go on."""
    # Where the log takes nothing, it is the machine that knew who waits.
    turn.result.is_only_record = not before.joining and not before.syncing
    for member_id in list(before.joining):
        if seat := turn.room.release(before.joining, member_id):
            turn.answer_seat(seat, join_refused(member_id, ErrorCode.REBALANCE_IN_PROGRESS))
    for member_id in list(before.syncing):
        if seat := turn.room.release(before.syncing, member_id):
            turn.answer_seat(seat, sync_refused(ErrorCode.REBALANCE_IN_PROGRESS))
    for member in after.members.values():
        sessions.keep_alive(turn, after.group_id, member)
    turn.memory.take(after.size_bytes - before.size_bytes)


def may_downgrade(turn: Turn, group: ConsumerGroup) -> bool:
    """Whether all who are left speak the classic protocol, and may go on by themselves."""
    spoken = len(group.classic_members)
    is_classic = 0 < spoken == len(group.members) <= turn.settings.group_members_max
    return is_classic and turn.settings.downgrades


def downgrade(turn: Turn, topics: TopicLookup, group: ConsumerGroup) -> None:
    """Give the assignment back to the members. Where all have what the target says, nobody has to notice."""
    after = _classic(turn, group)
    assert after.protocol is not None, "a group with members has a protocol"
    assignments = {
        member_id: written_assignment(topics, group.target(member_id), member.metadata(after.protocol))
        for member_id, member in after.members.items()
    }
    turn.result.records += [*group_tombstones(group), group_metadata_record(after, assignments)]
    if turn.is_too_large():
        turn.result.records.clear()
        return
    sessions.end_all(turn, group)
    for classic in after.members.values():
        turn.timers.set(session_key(group.group_id, classic.member_id), turn.now_ms + classic.session_timeout_ms)
    turn.memory.take(after.size_bytes + sum(map(len, assignments.values())) - group.size_bytes)
    if group.state is not GroupState.STABLE:
        turn.timers.set(rebalance.begin_key(group.group_id), turn.now_ms)


def _check_upgrade(turn: Turn, group: ClassicGroup) -> None:
    if not turn.settings.upgrades:
        raise _cannot_upgrade(group, "online upgrade is disabled.")
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        raise _cannot_upgrade(group, "the group does not use the consumer embedded protocol.")
    if len(group.members) > turn.settings.consumer_members_max:
        raise _cannot_upgrade(group, "the group size exceeds the consumer group maximum size.")


def _cannot_upgrade(group: ClassicGroup, why: str) -> ApiError:
    start = f"Cannot upgrade classic group {group.group_id} to consumer group because"
    return ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"{start} {why}")


def _members(topics: TopicLookup, group: ClassicGroup) -> list[ConsumerMember]:
    words = {each.member_id: _subscription(group, each) for each in group.members.values()}
    held = _held(topics, group, words)
    return [
        ConsumerMember(
            member_id=each.member_id,
            instance_id=each.instance_id,
            rack_id=words[each.member_id].rack_id,
            client_id=each.client_id,
            client_host=each.client_host,
            rebalance_timeout_ms=each.rebalance_timeout_ms,
            topics=frozenset(words[each.member_id].topics),
            epoch=group.generation,
            previous_epoch=group.generation,
            assigned=held[each.member_id],
            classic=ClassicMember(each.session_timeout_ms, each.protocols),
        )
        for each in group.members.values()
    ]


def _subscription(group: ClassicGroup, member: Member) -> ConsumerProtocolSubscription:
    """Who gathers for the next generation may not speak the protocol of the last one."""
    usual = member.protocols[0][1]
    return read_subscription(dict(member.protocols).get(group.protocol or "", usual))


def _held(
    topics: TopicLookup, group: ClassicGroup, words: dict[str, ConsumerProtocolSubscription]
) -> dict[str, Epochs]:
    """What each was given, and then what it has said that it has: while a group assigns anew, only its members know
    that. What two claim belongs to the first."""
    held: dict[str, dict[bytes, dict[int, int]]] = {member_id: {} for member_id in group.members}
    taken: set[tuple[bytes, int]] = set()
    claims = [
        *((each.member_id, by_id(topics, _given(group, each))) for each in group.members.values()),
        *((member_id, by_id(topics, said.owned_partitions)) for member_id, said in words.items()),
    ]
    for member_id, claim in claims:
        for topic_id, numbers in claim.items():
            for number in sorted(numbers):
                if (topic_id, number) not in taken:
                    taken.add((topic_id, number))
                    held[member_id].setdefault(topic_id, {})[number] = group.generation
    return dict(held)


def _given(group: ClassicGroup, member: Member) -> list[ConsumerProtocolAssignmentTopicPartition]:
    assignment = read_assignment(member.assignment)
    if assignment.user_data:
        raise _cannot_upgrade(
            group,
            "an unsupported custom assignor is in use. "
            "Please refer to the documentation or switch to a default assignor before re-attempting the upgrade.",
        )
    return assignment.assigned_partitions


def _classic(turn: Turn, group: ConsumerGroup) -> ClassicGroup:
    after = ClassicGroup(group.group_id, turn.now_ms)
    # Nobody has had a later epoch: who is at this one is told to join again, and keeps what he has until he does.
    after.generation = group.assignment_epoch
    for each in group.members.values():
        assert each.classic is not None, "only they are left"
        member = Member(
            member_id=each.member_id,
            instance_id=each.instance_id,
            client_id=each.client_id,
            client_host=each.client_host,
            rebalance_timeout_ms=each.rebalance_timeout_ms,
            session_timeout_ms=each.classic.session_timeout_ms,
            protocols=each.classic.protocols,
        )
        after.add(member, CONSUMER_PROTOCOL_TYPE)
    after.protocol = after.choose_protocol()
    after.state = State.STABLE
    return after
