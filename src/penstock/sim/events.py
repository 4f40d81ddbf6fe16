"""What happened, as clients and the world tell it. The model and the invariants see nothing else.

Events are values in the order in which they became known. An event about a request carries what was known when the
request was sent, because only that can be demanded of its answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from penstock.sim.live_groups.events import LiveGroupEvent
from penstock.sim.place import UNKNOWN as UNKNOWN
from penstock.sim.place import Partition as Partition
from penstock.sim.transactions.events import TransactionEvent


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
    timestamp_ms: int = 0


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
    """A client asked a machine for records from these positions; `limited` where not all of them may fit into the
    answer, `near` where the machine does not lead, and was named by the leader to read from."""

    client: str
    number: int
    positions: dict[Partition, int]
    limited: bool = False
    machine: int = 1
    near: bool = False


@dataclass(frozen=True, slots=True)
class FetchAnswered:
    """The answer to the fetch with that number: what it said of each partition that it mentioned."""

    client: str
    number: int
    parts: tuple[FetchPart, ...]


@dataclass(frozen=True, slots=True)
class FetchPart:
    """One partition in a fetch response; `damaged` where a batch in it does not match its checksum.

    `next_offset` is where the last batch ends: compaction may have taken its last records, or all of them. `read_from`
    is the machine that is to be asked instead.
    """

    partition: Partition
    error: int
    high_watermark: int
    records: tuple[tuple[int, bytes], ...]
    damaged: bool = False
    start_offset: int = UNKNOWN
    next_offset: int = UNKNOWN
    size_bytes: int = 0
    read_from: int = UNKNOWN

    @property
    def goes_on_at(self) -> int | None:
        """Where to fetch next; None where nothing came."""
        if self.next_offset != UNKNOWN:
            return self.next_offset
        return self.records[-1][0] + 1 if self.records else None


@dataclass(frozen=True, slots=True)
class Repositioned:
    """A reader's position was gone, and it went on at another one."""

    client: str
    partition: Partition
    position: int
    next_position: int


@dataclass(frozen=True, slots=True)
class Read:
    """The whole content of a partition, read from its start to its end when all was quiet."""

    partition: Partition
    start_offset: int
    end_offset: int
    records: tuple[tuple[int, bytes], ...]
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class DeleteAsked:
    """Somebody asked for the records below an offset to be deleted; the answer may never come."""

    partition: Partition
    offset: int


@dataclass(frozen=True, slots=True)
class DeleteAnswered:
    """The node has deleted them: the partition begins here now."""

    partition: Partition
    offset: int
    start_offset: int


@dataclass(frozen=True, slots=True)
class CommitSent:
    """A group member asks for a commit."""

    group: str
    partition: Partition
    offset: int


@dataclass(frozen=True, slots=True)
class CommitAcknowledged:
    """The node acknowledged it; its record stands below `shard_end` in the group's shard (None: nobody knows)."""

    group: str
    partition: Partition
    offset: int
    shard: Partition | None = None
    shard_end: int | None = None


@dataclass(frozen=True, slots=True)
class CommitRead:
    """A group's committed offset was read (-1: there is none). `known_when_asked` is the number of the latest commit
    that had to be there when it was asked for (-1: none had to)."""

    group: str
    partition: Partition
    offset: int
    known_when_asked: int


@dataclass(frozen=True, slots=True)
class GroupSaw:
    """A member of a group was given the records from an offset up to another one."""

    group: str
    partition: Partition
    offset: int
    next_offset: int


@dataclass(frozen=True, slots=True)
class EndSeen:
    """A client was told where a partition ends. It asked whoever leads, in no epoch older than it knew of."""

    client: str
    partition: Partition
    offset: int


@dataclass(frozen=True, slots=True)
class Assigned:
    """A member of a group got its partitions for a generation. `member` is its instance id where it has one.

    A cooperative member goes on with what it had while the group rebalances: `kept` is what it told so when it joined.
    """

    group: str
    generation: int
    member: str
    partitions: tuple[Partition, ...]
    is_leader: bool
    is_static: bool = False
    kept: tuple[Partition, ...] = ()


@dataclass(frozen=True, slots=True)
class GhostAnswered:
    """The old process of a static member, whose place another one has taken, asked to be taken for a member."""

    group: str
    instance: str
    error: str


@dataclass(frozen=True, slots=True)
class TopicWanted:
    """A client asked for a topic to be created or deleted; the answer may never come."""

    topic: str
    exists: bool


@dataclass(frozen=True, slots=True)
class TopicDecided:
    """The node acknowledged that the topic exists now, or does not. It has acted on that, unless `is_heard` only: asked
    again, it answered that so it was."""

    topic: str
    exists: bool
    is_heard: bool = False


@dataclass(frozen=True, slots=True)
class TopicsRead:
    """All topics, read when all was quiet."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """An operator asked for something to become so; the answer may never come. Nobody else decides about it."""

    what: str
    value: str


@dataclass(frozen=True, slots=True)
class Lingers:
    """An attempt at something was lost. What a process had sent when it died is sent on by its machine, through a cut
    when that is over: it may become so at any later time, as in Kafka."""

    what: str
    value: str


@dataclass(frozen=True, slots=True)
class Decided:
    """It was acknowledged."""

    what: str
    value: str


@dataclass(frozen=True, slots=True)
class Found:
    """What it is, read when all was quiet."""

    what: str
    value: str


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A request got no answer in time; excused where the world had broken the connection."""

    client: str
    request: str
    excused: bool


