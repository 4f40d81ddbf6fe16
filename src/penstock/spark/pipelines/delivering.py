"""A batch of a pipeline under one commit: the rows of all its topic sinks, its dead letters, and the counts.

The rows are written by tasks that leave their transactions open; the driver, which is here, collects what they tell and
lets all of it count at once. Sinks that are no topics bear a batch twice, and are written before that. Topics in
another cluster have a commit of their own there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from penstock.core.delivery.exactly_once import driver
from penstock.core.delivery.exactly_once.driver import Begun
from penstock.core.delivery.exactly_once.tasks import must_write
from penstock.core.delivery.exactly_once.values import CommitRecord, Part
from penstock.spark.pipelines.cluster import Cluster, cluster_of
from penstock.spark.pipelines.counting import counts_of, letters_of
from penstock.spark.pipelines.declaration import Pipeline, TopicSink
from penstock.spark.pipelines.handing import Ledger, hand
from penstock.spark.pipelines.sinks import topic_option
from penstock.spark.rows.exactly_once import QUERY_ID, perform
from penstock.spark.rows.filling import fill
from penstock.spark.rows.identity import Delivery, delivery_of
from penstock.spark.rows.links import client_of
from penstock.spark.rows.settings import ClientSettings
from penstock.spark.rows.sink import sink_settings
from penstock.spark.rows.workers import settle
from penstock.spark.rows.writing import SinkSettings
from penstock.spark.shipping import Shipped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DIGEST_CHARS: Final = 8
DONE_COLUMN: Final = "done binary"


def is_exactly_once(pipeline: Pipeline) -> bool:
    """Unless a topic sink says otherwise: then the batch has no commit that all could be under."""
    sinks = [sink for sink in pipeline.sinks if isinstance(sink, TopicSink)]
    chosen = [delivery_of({k.lower(): v for k, v in sink.options.items()}, Delivery.EXACTLY_ONCE) for sink in sinks]
    return all(each is Delivery.EXACTLY_ONCE for each in chosen)


class WriteTask(Shipped):
    """What the executors run for one sink."""

    def __init__(
        self,
        sink: SinkSettings,
        begun: Begun,
        owner: str,
        checkpoint: str,
        batch: int,
        number: int,
        dead_letters: str | None,
    ) -> None:
        self._given = sink, begun, owner, checkpoint, batch, number, dead_letters

    def shipped_arguments(self) -> tuple[Any, ...]:
        return self._given

    def __call__(self, frames: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pickle

        sink, begun, owner, checkpoint, batch, number, dead_letters = self._given
        settle()
        context = TaskContext.get()
        assert context is not None, "a task has a context"
        task = f"{context.partitionId()}" if number == 0 else f"s{number}.{context.partitionId()}"
        part, seen = None, RowsOf(dead_letters)
        if must_write(begun, owner, checkpoint, batch, task):
            with client_of(sink.client) as client:
                part = fill(client, sink, begun.query, task, context.attemptNumber(), seen.passing(frames))
        yield pa.record_batch([pa.array([pickle.dumps((part, seen.rows))])], names=["done"])


class RowsOf:
    """Counts rows that go to one topic, among those that name theirs."""

    def __init__(self, topic: str | None) -> None:
        self._topic = topic
        self.rows = 0

    def passing(self, frames: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for frame in frames:
            if self._topic is not None:
                self.rows += pc.sum(pc.equal(frame.column("topic"), self._topic)).as_py() or 0
            yield frame


@dataclass
class _Commit:
    """What one cluster has of a batch."""

    settings: ClientSettings
    begun: Begun
    parts: list[Part] = field(default_factory=list)
    written: Counter[str] = field(default_factory=Counter)
    tasks: int = 0


class Delivering:
    """For one query; batches come one after the other."""

    def __init__(self, pipeline: Pipeline, cluster: Cluster, checkpoint: str, ledger: Ledger) -> None:
        self._pipeline = pipeline
        self._cluster = cluster
        self._checkpoint = checkpoint
        self._ledger = ledger
        self._commits: dict[str, _Commit] = {}
        self._batch = 0
        self._owner = ""

    def batch(self, frame: DataFrame, number: int, write: Callable[[], None]) -> None:
        """Begin, let `write` write to all sinks, commit."""
        context = frame.sparkSession.sparkContext
        self._ledger.forget()
        self._commits, self._batch, self._owner = {}, number, context.getLocalProperty(QUERY_ID) or ""
        try:
            letters = [
                (index, self._commit_in(cluster_of(source, self._cluster)).begun)
                for index, source in enumerate(self._pipeline.sources)
                if source.decode is not None
            ]
            hand(context, number, letters)
            write()
            self._commit(number)
        except BaseException:
            for each in self._commits.values():
                perform(each.settings, driver.abort(each.begun.query, each.begun.producer))
            raise

    def write(self, frame: DataFrame, sink: TopicSink, number: int, batch: int) -> None:
        """The rows of one sink; `number` is its place among the pipeline's."""
        options = topic_option(sink) | self._cluster.merged_with(sink.options)
        settings = sink_settings(_caseless(options), frame.schema)
        commit = self._commit_in(Cluster(settings.client.bootstrap), settings.client)
        letters = None if sink.encode is None else sink.dead_letter_topic
        task = WriteTask(settings, commit.begun, self._owner, self._checkpoint, batch, number, letters)
        for row in frame.mapInArrow(task, DONE_COLUMN).collect():
            part, dead_letters = _told(row)
            commit.tasks += 1
            if part is not None:
                commit.parts.append(part)
                commit.written[sink.topic or "*"] += part.rows - dead_letters
                if sink.encode is not None:
                    commit.written[letters_of(sink)] += dead_letters

    def _commit_in(self, cluster: Cluster, settings: ClientSettings | None = None) -> _Commit:
        key = cluster.bootstrap
        if key not in self._commits:
            settings = settings or ClientSettings.of(cluster.options())
            query = self._pipeline.name
            if key != self._cluster.bootstrap:
                query += f".{sha256(key.encode()).hexdigest()[:DIGEST_CHARS]}"
            begun = perform(settings, driver.begin(query))
            # What keeps the query from going on is told here, before any task.
            must_write(begun, self._owner, self._checkpoint, self._batch, "")
            self._commits[key] = _Commit(settings, begun)
        return self._commits[key]

    def _commit(self, number: int) -> None:
        decoded = self._ledger.decoded(number)
        for source, each in enumerate(self._pipeline.sources):
            commit = self._commits.get(cluster_of(each, self._cluster).bootstrap)
            if commit is not None:
                commit.parts += [one.part for one in decoded if one.source == source and one.part is not None]
        for key, commit in self._commits.items():
            newest = commit.begun.newest
            counts = counts_of("" if newest is None else newest.facts)
            # The counts are in the cluster of the run.
            facts = counts.with_batch(decoded if key == self._cluster.bootstrap else (), commit.written)
            record = CommitRecord(
                commit.begun.query,
                self._owner,
                self._checkpoint,
                number,
                commit.tasks,
                tuple(commit.parts),
                facts=facts.as_json(),
            )
            perform(commit.settings, driver.commit(commit.begun, record))


def _told(row: Any) -> tuple[Part | None, int]:
    """What a task has written, and how much of it are dead letters."""
    import pickle

    told: tuple[Part | None, int] = pickle.loads(row[0])
    return told


def _caseless(options: dict[str, str]) -> Any:
    from pyspark.sql.datasource import CaseInsensitiveDict

    return CaseInsensitiveDict(options)
