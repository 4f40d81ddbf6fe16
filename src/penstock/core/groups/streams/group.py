"""A streams group, as its records say it is: its application, its members, and the target assignment.

Nothing here sets timers, answers requests or writes records: what changes is on record first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.groups.streams.configuring import Configured
from penstock.core.groups.streams.member import StreamsMember
from penstock.core.groups.streams.tasks import NO_TASKS, Roles
from penstock.core.groups.streams.topology import Topology

EMPTY: Final = "Empty"
NOT_READY: Final = "NotReady"
ASSIGNING: Final = "Assigning"
RECONCILING: Final = "Reconciling"
STABLE: Final = "Stable"
FIRST_EPOCH: Final = 1
"""Of a group before its first member, so that who joins is never told that it is in epoch 0."""
NOT_VALID: Final = -1


class StreamsGroup:
    """The epoch rises with each change of members, topics or settings; the target assignment follows it."""

    __slots__ = (
        "assignment_configs",
        "assignment_epoch",
        "assignment_ms",
        "configured",
        "endpoints_epoch",
        "epoch",
        "group_id",
        "members",
        "metadata_hash",
        "shutdown_by",
        "size_bytes",
        "targets",
        "topology",
        "valid_epoch",
    )

    kind: ClassVar[str] = "streams"
    expires: ClassVar[bool] = True

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.valid_epoch = NOT_VALID
        """Of the topology whose topics are all there, and fit."""
        self.assignment_configs: dict[str, str] = {}
        """With which settings the last target was wanted."""
        self.assignment_epoch = FIRST_EPOCH
        self.assignment_ms: int | None = None
        """When the target was made; None if nobody knows."""
        self.topology: Topology | None = None
        self.members: dict[str, StreamsMember] = {}
        self.targets: dict[str, Roles] = {}
        self.size_bytes = 0
        # What is on no record: the next coordinator finds it out, or is told anew.
        self.configured: Configured | None = None
        """None where topics have changed since, or nobody has looked yet."""
        self.shutdown_by: str | None = None
        """Who has asked all others to end."""
        self.endpoints_epoch = 0
        """Rises when somebody who may be asked for its state has other tasks."""

    # What others ask.

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def state(self) -> str:
        if not self.members:
            return EMPTY
        if self.topology is None or self.topology.epoch != self.valid_epoch:
            return NOT_READY
        if self.epoch > self.assignment_epoch:
            return ASSIGNING
        is_stable = all(each.is_at(self.assignment_epoch) for each in self.members.values())
        return STABLE if is_stable else RECONCILING

    def is_subscribed_to(self, topic: str) -> bool:
        return bool(self.members) and self.topology is not None and topic in self.topology.topics

    def check_offset_delete(self) -> None:
        """Kafka lets offsets go of topics that nobody reads: `is_subscribed_to` says which."""

    def check_delete(self) -> None:
        if self.members:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)

    def offset_age_begins_ms(self, committed_ms: int) -> int | None:
        return committed_ms if self.is_empty else None

    def member(self, member_id: str) -> StreamsMember:
        found = self.members.get(member_id)
        if found is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}.")
        return found

    def others(self, member_id: str) -> Iterable[StreamsMember]:
        return (each for each in self.members.values() if each.member_id != member_id)

    def target(self, member_id: str) -> Roles:
        return self.targets.get(member_id, NO_TASKS)

    # How it changes.

    def put(self, member: StreamsMember) -> None:
        """A member is new, or another value takes its place."""
        self._let_go(self.members.get(member.member_id))
        self.members[member.member_id] = member
        self.size_bytes += member.size_bytes

    def remove(self, member_id: str) -> None:
        self._let_go(self.members.pop(member_id, None))
        if not self.members:
            self.shutdown_by = None

    def _let_go(self, member: StreamsMember | None) -> None:
        self.size_bytes -= 0 if member is None else member.size_bytes
