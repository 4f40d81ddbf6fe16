"""Do the counts of a pipeline add up with what is in the topics? By offsets, as a read_committed reader sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.client.admin import TOPIC, Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.exactly_once.commit_topic import CommitTopic
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import EARLIEST, LATEST, READ_COMMITTED, edges, list_offsets
from penstock.client.reading import Reader
from penstock.core.base.errors import ErrorCode
from penstock.core.delivery.dead_letter import PREFIX
from penstock.core.delivery.exactly_once.values import CommitRecord
from penstock.core.records.record import Record
from penstock.spark.pipelines.cluster import TIMEOUT_S, Cluster, cluster_of
from penstock.spark.pipelines.counting import Counts, Range, counts_of, letters_of
from penstock.spark.pipelines.declaration import Pipeline, TopicSink, TopicSource

CLIENT_ID: Final = "penstock-verify"
COMMITTED: Final = "read_committed"
_ISOLATION: Final = frozenset({"isolation.level", "kafka.isolation.level"})


@dataclass(frozen=True)
class Finding:
    """One line: what the pipeline says it did, what is there, and what to know of it. None: it cannot be counted."""

    what: str
    where: str
    told: int
    found: int | None
    note: str = ""

    @property
    def adds_up(self) -> bool:
        return self.found is None or self.found == self.told


def newest_record(client: Client, name: str) -> CommitRecord:
    try:
        record = CommitTopic(client).newest(name)
    except ClientError as failure:
        if failure.code != ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise
        raise ClientError(str(failure), code=failure.code, hint="verify reads the topic _penstock_commits") from None
    if record is None:
        raise ClientError(
            f"pipeline {name} has committed no batch here",
            hint=f"run it first: penstock pipeline run {name}; one with delivery=at-least-once cannot be verified",
        )
    return record


def findings(pipeline: Pipeline, cluster: Cluster, timeout: float = TIMEOUT_S) -> Iterator[Finding]:
    with cluster.client(CLIENT_ID, timeout) as client:
        counts = counts_of(newest_record(client, pipeline.name).facts)
        for index, source in enumerate(pipeline.sources):
            if source.decode is None:
                yield Finding("in", ",".join(source.topics), 0, None, "records that are not decoded are not counted")
                continue
            with cluster_of(source, cluster).client(CLIENT_ID, timeout) as there:
                yield from _inputs(there, index, counts)
                yield from _letters(there, pipeline, index, source, counts)
        yield from _outputs(client, pipeline, counts)


def _inputs(client: Client, source: int, counts: Counts) -> Iterator[Finding]:
    for where, known in _ranges(source, counts).items():
        first, _ = edges(client, [where])[where]
        if first > known.first:
            yield Finding("in", _text(where, known), known.records, None, "retention has removed the first of them")
            continue
        found = sum(1 for _ in _records(client, {where: (known.first, known.end)}))
        yield Finding("in", _text(where, known), known.records, found)


def _letters(client: Client, pipeline: Pipeline, index: int, source: TopicSource, counts: Counts) -> Iterator[Finding]:
    """Each letter once, and each from an offset that was read."""
    ranges = _ranges(index, counts)
    for topic in sorted({source.dead_letter_topic(each) for each in source.topics}):
        read = {where: known for where, known in ranges.items() if source.dead_letter_topic(where.topic) == topic}
        told = sum(known.dead_letters for known in read.values())
        found = Counter(_origins(client, topic, pipeline.name, read)) if _exists(client, topic) else Counter()
        twice = sum(found.values()) - len(found)
        note = f"{twice} of them are there again" if twice else ""
        yield Finding("dead letters", topic, told, sum(found.values()), note)


def _origins(
    client: Client, topic: str, pipeline: str, read: dict[TopicPartition, Range]
) -> Iterator[tuple[TopicPartition, int]]:
    for record in _records(client, _all_of(client, topic)):
        facts = {key.removeprefix(PREFIX): value for key, value in record.headers if key.startswith(PREFIX)}
        if facts.get("pipeline") != pipeline.encode():
            continue
        where = TopicPartition(_plain(facts.get("topic")), int(_plain(facts.get("partition")) or -1))
        offset = int(_plain(facts.get("offset")) or -1)
        if where in read and read[where].first <= offset < read[where].end:
            yield where, offset


def _outputs(client: Client, pipeline: Pipeline, counts: Counts) -> Iterator[Finding]:
    for sink in pipeline.sinks:
        if not isinstance(sink, TopicSink):
            continue
        if sink.topic is None:
            yield Finding("out", "by the column topic", counts.written.get("*", 0), None, "see the topics")
            continue
        told = counts.written.get(sink.topic, 0)
        if (why := _uncountable(client, sink)) is not None:
            yield Finding("out", sink.topic, told, None, why)
            continue
        found = sum(1 for _ in _records(client, _all_of(client, sink.topic)))
        note = "somebody else writes there, too, or did so before" if found > told else ""
        yield Finding("out", sink.topic, told, found, note)
        if sink.encode is not None:
            told = counts.written.get(letters_of(sink), 0)
            yield Finding("dead letters", sink.dead_letter_topic, told, _unfit(client, pipeline.name, sink))


def _unfit(client: Client, pipeline: str, sink: TopicSink) -> int:
    """How many rows of a sink are among its dead letters."""
    if not _exists(client, sink.dead_letter_topic):
        return 0
    mine = {(f"{PREFIX}pipeline", pipeline.encode()), (f"{PREFIX}sink", (sink.topic or "").encode())}
    return sum(mine <= set(record.headers) for record in _records(client, _all_of(client, sink.dead_letter_topic)))


def _uncountable(client: Client, sink: TopicSink) -> str | None:
    assert sink.topic is not None
    if sink.is_elsewhere:
        return "it is in another cluster"
    if not _exists(client, sink.topic):
        return "it is not there any more"
    policies = Admin(client).describe_configs(TOPIC, sink.topic, ["cleanup.policy"])
    if any("compact" in (one.value or "") for one in policies):
        return "compacted: older rows of a key go away"
    if any(first for first, _ in _all_of(client, sink.topic).values()):
        return "retention has removed the first of them"
    return None


def careless_readers(pipeline: Pipeline, others: Sequence[Pipeline]) -> list[str]:
    """Declared pipelines that read what this one writes, and see what does not count as well."""
    topics = {sink.topic for sink in pipeline.sinks if isinstance(sink, TopicSink)}
    topics |= {source.dead_letter_topic(topic) for source in pipeline.sources for topic in source.topics}
    found = []
    for other in others:
        for source in other.sources:
            levels = {value.lower() for name, value in source.options.items() if name.lower() in _ISOLATION}
            if topics & set(source.topics) and levels - {COMMITTED}:
                read = ", ".join(sorted(topic for topic in source.topics if topic in topics))
                found.append(
                    f"pipeline {other.name} reads {read} uncommitted: it sees rows that do not count; leave "
                    "isolation.level out of its options"
                )
    return found


def _ranges(source: int, counts: Counts) -> dict[TopicPartition, Range]:
    found = {}
    for key, known in sorted(counts.read.items()):
        number, _, where = key.partition(":")
        topic, _, partition = where.rpartition(":")
        if int(number) == source:
            found[TopicPartition(topic, int(partition))] = known
    return found


def _text(where: TopicPartition, known: Range) -> str:
    return f"{where} [{known.first}, {known.end})"


def _exists(client: Client, topic: str) -> bool:
    try:
        client.topic(topic)
    except ClientError as failure:
        if failure.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        return False
    return True


def _all_of(client: Client, topic: str) -> dict[TopicPartition, tuple[int, int]]:
    """Up to where everything is decided: what is open is in no count yet."""
    places = [TopicPartition(topic, one.number) for one in client.topic(topic).partitions]
    first = list_offsets(client, dict.fromkeys(places, EARLIEST))
    stable = list_offsets(client, dict.fromkeys(places, LATEST), READ_COMMITTED)
    return {where: (first[where].offset, stable[where].offset) for where in places}


def _records(client: Client, ranges: dict[TopicPartition, tuple[int, int]]) -> Iterator[Record]:
    first = {where: start for where, (start, _) in ranges.items()}
    until = {where: end for where, (_, end) in ranges.items()}
    for chunk in Reader(client, first, until=until, isolation=READ_COMMITTED):
        yield from chunk.records


def _plain(value: bytes | None) -> str:
    return "" if value is None else bytes(value).decode("utf-8", "replace")
