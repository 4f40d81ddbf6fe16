"""Planted bugs in live groups: mistakes of a coordinator that assigns, and of one that changes a group's kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.groups.consumer import changing, kind
from penstock.core.groups.consumer import heartbeat as deciding
from penstock.core.groups.consumer.advancing import Place
from penstock.core.groups.consumer.member import ConsumerMember
from penstock.core.wire.api.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from penstock.sim.planted import Patch


def _double_assignment() -> list[Patch]:
    """Whoever the target names may have a partition at once, whoever has it still."""
    return [(Place, "is_free", lambda self, group: lambda where: True)]


def _fenced_keeps() -> list[Patch]:
    """Whoever is no member any more is told that all is well."""
    honest = deciding.heartbeat

    def heartbeat(turn: Any, topics: Any, group: Any, asked: Any, new_id: str) -> ConsumerGroupHeartbeatResponse:
        try:
            return honest(turn, topics, group, asked, new_id)
        except ApiError as error:
            if error.code is not ErrorCode.UNKNOWN_MEMBER_ID:
                raise
            return ConsumerGroupHeartbeatResponse(member_id=new_id, member_epoch=asked.request.member_epoch)

    return [(kind, "heartbeat", heartbeat)]


def _fenced_commits() -> list[Patch]:
    """A commit counts in whatever name and epoch it comes."""
    return [(kind.ConsumerKind, "admit_commit", lambda self, turn, group, committer: None)]


def _upgrade_forgets() -> list[Patch]:
    """The last member that joined is none after an upgrade."""
    honest: Callable[..., list[ConsumerMember]] = changing._members

    def members(topics: Any, group: Any) -> list[ConsumerMember]:
        return honest(topics, group)[:-1]

    return [(changing, "_members", members)]


def _upgrade_takes() -> list[Patch]:
    """An upgrade keeps the members, and not what they have."""
    return [(changing, "_held", lambda topics, group, words: {member_id: {} for member_id in group.members})]


GROUP_BUGS: Final[dict[str, Callable[[], list[Patch]]]] = {
    "double assignment": _double_assignment,
    "fenced member keeps its partitions": _fenced_keeps,
    "fenced member commits": _fenced_commits,
    "upgrade forgets a member": _upgrade_forgets,
    "upgrade takes partitions": _upgrade_takes,
}
"""Every bug by its name."""
