"""A share group, as its records say it is: members, the target assignment, and what is set up for it.

Nothing here sets timers, answers requests or writes records: what changes is on record first.
"""

from __future__ import annotations

from typing import ClassVar, Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.groups.share.member import Partitions, ShareMember
from penstock.core.groups.share.state_partitions import NONE, StatePartitions

EMPTY: Final = "Empty"
STABLE: Final = "Stable"


class ShareGroup:
    """The epoch rises with each change of members, topics or what is set up; the target assignment follows it."""

    __slots__ = (
        "assignment_epoch",
        "assignment_ms",
        "epoch",
        "group_id",
        "is_checked",
        "members",
        "metadata_hash",
        "size_bytes",
        "states",
        "subscribers",
        "targets",
    )

    kind: ClassVar[str] = "share"
    expires: ClassVar[bool] = False

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = 0
        self.metadata_hash = 0
        self.assignment_epoch = 0
        self.assignment_ms: int | None = None
        """When the target was made; None if nobody knows."""
        self.members: dict[str, ShareMember] = {}
        self.targets: dict[str, Partitions] = {}
        self.subscribers: dict[str, int] = {}
        """How many members name a topic."""
        self.states: StatePartitions = NONE
        self.size_bytes = 0
        self.is_checked = False
        """Whether this coordinator has compared the topics with what the group was told of them."""

    # What others ask.

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def state(self) -> str:
        return STABLE if self.members else EMPTY

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribers

    def check_offset_delete(self) -> None:
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {self.group_id} is not a consumer group.")

    def check_delete(self) -> None:
        if self.members:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)

    def offset_age_begins_ms(self, committed_ms: int) -> int | None:
        return committed_ms

    def member(self, member_id: str) -> ShareMember:
        found = self.members.get(member_id)
        if found is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}.")
        return found

    def target(self, member_id: str) -> Partitions:
        return self.targets.get(member_id, {})

    # How it changes.

    def put(self, member: ShareMember) -> None:
        """A member is new, or another value takes its place."""
        self._let_go(self.members.get(member.member_id))
        self.members[member.member_id] = member
        self.size_bytes += member.size_bytes
        for topic in member.topics:
            self.subscribers[topic] = self.subscribers.get(topic, 0) + 1

    def remove(self, member_id: str) -> None:
        self._let_go(self.members.pop(member_id, None))

    def _let_go(self, member: ShareMember | None) -> None:
        if member is None:
            return
        self.size_bytes -= member.size_bytes
        for topic in member.topics:
            self.subscribers[topic] -= 1
            if not self.subscribers[topic]:
                del self.subscribers[topic]
