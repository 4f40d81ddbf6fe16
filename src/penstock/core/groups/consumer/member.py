"""One member of a consumer group, as its records say it is. A change makes another value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from penstock.core.base.values import frozen
from penstock.core.groups.classic.member import Protocols

Partitions = Mapping[bytes, frozenset[int]]
"""Partitions by the id of their topic; no topic without one."""
Epochs = Mapping[bytes, Mapping[int, int]]
"""The same, with the epoch of the target assignment in which the member got each."""

NOTHING: Final[Partitions] = {}
NO_EPOCHS: Final[Epochs] = {}


class TopicIdPartition(NamedTuple):
    topic_id: bytes
    partition: int


class MemberState(IntEnum):
    """By the numbers that records have."""

    STABLE = 0
    """It has what its epoch's target says."""
    UNREVOKED = 1
    """It has been told to give partitions up, and has not said that it did."""
    UNRELEASED = 2
    """It waits for partitions that others have not given up."""


@frozen
class ClassicMember:
    """What a member says that speaks the classic protocol in a group whose coordinator assigns."""

    session_timeout_ms: int
    protocols: Protocols
    """By name, with its subscription; the preferred one first."""

    @property
    def protocol(self) -> str:
        """The one it is told that was chosen."""
        return self.protocols[0][0]

    @property
    def subscription(self) -> bytes:
        return self.protocols[0][1]


@frozen
class ConsumerMember:
    """What it says of itself, and how far it has come towards the target assignment."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topics: frozenset[str] = frozenset()
    pattern: str | None = None
    """A regular expression of the topics that it reads, too."""
    assignor: str | None = None
    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Epochs = NO_EPOCHS
    revoking: Epochs = NO_EPOCHS
    """Pending revocation: its own until it says otherwise."""
    classic: ClassicMember | None = None
    """Where it speaks the classic protocol."""

    @property
    def size_bytes(self) -> int:
        """What it says of itself, and is given."""
        texts = (*self.topics, self.pattern, self.client_id, self.instance_id, self.rack_id)
        said = sum(len(each or "") for each in texts)
        if self.classic is not None:
            said += sum(len(name) + len(metadata) for name, metadata in self.classic.protocols)
        return said + sum(16 + 8 * len(each) for each in self.assigned.values())

    def owned(self) -> Iterator[TopicIdPartition]:
        """What nobody else may have now."""
        for held in (self.assigned, self.revoking):
            for topic_id, partitions in held.items():
                for partition in partitions:
                    yield TopicIdPartition(topic_id, partition)

    def is_at(self, target_epoch: int) -> bool:
        """Whether it has all that the target of this epoch says."""
        return self.state is MemberState.STABLE and self.epoch == target_epoch


def without_epochs(epochs: Epochs) -> Partitions:
    return {topic_id: frozenset(partitions) for topic_id, partitions in epochs.items()}
