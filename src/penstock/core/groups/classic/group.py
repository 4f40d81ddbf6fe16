"""A classic group: its members, its state, and the questions the rules ask about them.

Nothing here sets timers, answers requests or writes records. Membership between two generations is soft: it dies with
the coordinator and the members build it again. What must survive is written as a record, and comes back through
`restored` or, where the group has come from there, `recorded`.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.values import mutable
from penstock.core.groups.classic.member import Member, Protocols
from penstock.core.groups.classic.states import MAY_FOLLOW, State
from penstock.core.groups.classic.subscription import subscribed_topics
from penstock.core.groups.parked_replies import Parked

CONSUMER_PROTOCOL_TYPE = "consumer"


@mutable
class InitialDelay:
    """The wait before a group's first generation, stretched while newcomers keep arriving."""

    remaining_ms: int
    """By how much it may still be stretched."""
    newcomers: bool = False


class ClassicGroup:
    """The members in the order they came; the first one leads until it leaves."""

    __slots__ = (
        "generation",
        "group_id",
        "initial_delay",
        "joining",
        "leader",
        "members",
        "owing_sync",
        "pending",
        "previous_state",
        "protocol",
        "protocol_type",
        "rebalancing_since_ms",
        "size_bytes",
        "state",
        "state_since_ms",
        "static_ids",
        "subscribed",
        "supporters",
        "syncing",
    )

    kind: ClassVar[str] = "classic"
    expires: ClassVar[bool] = True

    def __init__(self, group_id: str, state_since_ms: int | None) -> None:
        self.group_id = group_id
        self.state = State.EMPTY
        self.previous_state = State.DEAD
        self.state_since_ms = state_since_ms
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: dict[str, Member] = {}
        self.static_ids: dict[str, str] = {}
        """Member id by instance id."""
        self.pending: set[str] = set()
        """Member ids given out with MEMBER_ID_REQUIRED that have not come back yet."""
        self.joining: Parked = {}
        self.syncing: Parked = {}
        self.owing_sync: set[str] = set()
        """Members that got this generation's join response and have not sent their sync."""
        self.supporters: Counter[str] = Counter()
        """How many members support a protocol."""
        self.subscribed: frozenset[str] | None = None
        """Topics the members read, where they speak the consumer protocol and we could read it."""
        self.initial_delay: InitialDelay | None = None
        self.rebalancing_since_ms: int | None = None
        """While one is under way that this coordinator has seen the beginning of."""
        self.size_bytes = 0
        """Of all members."""

    # What others ask.

    @property
    def is_empty(self) -> bool:
        return self.state is State.EMPTY

    @property
    def speaks_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def all_joined(self) -> bool:
        return len(self.members) == len(self.joining) and not self.pending

    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member reads the topic; a consumer group whose subscriptions we cannot read may read anything."""
        return self.speaks_consumer_protocol if self.subscribed is None else topic in self.subscribed

    def accepts_protocols(self, protocol_type: str, protocols: Protocols) -> bool:
        """Whether a joiner has the group's protocol type and at least one protocol that all members support."""
        if self.state is State.EMPTY:
            return bool(protocol_type and protocols)
        return self.protocol_type == protocol_type and any(
            self.supporters[name] == len(self.members) for name, _ in protocols
        )

    def check_member(self, member_id: str, instance_id: str | None) -> None:
        """Refuse those we do not know, and a static member whose place another process has taken."""
        if instance_id is not None:
            current_id = self.static_ids.get(instance_id)
            if current_id is None:
                raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
            if current_id != member_id:
                raise ApiError(ErrorCode.FENCED_INSTANCE_ID)
        if member_id not in self.members:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)

    def check_generation(self, member_id: str, instance_id: str | None, generation: int) -> Member:
        """A member that speaks for the current generation."""
        self.check_member(member_id, instance_id)
        if generation != self.generation:
            raise ApiError(ErrorCode.ILLEGAL_GENERATION)
        return self.members[member_id]

    def check_commit(
        self, member_id: str, instance_id: str | None, generation: int, in_transaction: bool = False
    ) -> None:
        """Whether this sender may commit offsets now. Tools and consumers without membership send no generation; old
        producers do not say who they commit for, and what they commit is held against no rebalance."""
        if generation < 0 and self.is_empty:
            return
        if generation >= 0 or member_id or instance_id is not None:
            self.check_generation(member_id, instance_id, generation)
        elif not in_transaction:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
        if self.state is State.COMPLETING_REBALANCE and not in_transaction:
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)

    def check_offset_delete(self) -> None:
        """Offsets of a group in use may be deleted only where we can see which topics it reads."""
        if not self.is_empty and not self.speaks_consumer_protocol:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)

    def check_delete(self) -> None:
        if not self.is_empty:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)

    def offset_age_begins_ms(self, committed_ms: int) -> int | None:
        """From when the retention of an offset counts; None: offsets do not expire in this state.

        Without members ever, each offset ages by itself. A group that lost its members keeps all its offsets until it
        has been empty for the whole retention. In a stable group, topics nobody reads any more age by themselves.
        """
        if self.protocol_type is None:
            return committed_ms
        if self.is_empty:
            return committed_ms if self.state_since_ms is None else self.state_since_ms
        if self.speaks_consumer_protocol and self.subscribed is not None and self.state is State.STABLE:
            return committed_ms
        return None

    # How it changes.

    def move_to(self, state: State, now_ms: int) -> None:
        assert state in MAY_FOLLOW[self.state], f"{self.group_id}: {self.state} may not become {state}"
        self.previous_state = self.state
        self.state = state
        self.state_since_ms = now_ms

    def add(self, member: Member, protocol_type: str) -> None:
        assert member.member_id not in self.members, "a member is added once"
        if member.instance_id is not None:
            assert member.instance_id not in self.static_ids, "a static member is replaced, not added again"
            self.static_ids[member.instance_id] = member.member_id
        if not self.members:
            self.protocol_type = protocol_type
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        self.size_bytes += member.size_bytes
        self.supporters.update(member.protocol_names())
        self.pending.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        member = self.members.pop(member_id)
        self.size_bytes -= member.size_bytes
        self._withdraw_support(member)
        if member.instance_id is not None:
            del self.static_ids[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.owing_sync.discard(member_id)

    def rename_static(self, member: Member, new_id: str) -> None:
        """Give a static member's place to the process that now holds its instance id."""
        assert member.instance_id is not None, "only a static member can be replaced"
        old_id = member.member_id
        self.members = {new_id if member_id == old_id else member_id: each for member_id, each in self.members.items()}
        member.member_id = self.static_ids[member.instance_id] = new_id
        if self.leader == old_id:
            self.leader = new_id
        if old_id in self.owing_sync:
            self.owing_sync.remove(old_id)
            self.owing_sync.add(new_id)

    def change_protocols(self, member: Member, protocols: Protocols) -> None:
        self._withdraw_support(member)
        self.size_bytes -= member.size_bytes
        member.protocols = protocols
        self.size_bytes += member.size_bytes
        self.supporters.update(member.protocol_names())

    def assign(self, member: Member, assignment: bytes) -> None:
        self.size_bytes += len(assignment) - len(member.assignment)
        member.assignment = assignment

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it rejoined, else take the first member that did; False: nobody did."""
        if self.leader not in self.joining:
            joined = next((member_id for member_id in self.members if member_id in self.joining), None)
            if joined is None:
                return False
            self.leader = joined
        return True

    def choose_protocol(self) -> str:
        """The protocol with the most votes among those all support; the first one voted for wins a tie."""
        candidates = {name for name, count in self.supporters.items() if count == len(self.members)}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return max(votes, key=votes.__getitem__)

    def begin_generation(self, now_ms: int) -> None:
        """The next generation of those who joined; without members the group becomes empty."""
        self.generation += 1
        self.protocol = self.choose_protocol() if self.members else None
        self.learn_subscriptions()
        self.owing_sync.clear()
        self.initial_delay = None
        self.move_to(State.COMPLETING_REBALANCE if self.members else State.EMPTY, now_ms)

    def learn_subscriptions(self) -> None:
        self.subscribed = self._read_subscriptions()

    def _withdraw_support(self, member: Member) -> None:
        """Names that nobody supports any more are dropped: peers choose them, and could choose many."""
        for name in member.protocol_names():
            self.supporters[name] -= 1
            if not self.supporters[name]:
                del self.supporters[name]

    def _read_subscriptions(self) -> frozenset[str] | None:
        if not self.speaks_consumer_protocol:
            return None
        if not self.members:
            return frozenset()
        if self.protocol is None:
            return None
        return subscribed_topics(member.metadata(self.protocol) for member in self.members.values())
