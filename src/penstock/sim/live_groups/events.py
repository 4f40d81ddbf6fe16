"""What happens in a live group, as its members tell it. A member is one process: the next one has another name."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.sim.place import Partition


@dataclass(frozen=True, slots=True)
class Took:
    """A member was given partitions in an epoch, or a generation, in answer to what it asked at that time."""

    group: str
    member: str
    epoch: int
    partitions: tuple[Partition, ...]
    asked_ms: int


@dataclass(frozen=True, slots=True)
class Gave:
    """A member reads these no more."""

    group: str
    member: str
    partitions: tuple[Partition, ...]


@dataclass(frozen=True, slots=True)
class Heard:
    """A coordinator took a member for one, in answer to what that sent at this time."""

    group: str
    member: str
    sent_ms: int


@dataclass(frozen=True, slots=True)
class Committed:
    """A coordinator took a commit that a member sent at that time."""

    group: str
    member: str
    partition: Partition
    sent_ms: int


@dataclass(frozen=True, slots=True)
class Leaving:
    """A member is about to say that it goes."""

    group: str
    member: str


LiveGroupEvent = Took | Gave | Heard | Committed | Leaving