@dataclass(frozen=True, slots=True)
class Waited:
    """A fetch was answered after this time, as its client's clock counts; excused where its connection was broken."""

    client: str
    waited_ms: int
    excused: bool


@dataclass(frozen=True, slots=True)
class Attempted:
    """A hostile client sets about something."""

    client: str
    what: str


@dataclass(frozen=True, slots=True)
class Granted:
    """A hostile client got what must be refused to everybody."""

    client: str
    what: str


@dataclass(frozen=True, slots=True)
class Overburdened:
    """A node holds more for its clients than its settings allow."""

    machine: int
    what: str
    amount: int
    amount_max: int


@dataclass(frozen=True, slots=True)
class Rotted:
    """A bit has flipped in a file of a machine."""

    machine: int
    path: str


@dataclass(frozen=True, slots=True)
class Noted:
    """A node has said this to whoever runs it."""

    machine: int
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class ClockSet:
    """A machine's clock is wrong by this much from now on."""

    skew_ms: int
    machine: int = 1


@dataclass(frozen=True, slots=True)
class Discarded:
    """A node is about to delete a folder that holds records; `is_recorded` says whether the metadata tells it to."""

    folder: str
    machine: int
    is_recorded: bool


@dataclass(frozen=True, slots=True)
class Stuck:
    """A client had not finished long after the last fault."""

    client: str


class LogState(NamedTuple):
    """How far a partition's log reaches, how far it promises to survive power loss, its newest snapshot of producers,
    below which only the last batch of each is remembered, and why it takes nothing any more, if so."""

    start_offset: int
    synced_offset: int
    end_offset: int
    snapshot_offset: int = 0
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Down:
    """The process is gone; `lost_power` says whether its machine went with it, `clean` whether it had stopped in good
    order. Promises as of that moment."""

    lost_power: bool
    logs: dict[Partition, LogState]
    clean: bool = False
    machine: int = 1


@dataclass(frozen=True, slots=True)
class Up:
    """A new process serves; the logs as it recovered them."""

    logs: dict[Partition, LogState]
    machine: int = 1


@dataclass(frozen=True, slots=True)
class Leads:
    """A process, the how-many-th of its machine, takes itself for a partition's leader in an epoch."""

    partition: Partition
    epoch: int
    machine: int
    life: int


@dataclass(frozen=True, slots=True)
class Watermark:
    """How far a leader takes its partition for committed."""

    leader: Leads
    offset: int


@dataclass(frozen=True, slots=True)
class Published:
    """A process acts on the metadata up to an offset; `digest` stands for all that is in it."""

    machine: int
    life: int
    offset: int
    digest: str


@dataclass(frozen=True, slots=True)
class Trusts:
    """A process that the newest metadata has fenced, and that has not heard of it, trusts in what it leads."""

    machine: int
    life: int


@dataclass(frozen=True, slots=True)
class InSync:
    """How far those replicas of a partition reach that serve and are in sync, or eligible to lead; and how far their
    leader takes it for committed."""

    partition: Partition
    committed: int
    ends: dict[int, int]


@dataclass(frozen=True, slots=True)
class Stalled:
    """A leader has something to commit, everybody in sync is well, and yet nothing was committed for some time."""

    partition: Partition
    machine: int
    in_sync: tuple[int, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class TakenOffline:
    """A log takes nothing any more, though no sync of its disk has ever failed."""

    partition: Partition
    machine: int
    why: str


@dataclass(frozen=True, slots=True)
class BlamedDisk:
    """A node has ended and says that its disk has failed, though no sync of it ever has."""

    machine: int
    why: str


@dataclass(frozen=True, slots=True)
class Held:
    """What the replicas of a partition hold when all is quiet: bytes by machine. Where retention takes from them, one
    may begin later than another."""

    partition: Partition
    logs: dict[int, bytes]
    forgets: bool = False

    def __str__(self) -> str:
        return f"Held({self.partition}, { ({machine: len(data) for machine, data in self.logs.items()}) })"


Event = (
    Sent
    | Acknowledged
    | OutOfSequence
    | FetchAsked
    | FetchAnswered
    | Repositioned
    | Read
    | DeleteAsked
    | DeleteAnswered
    | CommitSent
    | CommitAcknowledged
    | CommitRead
    | GroupSaw
    | EndSeen
    | Assigned
    | GhostAnswered
    | TopicWanted
    | TopicDecided
    | TopicsRead
    | Wanted
    | Lingers
    | Decided
    | Found
    | Unanswered
    | Waited
    | Attempted
    | Granted
    | Overburdened
    | Rotted
    | Noted
    | ClockSet
    | Discarded
    | Stuck
    | Down
    | Up
    | Leads
    | Watermark
    | Published
    | Trusts
    | InSync
    | Stalled
    | TakenOffline
    | BlamedDisk
    | Held
    | TransactionEvent
    | LiveGroupEvent
)


class Witness(Protocol):
    """Whoever is told what happened."""

    def see(self, event: Event) -> None: ...
