"""What a batch hands to the tasks of its plan, and what they tell of it.

The plan of a query is made once, and decoding is a part of it; what changes from batch to batch travels as a property
of Spark's jobs, and comes back in an accumulator. Its entries may come twice, where a task was tried again: the last
one of each task is the one whose transaction is still open.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.accumulators import Accumulator, AccumulatorParam

from penstock.core.delivery.exactly_once.driver import Begun
from penstock.core.delivery.exactly_once.values import Part

if TYPE_CHECKING:
    from pyspark import SparkContext

PROPERTY: Final = "penstock.pipeline.handed"


class Read(NamedTuple):
    """What one task has read of one partition, and how many of it became dead letters."""

    topic: str
    partition: int
    first: int
    end: int
    records: int
    dead_letters: int


@dataclass(frozen=True)
class Decoded:
    """What a decoding task tells when it is done."""

    source: int
    task: str
    batch: int
    reads: tuple[Read, ...]
    part: Part | None


class _Telling(AccumulatorParam[list[Any]]):
    def zero(self, value: list[Any]) -> list[Any]:
        return []

    def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:
        value1 += value2
        return value1


class Ledger:
    """The driver's side, for one query."""

    def __init__(self) -> None:
        self._told: Accumulator[list[Any]] | None = None

    def teller(self, context: SparkContext) -> Accumulator[list[Any]]:
        if self._told is None:
            self._told = context.accumulator([], _Telling())
        return self._told

    def forget(self) -> None:
        if self._told is not None:
            self._told.value = []

    def decoded(self, batch: int) -> list[Decoded]:
        """The last word of each task about a batch."""
        told: list[Decoded] = [] if self._told is None else list(self._told.value)
        return list({(each.source, each.task): each for each in told if each.batch == batch}.values())


class Handed(NamedTuple):
    """For the tasks that decode: the number of the batch, and by source under which name its dead letters are written,
    and which tasks have none to write, because theirs count already."""

    batch: int
    queries: dict[int, str]
    done: dict[int, bool]
    lost: dict[int, list[str]]

    def is_written(self, source: int, task: str) -> bool:
        return self.done[source] and task not in self.lost[source]


def hand(context: SparkContext, batch: int, begun: Iterable[tuple[int, Begun]]) -> None:
    """Let the jobs of this thread know."""
    known = dict(begun)
    handed = Handed(
        batch,
        {source: each.query for source, each in known.items()},
        {source: each.newest is not None and each.newest.batch >= batch for source, each in known.items()},
        {source: sorted(each.lost) for source, each in known.items()},
    )
    context.setLocalProperty(PROPERTY, json.dumps(handed))


def handed(text: str | None) -> Handed | None:
    """As a task finds it; None outside of a batch that is exactly once."""
    if not text:
        return None
    batch, *by_source = json.loads(text)
    queries, done, lost = ({int(source): value for source, value in each.items()} for each in by_source)
    return Handed(batch, queries, done, lost)
