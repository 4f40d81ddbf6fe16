"""What happens to transactions, as those who write, read and lead tell it."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.sim.place import Partition

Records = tuple[tuple[int, bytes], ...]
"""(offset, value)"""


@dataclass(frozen=True, slots=True)
class Introducing:
    """A program asks to be the one who writes under a transactional id: whoever was it before is over."""

    transactional_id: str


@dataclass(frozen=True, slots=True)
class Introduced:
    """It was answered. A question that never is may still arrive at any later time."""

    transactional_id: str


@dataclass(frozen=True, slots=True)
class Opened:
    """A program begins a transaction; `label` is in each of its values and beside each of its offsets."""

    label: str
    transactional_id: str
    timeout_ms: int
    is_shared: bool
    """Whether another program goes under the same transactional id, and may come at any time."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A leader has acknowledged a batch."""

    label: str
    partition: Partition
    values: tuple[bytes, ...] = field(repr=False)
    base_offset: int


@dataclass(frozen=True, slots=True)
class Brought:
    """A coordinator has acknowledged how far a group has read, as a part of the transaction."""

    label: str
    group: str
    partition: Partition
    offset: int
    next_offset: int


@dataclass(frozen=True, slots=True)
class Ending:
    """A program asks for the end of its transaction, for the first time or again."""

    label: str
    committed: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """That was acknowledged."""

    label: str
    committed: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """What a read_committed reader was given from a position on: what counts, and what it passes over because the
    answer names it as aborted. `stable_end` is how far everything is decided, as the answer says."""

    reader: str
    partition: Partition
    position: int
    next_offset: int
    visible: Records = field(repr=False)
    hidden: Records = field(repr=False)
    stable_end: int

    def __str__(self) -> str:
        shown = f"{len(self.visible)} visible, {len(self.hidden)} hidden"
        return f"Seen({self.reader}, {self.partition}, {self.position} to {self.next_offset}: {shown})"


@dataclass(frozen=True, slots=True)
class SeenDamaged:
    """A read_committed reader was given a batch by a machine that does not match its checksum."""

    reader: str
    partition: Partition
    machine: int


@dataclass(frozen=True, slots=True)
class StableAsked:
    """A program asks how far its group has read, and wants no answer while that is open."""

    client: str
    group: str
    partition: Partition


@dataclass(frozen=True, slots=True)
class StableTold:
    """The answer, with the label of the transaction that it is from (-1, and none: nothing was ever committed)."""

    client: str
    group: str
    partition: Partition
    offset: int
    label: str


@dataclass(frozen=True, slots=True)
class StableEnd:
    """How far a leader takes everything in its partition for decided."""

    partition: Partition
    machine: int
    offset: int


@dataclass(frozen=True, slots=True)
class Hanging:
    """A partition in which a transaction has been open for long, though nothing disturbs anybody any more."""

    partition: Partition
    stable_end: int
    high_watermark: int


@dataclass(frozen=True, slots=True)
class ChainRead:
    """All that counts in a topic of a chain when all is quiet, and what its programs had to read."""

    topic: str
    group: str
    inputs: tuple[str, ...] = field(repr=False)
    outputs: tuple[str, ...] = field(repr=False)


TransactionEvent = (
    Introducing
    | Introduced
    | Opened
    | Taken
    | Brought
    | Ending
    | Ended
    | Seen
    | SeenDamaged
    | StableAsked
    | StableTold
    | StableEnd
    | Hanging
    | ChainRead
)
