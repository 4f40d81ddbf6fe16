"""What pipelines say they have read and written, held against what is there. By the headers of batches.

Each exactly-once pipeline keeps its sums in its commit record: for each partition the range it has read, the records
and the dead letters among them, and for each topic the rows it has written. So nothing has to be declared, and records
that are there count as a read_committed reader sees them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from penstock.client.admin import TOPIC, Admin
from penstock.client.audit.findings import Sum
from penstock.client.batches import AbortedFilter
from penstock.client.blocking import Client
from penstock.client.dead_letters import Choice, letters, spans
from penstock.client.errors import ClientError
from penstock.client.exactly_once.commit_topic import COMMIT_TOPIC
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import EARLIEST, LATEST, READ_COMMITTED, edges, list_offsets
from penstock.client.ranges import RangeReader
from penstock.client.reading import Reader
from penstock.core.base.errors import ErrorCode
from penstock.core.delivery.dead_letter import SUFFIX
from penstock.core.delivery.exactly_once.values import decoded
from penstock.core.records.record import iterate

FETCH_BYTES: Final = 4 * 1_048_576
TRIES: Final = 5
ROUTED: Final = "*"
"""The rows of sinks whose rows name their topics."""


class Read(NamedTuple):
    """What a pipeline has read of one partition."""

    where: TopicPartition
    first: int
    end: int
    records: int
    dead_letters: int


class Told(NamedTuple):
    """What a pipeline says it has done."""

    pipeline: str
    read: tuple[Read, ...]
    written: Mapping[str, int]


def told_by_pipelines(client: Client) -> dict[str, Told]:
    """The newest commit record of each, by name."""
    if not _exists(client, COMMIT_TOPIC):
        return {}
    places = [TopicPartition(COMMIT_TOPIC, one.number) for one in client.topic(COMMIT_TOPIC).partitions]
    first = {where: found.offset for where, found in list_offsets(client, dict.fromkeys(places, EARLIEST)).items()}
    found: dict[str, Told] = {}
    for chunk in Reader(client, first, until=_stable_ends(client, places), isolation=READ_COMMITTED):
        for record in chunk.records:
            name = bytes(record.key or b"").decode("utf-8", "replace")
            if record.value is None:
                found.pop(name, None)
                continue
            told = told_of(name, decoded(bytes(record.value)).facts)
            if told is not None:
                found[name] = told
    return found


def told_of(name: str, facts: str) -> Told | None:
    """None: whoever wrote this record, a query without counts, says nothing of what it did."""
    if not facts:
        return None
    told: dict[str, Any] = json.loads(facts)
    reads = []
    for key, known in sorted(told.get("read", {}).items()):
        topic, _, partition = key.partition(":")[2].rpartition(":")
        reads.append(Read(TopicPartition(topic, int(partition)), **known))
    return Told(name, tuple(reads), told.get("written", {}))


def sums(client: Client) -> list[Sum]:
    """What adds up, and what does not. Pipelines that write meanwhile are asked again, until they did not."""
    told = told_by_pipelines(client)
    for _ in range(TRIES):
        found = [*_inputs(client, told), *_letters(client, told), *_outputs(client, told)]
        now = told_by_pipelines(client)
        if all(one.adds_up for one in found) or now == told:
            return found
        told = now
    # Whoever goes on all the time is counted when he rests.
    return [one if one.adds_up else one._replace(found=None, note="it writes all the time") for one in found]


def _inputs(client: Client, told: Mapping[str, Told]) -> Iterator[Sum]:
    for name, those in told.items():
        for read in those.read:
            shown = f"{read.where} [{read.first}, {read.end})"
            if not _exists(client, read.where.topic):
                yield Sum(name, "in", shown, read.records, None, "the topic is in another cluster, or gone")
                continue
            first, end = edges(client, [read.where])[read.where]
            if first > read.first:
                yield Sum(name, "in", shown, read.records, None, "the first of them have expired")
            elif _is_compacted(client, read.where.topic):
                yield Sum(name, "in", shown, read.records, None, "compacted: older records of a key go away")
            else:
                found = committed_records(client, read.where, read.first, min(read.end, end))
                yield Sum(name, "in", shown, read.records, found)


def _letters(client: Client, told: Mapping[str, Told]) -> Iterator[Sum]:
    """By the headers of each letter, which say who gave it up, and where it was: letters are few."""
    origins: Counter[tuple[str, str]] = Counter()
    expired = set()
    for topic in (each.name for each in client.topics() if each.name.endswith(SUFFIX)):
        limits = spans(client, topic)
        expired |= {topic} if any(first for first, _ in limits.values()) else set()
        for found in letters(client, Choice(), limits):
            if found.letter is not None:
                origins[found.letter.reader, found.letter.topic] += 1
    for name, those in told.items():
        wanted: Counter[str] = Counter()
        for read in those.read:
            wanted[read.where.topic] += read.dead_letters
        for topic, count in wanted.items():
            there = origins[f"pipeline={name}", topic]
            if expired and there < count:
                yield Sum(
                    name, "dead letters", topic, count, None, f"of {', '.join(sorted(expired))} some have expired"
                )
            elif count or there:
                yield Sum(name, "dead letters", topic, count, there)


def _outputs(client: Client, told: Mapping[str, Told]) -> Iterator[Sum]:
    """A topic into which several write has the sum of them all."""
    wanted: Counter[str] = Counter()
    writers: dict[str, list[str]] = {}
    routed = [name for name, those in told.items() if those.written.get(ROUTED)]
    for name, those in told.items():
        for topic, rows in those.written.items():
            if ":" not in topic and topic != ROUTED:
                wanted[topic] += rows
                writers.setdefault(topic, []).append(name)
    for topic, rows in sorted(wanted.items()):
        who = ", ".join(writers[topic])
        if (why := _uncountable(client, topic)) is not None:
            yield Sum(who, "out", topic, rows, None, why)
            continue
        limits = spans(client, topic)
        there = sum(committed_records(client, where, first, end) for where, (first, end) in limits.items())
        if there < rows and any(limits[where][1] < end for where, (_, end) in edges(client, limits).items()):
            yield Sum(who, "out", topic, rows, None, "a transaction is open; `penstock txn list` says whose")
        elif there > rows and routed:
            yield Sum(who, "out", topic, rows, None, f"{', '.join(routed)} may write there, too")
        else:
            note = "rows are doubled, or somebody else writes there, too" if there > rows else ""
            yield Sum(who, "out", topic, rows, there, note)


def committed_records(client: Client, where: TopicPartition, first: int, end: int) -> int:
    """How many records a read_committed reader sees. Only a batch that reaches over an edge is looked into."""
    found = 0
    reader = RangeReader(
        client, where, first, end, isolation=READ_COMMITTED, fetch_bytes=FETCH_BYTES, stall_seconds_max=client.timeout
    )
    for fetched in reader:
        hidden = AbortedFilter(fetched.aborted)
        for at, header in fetched.batches:
            if hidden.hides(fetched.blob, at, header):
                continue
            if first <= header.base_offset and header.next_offset <= end:
                found += header.count
            else:
                found += sum(first <= record.offset < end for record in iterate(fetched.blob, at))
    return found


def _uncountable(client: Client, topic: str) -> str | None:
    if not _exists(client, topic):
        return "it is in another cluster, or gone"
    if _is_compacted(client, topic):
        return "compacted: older rows of a key go away"
    return "the first of them have expired" if any(first for first, _ in spans(client, topic).values()) else None


def _is_compacted(client: Client, topic: str) -> bool:
    return any(
        "compact" in (one.value or "") for one in Admin(client).describe_configs(TOPIC, topic, ["cleanup.policy"])
    )


def _exists(client: Client, topic: str) -> bool:
    try:
        client.topic(topic)
    except ClientError as failure:
        if failure.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        return False
    return True


def _stable_ends(client: Client, places: list[TopicPartition]) -> dict[TopicPartition, int]:
    found = list_offsets(client, dict.fromkeys(places, LATEST), READ_COMMITTED)
    return {where: each.offset for where, each in found.items()}
