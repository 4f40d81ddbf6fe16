"""What happened, as clients and the world tell it. The model and the invariants see nothing else.

Events are values in the order in which they became known. An event about a request carries what was known when the
request was sent, because only that can be demanded of its answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Partition(NamedTuple):
    """A topic's partition."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as its producer knows it: consecutive numbers in one partition, each a value that nobody else sends."""

    partition: Partition
    producer: str
    first: int
    values: tuple[bytes, ...]
    idempotent: bool


@dataclass(frozen=True, slots=True)
class Sent:
    """A producer sent a batch, for the first time or again, under the how-many-th of its producer ids."""

    batch: Batch
    identity: int = 0


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The node acknowledged a batch at an offset (None: it only said that it has it already)."""

    batch: Batch
    base_offset: int | None


@dataclass(frozen=True, slots=True)
class OutOfSequence:
    """The node refused an idempotent batch for its sequence though every earlier one was acknowledged."""

    batch: Batch
    error: str


@dataclass(frozen=True, slots=True)
class FetchAsked:
    """A client asked for records from these positions; `limited` where not all of them may fit into the answer."""

    client: str
    number: int
    positions: dict[Partition, int]
    limited: bool = False


@dataclass(frozen=True, slots=True)
class FetchAnswered:
    """The answer to the fetch with that number: what it said of each partition that it mentioned."""

    client: str
    number: int
    parts: tuple[FetchPart, ...]


@dataclass(frozen=True, slots=True)
class FetchPart:
    """One partition in a fetch response; `damaged` where a batch in it does not match its checksum."""

    partition: Partition
    error: int
    high_watermark: int
    records: tuple[tuple[int, bytes], ...]
    damaged: bool = False


@dataclass(frozen=True, slots=True)
class Read:
    """The whole content of a partition, read from its start to its end when all was quiet."""

    partition: Partition
    start_offset: int
    end_offset: int
    records: tuple[tuple[int, bytes], ...]


@dataclass(frozen=True, slots=True)
class CommitSent:
    """A group member asks for a commit."""

    group: str
    partition: Partition
    offset: int


@dataclass(frozen=True, slots=True)
class CommitAcknowledged:
    """The node acknowledged it."""

    group: str
    partition: Partition
    offset: int


@dataclass(frozen=True, slots=True)
class CommitRead:
    """A group's committed offset was read (-1: there is none), and what was acknowledged when that was asked for."""

    group: str
    partition: Partition
    offset: int
    known_when_asked: int


@dataclass(frozen=True, slots=True)
class Assigned:
    """A member of a group got its partitions for a generation."""

    group: str
    generation: int
    member: str
    partitions: tuple[Partition, ...]
    is_leader: bool


@dataclass(frozen=True, slots=True)
class TopicWanted:
    """A client asked for a topic to be created or deleted; the answer may never come."""

    topic: str
    exists: bool


@dataclass(frozen=True, slots=True)
class TopicDecided:
    """The node acknowledged that the topic exists now, or does not."""

    topic: str
    exists: bool


@dataclass(frozen=True, slots=True)
class TopicsRead:
    """All topics, read when all was quiet."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A request got no answer in time; excused where the world had broken the connection."""

    client: str
    request: str
    excused: bool


@dataclass(frozen=True, slots=True)
class Stuck:
    """A client had not finished long after the last fault."""

    client: str


class LogState(NamedTuple):
    """How far a partition's log reaches, and how far it promises to survive power loss."""

    start_offset: int
    synced_offset: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class Down:
    """The process is gone; `lost_power` says whether its machine went with it. Promises as of that moment."""

    lost_power: bool
    logs: dict[Partition, LogState]


@dataclass(frozen=True, slots=True)
class Up:
    """A new process serves; the logs as it recovered them."""

    logs: dict[Partition, LogState]


Event = (
    Sent
    | Acknowledged
    | OutOfSequence
    | FetchAsked
    | FetchAnswered
    | Read
    | CommitSent
    | CommitAcknowledged
    | CommitRead
    | Assigned
    | TopicWanted
    | TopicDecided
    | TopicsRead
    | Unanswered
    | Stuck
    | Down
    | Up
)


class Witness(Protocol):
    """Whoever is told what happened."""

    def see(self, event: Event) -> None: ...
