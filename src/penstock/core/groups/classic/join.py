"""JoinGroup, versions 0 to 9: a member asks to be part of the next generation, and waits for it.

Version 1 adds a rebalance timeout of its own. From version 4 on a dynamic member must come back with the member id that
it is given first, so that a lost response leaves no ghost behind. Version 5 adds static members, version 8 a reason
(for the reader of a trace only), version 9 lets a returning static leader skip the assignment.
"""

from __future__ import annotations

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Entropy
from penstock.core.groups.classic import rebalance, sessions, statics
from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.groups.classic.joiner import Joiner, finds_room, park, update
from penstock.core.groups.classic.member import Member
from penstock.core.groups.classic.records import group_metadata_record
from penstock.core.groups.classic.replies import join_refused, joined
from penstock.core.groups.classic.states import State
from penstock.core.groups.settings import GroupSettings
from penstock.core.groups.table import GroupTable
from penstock.core.groups.turn import Turn

MEMBER_ID_REQUIRED_FROM = 4
_UUID_BYTES = 16


def join(turn: Turn, groups: GroupTable, joiner: Joiner, entropy: Entropy) -> None:
    code = refusal(turn.settings, joiner)
    if code is not ErrorCode.NONE:
        turn.answer(joiner.reply, join_refused(joiner.member_id, code))
        return
    group = groups.find(ClassicGroup, joiner.group_id)
    if group is None:
        if joiner.group_id in groups:
            turn.answer(joiner.reply, join_refused("", ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
            return
        if joiner.member_id:
            turn.answer(joiner.reply, join_refused(joiner.member_id, ErrorCode.UNKNOWN_MEMBER_ID))
            return
        group = ClassicGroup(joiner.group_id, turn.now_ms)
        groups.put(group)
        turn.result.records.append(group_metadata_record(group, {}))
    _join_group(turn, group, joiner, entropy)


def refusal(settings: GroupSettings, joiner: Joiner) -> ErrorCode:
    """What is wrong with a join, whatever the group is."""
    if not joiner.group_id:
        return ErrorCode.INVALID_GROUP_ID
    if not settings.session_timeout_ms_min <= joiner.session_timeout_ms <= settings.session_timeout_ms_max:
        return ErrorCode.INVALID_SESSION_TIMEOUT
    if any(len(metadata) > settings.batch_bytes_max for _, metadata in joiner.protocols):
        # No generation with it could ever be written down. Kafka says so in the answer to SyncGroup.
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return ErrorCode.NONE


def _join_group(turn: Turn, group: ClassicGroup, joiner: Joiner, entropy: Entropy) -> None:
    if not _has_room(turn.settings, group, joiner.member_id):
        _turn_away(turn, group, joiner)
    elif not group.accepts_protocols(joiner.protocol_type, joiner.protocols):
        turn.answer(joiner.reply, join_refused(joiner.member_id, ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
    elif joiner.member_id:
        _join_known(turn, group, joiner)
    else:
        _join_unknown(turn, group, joiner, entropy)


def _has_room(settings: GroupSettings, group: ClassicGroup, member_id: str) -> bool:
    """Whether the group's size allows this joiner.

    While members gather, those who came first count: that way a group above a lowered limit loses its last members.
    """
    if group.is_empty:
        return True
    if group.state is State.PREPARING_REBALANCE:
        return member_id in group.joining or len(group.joining) < settings.group_members_max
    return member_id in group.members or len(group.members) < settings.group_members_max


def _turn_away(turn: Turn, group: ClassicGroup, joiner: Joiner) -> None:
    if joiner.member_id in group.members:
        rebalance.expel(turn, group, joiner.member_id)
    elif joiner.member_id in group.pending:
        group.pending.remove(joiner.member_id)
        sessions.end(turn, group, joiner.member_id)
    turn.answer(joiner.reply, join_refused("", ErrorCode.GROUP_MAX_SIZE_REACHED))
    # Kafka lets the others wait for this one until their rebalance timeout, although it will not come any more.
    rebalance.complete_if_all_joined(turn, group)


def _join_unknown(turn: Turn, group: ClassicGroup, joiner: Joiner, entropy: Entropy) -> None:
    stem = joiner.client_id if joiner.instance_id is None else joiner.instance_id
    # Slow to load, and no node needs it before somebody joins a group.
    from uuid import UUID

    member_id = f"{stem}-{UUID(bytes=entropy.bytes(_UUID_BYTES), version=4)}"
    if joiner.instance_id is not None and joiner.instance_id in group.static_ids:
        statics.replace(turn, group, joiner, member_id)
    elif joiner.instance_id is None and joiner.version >= MEMBER_ID_REQUIRED_FROM:
        sessions.expect_back(turn, group, member_id, joiner.session_timeout_ms)
        turn.answer(joiner.reply, join_refused(member_id, ErrorCode.MEMBER_ID_REQUIRED))
    else:
        _add(turn, group, joiner, member_id)


def _join_known(turn: Turn, group: ClassicGroup, joiner: Joiner) -> None:
    if joiner.member_id in group.pending:
        if joiner.instance_id is None:
            _add(turn, group, joiner, joiner.member_id)
        else:
            # Ids are only ever reserved for dynamic members, so this peer mixes up two of them.
            turn.answer(joiner.reply, join_refused(joiner.member_id, ErrorCode.UNKNOWN_SERVER_ERROR))
        return
    try:
        group.check_member(joiner.member_id, joiner.instance_id)
    except ApiError as error:
        turn.answer(joiner.reply, join_refused(joiner.member_id, error.code))
        return
    _rejoin(turn, group, group.members[joiner.member_id], joiner)


def _rejoin(turn: Turn, group: ClassicGroup, member: Member, joiner: Joiner) -> None:
    """A member joins again: a retry gets the current generation, anything else leads to the next one."""
    if not finds_room(turn, joiner, member):
        return
    changed = member.protocols != joiner.protocols
    # The leader of a stable group knows of changes that we do not see, such as new partitions.
    wants_rebalance = group.state is State.STABLE and group.leader == member.member_id
    if group.state is State.PREPARING_REBALANCE or changed or wants_rebalance:
        update(group, member, joiner)
        park(turn, group, member.member_id, joiner.reply)
        rebalance.prepare_or_complete(turn, group)
    else:
        turn.answer(joiner.reply, joined(group, member.member_id))


def _add(turn: Turn, group: ClassicGroup, joiner: Joiner, member_id: str) -> None:
    if not finds_room(turn, joiner):
        return
    member = Member(
        member_id=member_id,
        instance_id=joiner.instance_id,
        client_id=joiner.client_id,
        client_host=joiner.client_host,
        rebalance_timeout_ms=joiner.rebalance_timeout_ms,
        session_timeout_ms=joiner.session_timeout_ms,
        protocols=joiner.protocols,
        is_new=True,
    )
    if group.initial_delay is not None:
        group.initial_delay.newcomers = True
    group.add(member, joiner.protocol_type)
    park(turn, group, member_id, joiner.reply)
    sessions.welcome(turn, group, member)
    rebalance.prepare_or_complete(turn, group)
