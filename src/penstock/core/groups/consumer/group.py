"""A consumer group, as its records say it is: members, the target assignment, and who owns what meanwhile.

Nothing here sets timers, answers requests or writes records: what changes is on record first, and `apply` is called for
each record.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.groups.classic.member import Protocols
from penstock.core.groups.consumer.member import (
    ClassicMember,
    ConsumerMember,
    MemberState,
    Partitions,
    TopicIdPartition,
)
from penstock.core.groups.consumer.resolving import Resolving


class GroupState(StrEnum):
    """By the names that clients see."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"  # The group has changed, and its target assignment has not been made anew yet.
    RECONCILING = "Reconciling"  # Some members are on their way to the target.
    STABLE = "Stable"


class ConsumerGroup:
    """The epoch rises with each change of members or topics; the target assignment follows it, and the members that."""

    __slots__ = (
        "assignment_epoch",
        "assignment_ms",
        "epoch",
        "group_id",
        "is_checked",
        "members",
        "metadata_hash",
        "owners",
        "patterns",
        "rebalancing_since_ms",
        "resolving",
        "size_bytes",
        "stale_patterns",
        "static_ids",
        "subscribers",
        "targets",
        "told_to_join",
    )

    kind: ClassVar[str] = "consumer"
    expires: ClassVar[bool] = True

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = 0
        self.metadata_hash = 0
        self.assignment_epoch = 0
        self.assignment_ms: int | None = None
        """When the target was made; None if nobody knows."""
        self.members: dict[str, ConsumerMember] = {}
        self.static_ids: dict[str, str] = {}
        self.targets: dict[str, Partitions] = {}
        self.owners: dict[TopicIdPartition, str] = {}
        """Each partition has one owner at most, who may be about to give it up."""
        self.subscribers: dict[str, int] = {}
        """How many members name a topic."""
        self.patterns: dict[str, frozenset[str]] = {}
        """The topics that each pattern of a member describes, once that is on record."""
        self.resolving: Resolving | None = None
        self.stale_patterns: set[str] = set()
        """Those that may describe others since topics have come or gone."""
        self.size_bytes = 0
        self.is_checked = False
        """Whether this coordinator has compared the topics with what the group was told of them."""
        self.rebalancing_since_ms: int | None = None
        self.told_to_join: set[str] = set()
        """Members of the classic protocol that have not come since they were told to."""

    # What others ask.

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def state(self) -> GroupState:
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return GroupState.ASSIGNING
        is_stable = all(member.is_at(self.assignment_epoch) for member in self.members.values())
        return GroupState.STABLE if is_stable else GroupState.RECONCILING

    @property
    def topics(self) -> frozenset[str]:
        described = (self.patterns.get(each.pattern or "", ()) for each in self.members.values())
        return frozenset(self.subscribers).union(*described)

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """All that a member reads."""
        return member.topics | self.patterns.get(member.pattern or "", frozenset())

    def has_pattern(self, pattern: str, without: str | None = None) -> bool:
        """Whether a member has it, apart from one."""
        return any(each.pattern == pattern for each in self.members.values() if each.member_id != without)

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribers or any(topic in described for described in self.patterns.values())

    def check_offset_delete(self) -> None:
        """Offsets of topics that nobody reads may be deleted at any time."""

    def check_delete(self) -> None:
        if self.members:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)

    def offset_age_begins_ms(self, committed_ms: int) -> int | None:
        return committed_ms

    def member(self, member_id: str) -> ConsumerMember:
        found = self.members.get(member_id)
        if found is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}.")
        return found

    def static_member(self, instance_id: str) -> ConsumerMember | None:
        member_id = self.static_ids.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    @property
    def classic_members(self) -> list[ClassicMember]:
        """What those say that speak the classic protocol."""
        return [each.classic for each in self.members.values() if each.classic is not None]

    def supports(self, protocols: Protocols) -> bool:
        """Whether one of these is spoken by all who speak the classic protocol."""
        spoken = [{name for name, _ in each.protocols} for each in self.classic_members]
        return any(all(name in names for names in spoken) for name, _ in protocols)

    def may_get_more(self, member: ConsumerMember) -> bool:
        """Whether it waits for partitions, and all of them are free by now."""
        if member.state is not MemberState.UNRELEASED:
            return False
        wanted = (
            TopicIdPartition(topic_id, number)
            for topic_id, numbers in self.target(member.member_id).items()
            for number in numbers - member.assigned.get(topic_id, {}).keys()
        )
        return all(self.is_free(where, member.member_id) for where in wanted)

    def target(self, member_id: str) -> Partitions:
        return self.targets.get(member_id, {})

    def is_free(self, where: TopicIdPartition, member_id: str) -> bool:
        """Whether a member may have a partition now."""
        return self.owners.get(where, member_id) == member_id

    # How it changes.

    def put(self, member: ConsumerMember) -> None:
        """A member is new, or another value takes its place."""
        self._let_go(self.members.get(member.member_id))
        for where in member.owned():
            self.owners[where] = member.member_id
        self.members[member.member_id] = member
        self.size_bytes += member.size_bytes
        for topic in member.topics:
            self.subscribers[topic] = self.subscribers.get(topic, 0) + 1
        if member.instance_id is not None:
            self.static_ids[member.instance_id] = member.member_id

    def remove(self, member_id: str) -> None:
        gone = self.members.pop(member_id, None)
        self._let_go(gone)
        # The next process of its instance may have come before it went.
        if gone is not None and gone.instance_id is not None and self.static_ids.get(gone.instance_id) == member_id:
            del self.static_ids[gone.instance_id]

    def _let_go(self, member: ConsumerMember | None) -> None:
        if member is None:
            return
        self.size_bytes -= member.size_bytes
        for where in member.owned():
            if self.owners.get(where) == member.member_id:
                del self.owners[where]
        for topic in member.topics:
            self.subscribers[topic] -= 1
            if not self.subscribers[topic]:
                del self.subscribers[topic]
