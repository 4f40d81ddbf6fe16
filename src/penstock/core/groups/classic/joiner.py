"""A request to join, in one shape for all versions, and what every way of joining does with it."""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.base.values import frozen
from penstock.core.groups.asked import Asked
from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.groups.classic.member import Member, Protocols
from penstock.core.groups.classic.replies import join_refused
from penstock.core.groups.turn import Turn
from penstock.core.rsm.result import Reply
from penstock.core.wire.api.join_group import JoinGroupRequest


@frozen
class Joiner:
    """One JoinGroup request, in the shape of the newest version."""

    reply: Reply
    version: int
    client_id: str
    client_host: str
    group_id: str
    member_id: str
    instance_id: str | None
    protocol_type: str
    protocols: Protocols
    session_timeout_ms: int
    rebalance_timeout_ms: int

    @classmethod
    def of(cls, asked: Asked[JoinGroupRequest]) -> Joiner:
        request = asked.request
        # Version 0 has no rebalance timeout; members were given as long as their session.
        timeout_ms = request.session_timeout_ms if asked.version == 0 else request.rebalance_timeout_ms
        return cls(
            reply=asked.reply,
            version=asked.version,
            client_id=asked.client_id,
            client_host=asked.client_host,
            group_id=request.group_id,
            member_id=request.member_id,
            instance_id=request.group_instance_id,
            protocol_type=request.protocol_type,
            protocols=tuple((each.name, each.metadata) for each in request.protocols),
            session_timeout_ms=request.session_timeout_ms,
            rebalance_timeout_ms=timeout_ms,
        )


def finds_room(turn: Turn, joiner: Joiner, member: Member | None = None) -> bool:
    """Whether what it says of itself can be kept beside what all others do, or in place of what this member said. If
    not, it is told to come again."""
    size_bytes = sum(len(name) + len(metadata) for name, metadata in joiner.protocols) + len(joiner.client_id)
    before_bytes = 0 if member is None else member.size_bytes - len(member.assignment)
    if turn.memory.admits(size_bytes, size_bytes - before_bytes, turn.now_ms):
        return True
    turn.answer(joiner.reply, join_refused(joiner.member_id, ErrorCode.COORDINATOR_NOT_AVAILABLE))
    return False


def update(group: ClassicGroup, member: Member, joiner: Joiner) -> None:
    """A member's newest word about itself counts."""
    group.change_protocols(member, joiner.protocols)
    member.rebalance_timeout_ms = joiner.rebalance_timeout_ms
    member.session_timeout_ms = joiner.session_timeout_ms


def park(turn: Turn, group: ClassicGroup, member_id: str, reply: Reply) -> None:
    """Let a join wait for the generation.

    A member that joins twice has given up on its first request, and Kafka never answers that one. Replies of one
    connection leave in order here, so a silent one would hold up all that follow: it is told to join again instead.
    """
    displaced = turn.room.park(group.joining, member_id, reply)
    if displaced is not None:
        turn.answer_seat(displaced, join_refused(member_id, ErrorCode.REBALANCE_IN_PROGRESS))
