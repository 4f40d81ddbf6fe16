"""What producers were told, and what must follow from that of what is stored in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from penstock.sim.events import Event, Unanswered
from penstock.sim.invariants.base import Violation
from penstock.sim.scheduler import Scheduler
from penstock.sim.trace import Trace


class Fit(Enum):
    """Whether a record fits a schema of its topic: always, never, or now and then."""

    YES = "yes"
    NO = "no"
    MAYBE = "maybe"


class Value(NamedTuple):
    """One record's value, which no other record has."""

    data: bytes
    fit: Fit


@dataclass(slots=True)
class Batch:
    """What one producer wants in a partition at one time."""

    producer: str
    number: int
    partition: int
    values: tuple[Value, ...]
    base_offset: int | None = None
    is_refused: bool = False


class Letter(NamedTuple):
    """Where a dead letter's record would stand."""

    partition: int
    offset: int
    data: bytes


@dataclass(slots=True)
class Ledger:
    """Everything that was sent, and what was said of it."""

    scheduler: Scheduler
    trace: Trace
    diverts: bool = False
    batches: list[Batch] = field(default_factory=list)

    def see(self, event: Event) -> None:
        """Other events are of no account here, but for somebody who is left waiting."""
        if isinstance(event, Unanswered) and not event.excused:
            raise Violation(f"{event.client} was not answered: {event.request}")

    def note(self, what: str, detail: str = "") -> None:
        self.trace.note(self.scheduler.now_us, what, detail)

    def judge(self, stored: Mapping[int, Mapping[int, bytes]], letters: Sequence[Letter]) -> None:
        """Hold it against the partitions, and the dead letters."""
        fits = {value.data: value.fit for batch in self.batches for value in batch.values}
        for held in stored.values():
            for data in held.values():
                if fits.get(data) is not Fit.MAYBE and fits.get(data) is not Fit.YES:
                    raise Violation(f"{data!r} fits nothing and can be read")
        lettered = set(letters)
        for batch in self.batches:
            if batch.is_refused:
                self._judge_refused(batch, stored[batch.partition])
            elif batch.base_offset is not None:
                self._judge_taken(batch, batch.base_offset, stored[batch.partition], lettered)
        self._judge_order(stored)

    def _judge_refused(self, batch: Batch, held: Mapping[int, bytes]) -> None:
        if all(value.fit is Fit.YES for value in batch.values):
            raise Violation(f"{batch.values[0].data!r} was refused and fits")
        readable = set(held.values())
        for value in batch.values:
            if value.data in readable:
                raise Violation(f"{value.data!r} was refused and can be read")

    def _judge_taken(self, batch: Batch, base_offset: int, held: Mapping[int, bytes], letters: set[Letter]) -> None:
        for offset, value in enumerate(batch.values, base_offset):
            is_stored = held.get(offset) == value.data
            is_lettered = Letter(batch.partition, offset, value.data) in letters
            if value.fit is Fit.YES and not is_stored:
                raise Violation(f"{value.data!r} was acknowledged at {offset} and is not there")
            if not is_stored and not (self.diverts and is_lettered):
                raise Violation(f"{value.data!r} was acknowledged at {offset} and is nowhere")

    def _judge_order(self, stored: Mapping[int, Mapping[int, bytes]]) -> None:
        """Each producer is idempotent: what is stored of it is in order, and there once."""
        for partition, held in stored.items():
            found = [held[offset] for offset in sorted(held)]
            twice = [data for data, times in Counter(found).items() if times > 1]
            if twice:
                raise Violation(f"{twice[0]!r} is twice in partition {partition}")
            places = {data: place for place, data in enumerate(found)}
            last: dict[str, int] = {}
            for batch in self.batches:
                for value in batch.values:
                    place = places.get(value.data)
                    if batch.partition != partition or place is None:
                        continue
                    if place < last.get(batch.producer, -1):
                        raise Violation(f"{value.data!r} is before what was sent before it")
                    last[batch.producer] = place
