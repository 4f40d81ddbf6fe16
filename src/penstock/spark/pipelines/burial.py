"""Dead letters under the commit of their batch: written in a transaction of the task that could not read the records.

The letters of a partition are what they are, whoever decodes it, so of several attempts any one will do; the driver
takes the last, and aborts the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from penstock.client.blocking import Client
from penstock.client.exactly_once.performing import Performer
from penstock.client.producing import Delivered
from penstock.client.transactional import TransactionalProducer
from penstock.core.delivery.exactly_once.asks import End, Introduce
from penstock.core.delivery.exactly_once.ids import task_id
from penstock.core.delivery.exactly_once.values import Part, Place, Producer
from penstock.spark.pipelines.deadletters import send
from penstock.spark.pipelines.handing import Read

if TYPE_CHECKING:
    from penstock.spark.pipelines.decoding import DeadLetter

LETTERS: Final = "d"
"""What the numbers of such tasks begin with: `d0.3` is the third task of the first source."""


def letters_task(source: int, partition: int) -> str:
    return f"{LETTERS}{source}.{partition}"


@dataclass
class Burial:
    """The dead letters of one task. Nothing is opened before the first."""

    client: Client
    performer: Performer
    query: str
    task: str
    attempt: int
    pipeline: str
    topics: Mapping[str, str]
    is_written: bool
    """Whether they count already, from the first time that the batch was done."""
    _producer: TransactionalProducer | None = None
    _who: Producer | None = None
    _places: list[Place] = field(default_factory=list)
    letters: int = 0
    _checksum: int = 0

    @property
    def _name(self) -> str:
        return task_id(self.query, self.task, self.attempt)

    def __call__(self, letters: Sequence[DeadLetter]) -> None:
        self.letters += len(letters)
        if self.is_written:
            return
        self._checksum += sum(1 + letter.record.offset for letter in letters)
        send(self.client, self._opened(), letters, self.pipeline, self.topics)

    def done(self) -> Part | None:
        """All of them are acknowledged; their transaction is the driver's."""
        if self._producer is None or self._who is None:
            return None
        self._producer.flush()
        return Part(self.task, self._name, self._who, self.letters, self._checksum, self._places[0])

    def abort(self) -> None:
        if self._who is not None:
            self.performer.perform(End(self._name, self._who, committed=False))

    def _opened(self) -> TransactionalProducer:
        if self._producer is None:
            self._who = self.performer.perform(Introduce(self._name))
            assert self._who is not None, "a producer is what is answered"
            self._producer = TransactionalProducer(self.client, self._name, on_delivery=self._delivered)
            self._producer.adopt(self._who.id, self._who.epoch)
        return self._producer

    def _delivered(self, batch: Delivered) -> None:
        self._places.append(Place(batch.where.topic, batch.where.partition, batch.offset))


class Reading:
    """Counts what passes, by partition: a batch of a task is a range of one, or of several one behind the other."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, int], list[int]] = {}

    def watched(self, batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            if batch.num_rows:
                self._count(batch)
            yield batch

    def reads(self, letters: Mapping[tuple[str, int], int]) -> tuple[Read, ...]:
        return tuple(
            Read(*where, first, end, records, letters.get(where, 0))
            for where, (first, end, records) in self._seen.items()
        )

    def _count(self, batch: Any) -> None:
        topic, partition = batch.column("topic")[0].as_py(), batch.column("partition")[0].as_py()
        first, last = batch.column("offset")[0].as_py(), batch.column("offset")[batch.num_rows - 1].as_py()
        seen = self._seen.setdefault((topic, partition), [first, last + 1, 0])
        seen[1] = last + 1
        seen[2] += batch.num_rows
