"""The exactly-once sink as Spark sees it. The protocol is in `core.delivery.exactly_once`; here it meets Spark's steps.

Spark makes a writer on the driver, ships it to the tasks, and makes or unpickles another one in a new process for the
commit. So a batch begins when its writer is shipped, and what the commit has to know comes with what the tasks tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from penstock.core.base.errors import PenstockError
from penstock.core.delivery.exactly_once import driver
from penstock.core.delivery.exactly_once.asks import ReadNewest, Steps
from penstock.core.delivery.exactly_once.driver import Begun
from penstock.core.delivery.exactly_once.failures import SinkFailure
from penstock.core.delivery.exactly_once.tasks import must_write
from penstock.core.delivery.exactly_once.values import CommitRecord, Part, Producer
from penstock.spark.rows.filling import fill, performer_of
from penstock.spark.rows.identity import Identity
from penstock.spark.rows.links import client_of
from penstock.spark.rows.settings import ClientSettings
from penstock.spark.rows.workers import settle
from penstock.spark.rows.writing import SinkSettings
from penstock.spark.shipping import Shipped

T = TypeVar("T")
BATCH_ID: Final = "streaming.sql.batchId"
QUERY_ID: Final = "sql.streaming.queryId"


@dataclass
class TaskDone(WriterCommitMessage):
    """What a task tells the driver: what it has written, if anything, and for which batch of whom."""

    part: Part | None
    producer: Producer
    lost: frozenset[str]
    batch: int
    owner: str


def perform(settings: ClientSettings, steps: Steps[T]) -> T:
    """Run one of the driver's machines."""
    with client_of(settings) as client:
        return performer_of(client, settings).run(steps)


def begin(settings: ClientSettings, query: str) -> Begun | str:
    """What tasks are handed, or the line that says why there is nothing: they tell it where Spark shows it."""
    try:
        return perform(settings, driver.begin(query))
    except PenstockError as failure:
        return str(failure)


def write_task(
    sink: SinkSettings, identity: Identity, begun: Begun | str, frames: Iterator[pa.RecordBatch]
) -> TaskDone:
    """The work of one task."""
    settle()
    if isinstance(begun, str):
        raise SinkFailure(begun)
    context = TaskContext.get()
    assert context is not None, "a task has a context"
    owner = context.getLocalProperty(QUERY_ID) or ""
    batch, task = _number(identity, begun, context), str(context.partitionId())
    part = None
    if must_write(begun, owner, identity.checkpoint, batch, task):
        with client_of(sink.client) as client:
            part = fill(client, sink, begun.query, task, context.attemptNumber(), frames)
    return TaskDone(part, begun.producer, begun.lost, batch, owner)


def _number(identity: Identity, begun: Begun, context: TaskContext) -> int:
    if identity.batch is not None:
        return identity.batch
    number = context.getLocalProperty(BATCH_ID)
    if number is not None:
        return int(number)
    return 0 if begun.newest is None else begun.newest.batch + 1


def commit(settings: ClientSettings, identity: Identity, messages: Sequence[WriterCommitMessage | None]) -> None:
    told = _told(messages)
    if not told:
        # Nobody had anything to do: Spark keeps count of such batches by itself.
        return
    one = told[0]
    parts = tuple(each.part for each in told if each.part is not None)
    if parts or one.lost:
        record = CommitRecord(identity.query, one.owner, identity.checkpoint, one.batch, len(messages), parts)
        perform(settings, _committing(identity.query, one, record))


def _committing(query: str, one: TaskDone, record: CommitRecord) -> Steps[None]:
    newest: CommitRecord | None = yield ReadNewest(query)
    yield from driver.commit(Begun(query, one.producer, newest, one.lost), record)


def abort(settings: ClientSettings, identity: Identity, messages: Sequence[WriterCommitMessage | None]) -> None:
    """Without a message nobody knows who was driver; the next batch begins by clearing up."""
    told = _told(messages)
    if told:
        perform(settings, driver.abort(identity.query, told[0].producer))


def _told(messages: Sequence[WriterCommitMessage | None]) -> list[TaskDone]:
    return [each for each in messages if isinstance(each, TaskDone)]


class _Writer(Shipped):
    """What both sinks have in common."""

    def __init__(self, sink: SinkSettings, identity: Identity, begun: Begun | str | None = None) -> None:
        self._sink = sink
        self._identity = identity
        self._begun = begun

    def shipped_arguments(self) -> tuple[SinkSettings, Identity, Begun | str]:
        if self._begun is None:
            self._begun = begin(self._sink.client, self._identity.query)
        return self._sink, self._identity, self._begun

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        assert self._begun is not None, "a writer is shipped before it writes"
        return write_task(self._sink, self._identity, self._begun, iterator)


class ExactlyOnceStreamWriter(_Writer, DataSourceStreamArrowWriter):
    """The sink of a streaming query."""

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        commit(self._sink.client, self._identity, messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        abort(self._sink.client, self._identity, messages)


class ExactlyOnceWriter(_Writer, DataSourceArrowWriter):
    """The sink of a batch query: all of it or nothing, and with a batchId once, however often it is run."""

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        commit(self._sink.client, self._identity, messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        if isinstance(self._begun, Begun):
            perform(self._sink.client, driver.abort(self._identity.query, self._begun.producer))
