"""What a kind of groups brings to a shard. Classic groups are the first; each kind is a package of its own.

Who answers a request about one group: the kind that the group is of, if it knows such requests; otherwise, or if there
is no such group, the first kind that does. So a kind may serve the members of another protocol, and may be asked about
a group that is not (yet) its own: it refuses, or lets the group change its kind. A change is a batch in which the
tombstones of the one kind come first and the records of the other after them. A group of offsets only has no record of
its own; the first record of any kind takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.asked import Asked
from penstock.core.groups.group import Group
from penstock.core.groups.turn import Turn
from penstock.core.rsm.machine import Decision, TopicChanges
from penstock.core.rsm.result import KeyValue
from penstock.core.wire import Message
from penstock.core.wire.api.list_groups import ListedGroup

Answer = Callable[[Turn, Asked[Any]], None]
"""Decides on a request; what comes of it is in the turn's result."""


class Part(Protocol):
    """What a shard is put together from: its kinds of groups, and their offsets."""

    @property
    def record_types(self) -> Iterable[int]:
        """The types of stored records that are its own."""
        ...

    @property
    def answers(self) -> Mapping[type[Message], Answer]:
        """The requests that it knows, and what decides on each."""
        ...

    def replay(self, key: bytes, value: bytes | None, now_ms: int) -> None:
        """One of its records counts: the only way in which what is on record changes, while the log is loaded and later
        on."""
        ...

    def topics_changed(self, changes: TopicChanges) -> Iterable[Decision]:
        """See `Machine.topics_changed`. What only has to be remembered is remembered at once; it may come while the log
        is still loaded."""
        ...


class Committer(NamedTuple):
    """Who commits offsets, by its own words."""

    member_id: str
    instance_id: str | None
    epoch: int
    """A generation, for classic groups. Below 0: nobody's member."""
    version: int
    in_transaction: bool = False


G = TypeVar("G", bound=Group, contravariant=True)


class Kind(Part, Protocol[G]):
    """One kind of groups, in one shard. Timers have keys of the shape `(what, group id, ...)`, by which they find back
    to the kind that the group is of by then."""

    @property
    def name(self) -> str:
        """`Group.kind` of its groups."""
        ...

    def loaded(self, turn: Turn, group: G) -> None:
        """The log has been read: from now on members are expected to be heard of. Nothing can be decided yet."""
        ...

    def on_timer(self, turn: Turn, group: G, key: Hashable) -> None:
        """A deadline of this group is over, such as a member's session."""
        ...

    def lose(self, turn: Turn, group: G, code: ErrorCode) -> None:
        """The shard goes: tell everybody who waits for this group, and let its timers go."""
        ...

    def admit_commit(self, turn: Turn, group: G, committer: Committer) -> None:
        """Raise ApiError where this sender may not commit offsets now; a member that commits is alive."""
        ...

    def admit_fetch(self, group: G, member_id: str | None, epoch: int) -> None:
        """Raise ApiError where this sender may not ask for the group's offsets now; below 0, it is nobody's member."""

    def listed(self, group: G) -> ListedGroup: ...

    def forget_elsewhere(self, turn: Turn, group: G, then: Callable[[Turn, ErrorCode], None]) -> bool:
        """Before the group goes: whether other coordinators are asked to forget what they keep of it. `then` hears in a
        later turn how that went."""
        ...

    def tombstones(self, group: G) -> list[KeyValue]:
        """All that has to be written for the group to be gone. Its offsets are not its own affair."""
        ...
