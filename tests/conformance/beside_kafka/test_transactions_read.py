"""What readers see of a partition in which transactions begin, overlap, and end: at every offset, as both give it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from penstock.core.records.batch import BatchHeader, iterate_headers
from penstock.core.records.build import build_batch
from tests.conformance.beside_kafka.side import NOW_MS_MIN, IdOf, Side, Sides, differences
from tests.conformance.beside_kafka.transacting import Actor

pytestmark = [pytest.mark.java, pytest.mark.slow]

TOPIC = "interleaved"
ACTORS = 4
STEPS = 60
T = 1_000_000
UNCOMMITTED, COMMITTED = 0, 1
FETCH, LIST_OFFSETS = 16, 10
EARLIEST, LATEST, NEWEST_TIME = -2, -1, -3
FIELDS = ("producer_epoch", "base_sequence", "base_offset", "count", "attributes")


class Writer:
    """One producer at one of the sides, in either protocol."""

    def __init__(self, side: Side, number: int) -> None:
        self.actor = Actor(side, f"interleaved-{number}")
        self.actor.begin()
        self.bumps = number % 2 == 0
        self.sequence = 0
        self.is_open = False

    def write(self, at_ms: int, count: int) -> None:
        actor = self.actor
        if not self.is_open and not self.bumps:
            one = {"name": TOPIC, "partitions": [0]}
            identity = {f"v3_and_below_{name}": value for name, value in actor.identity([]).items()}
            actor.side.ask_raw("AddPartitionsToTxn", 3, **identity, v3_and_below_topics=[one])
        batch = build_batch(
            [(b"k", b"value", (), at_ms + each) for each in range(count)],
            producer_id=actor.id,
            producer_epoch=actor.epoch,
            base_sequence=self.sequence,
            transactional=True,
        )
        assert append(actor.side, batch, actor.name, 12 if self.bumps else 11) == 0
        self.sequence += count
        self.is_open = True

    def end(self, word: str) -> None:
        self.actor.end(word, 5 if self.bumps else 4)
        self.actor.settle("CompleteCommit" if word == "commit" else "CompleteAbort")
        self.is_open = False
        if self.bumps:
            self.sequence = 0


def append(side: Side, batch: bytes | bytearray, name: str | None, version: int) -> int:
    topic = {"name": TOPIC, "topic_id": IdOf(TOPIC), "partition_data": [{"index": 0, "records": bytes(batch)}]}
    answer = side.ask_raw(
        "Produce", version, transactional_id=name, acks=-1, timeout_ms=5_000, topic_data=[topic]
    ).message
    return int(answer.responses[0].partition_responses[0].error_code)


def play(side: Side) -> None:
    """The same history at each side; some of its transactions are never ended."""
    chance = random.Random(27)
    writers = [Writer(side, number) for number in range(ACTORS)]
    for step in range(STEPS):
        writer, at_ms = chance.choice(writers), T + 100 * step
        kind = chance.random()
        if kind < 0.15:
            assert append(side, build_batch([(b"k", b"plain", (), at_ms)]), None, 11) == 0
        elif kind < 0.6 or not writer.is_open:
            writer.write(at_ms, chance.randint(1, 3))
        else:
            writer.end("commit" if kind < 0.8 else "abort")
    writers[0].write(T + 100 * STEPS, 2)
    for each in writers[1:]:
        if each.is_open:
            each.end("abort")


@pytest.fixture(scope="module")
def played(transacting: Sides) -> Sides:
    transacting.create(TOPIC)
    for side in (transacting.kafka, transacting.ours):
        play(side)
    return transacting


class Fetched(NamedTuple):
    """One answer: where the log ends for whom, the ranges of aborted transactions, the batches."""

    ends: tuple[int, ...]
    aborted: list[tuple[int, int]]
    batches: list[BatchHeader]

    def facts(self, count: int) -> Any:
        """What is said of the first batches, in facts that do not depend on whose ids and clock they are."""
        shown = self.batches[:count]
        end = shown[-1].base_offset + shown[-1].last_offset_delta + 1 if shown else 0
        names: dict[int, int] = {}
        batches = [
            (names.setdefault(each.producer_id, len(names)), *(getattr(each, field) for field in FIELDS))
            for each in shown
        ]
        # Kafka may name some that begin behind what it gives.
        aborted = [(first, names.get(producer)) for first, producer in self.aborted if first < end]
        return self.ends, batches, aborted


def fetched(side: Side, offset: int, isolation: int, bytes_max: int) -> Fetched:
    row = {"partition": 0, "fetch_offset": offset, "current_leader_epoch": -1, "partition_max_bytes": bytes_max}
    row |= {"last_fetched_epoch": -1, "log_start_offset": -1}
    (topic,) = side.ask_raw(
        "Fetch",
        FETCH,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=bytes_max,
        isolation_level=isolation,
        session_epoch=-1,
        topics=[{"topic": TOPIC, "topic_id": IdOf(TOPIC), "partitions": [row]}],
    ).message.responses
    (found,) = topic.partitions
    return Fetched(
        (found.error_code, found.high_watermark, found.last_stable_offset, found.log_start_offset),
        sorted((each.first_offset, each.producer_id) for each in found.aborted_transactions or ()),
        [header for _, header in iterate_headers(found.records or b"", partial_tail=True)],
    )


def same_records(sides: Sides, offset: int, isolation: int, bytes_max: int) -> None:
    """As far as both answers go: either may end early, where its index says so."""
    expected, found = (fetched(side, offset, isolation, bytes_max) for side in (sides.kafka, sides.ours))
    common = min(len(expected.batches), len(found.batches))
    assert common or not (expected.batches or found.batches)
    assert not list(differences(expected.facts(common), found.facts(common))), (offset, isolation, bytes_max)


def offset_of(side: Side, timestamp: int, isolation: int) -> Any:
    row = {"partition_index": 0, "timestamp": timestamp, "current_leader_epoch": -1}
    topics = [{"name": TOPIC, "partitions": [row]}]
    (topic,) = side.ask_raw(
        "ListOffsets", LIST_OFFSETS, replica_id=-1, isolation_level=isolation, topics=topics
    ).message.topics
    (found,) = topic.partitions
    # Markers have the time of the clock.
    return found.error_code, found.offset, min(found.timestamp, NOW_MS_MIN)


def same(sides: Sides, work: Callable[[Side], Any]) -> Any:
    expected, found = work(sides.kafka), work(sides.ours)
    assert not list(differences(expected, found)), (expected, found)
    return found


def everything_is_the_same(sides: Sides, first: int) -> None:
    end = same(sides, lambda side: offset_of(side, LATEST, UNCOMMITTED))[1]
    for offset in range(max(0, first - 2), end + 2):
        for isolation in (UNCOMMITTED, COMMITTED):
            for bytes_max in (1, 300, 1 << 20):
                same_records(sides, offset, isolation, bytes_max)
    # Of a time before records that were deleted Kafka says that there is nothing at or after it.
    oldest = offset_of(sides.ours, 0, UNCOMMITTED)[2]
    for isolation in (UNCOMMITTED, COMMITTED):
        for timestamp in (EARLIEST, LATEST, *range(oldest, T + 100 * STEPS, 350)):
            same(sides, lambda side: offset_of(side, timestamp, isolation))  # noqa: B023  # asked at once
    same(sides, lambda side: offset_of(side, NEWEST_TIME, COMMITTED))


def test_at_every_offset(played: Sides) -> None:
    stable, end = (offset_of(played.ours, LATEST, isolation)[1] for isolation in (COMMITTED, UNCOMMITTED))
    assert 0 < stable < end
    assert len(fetched(played.ours, stable // 2, COMMITTED, 1 << 20).aborted) > 3
    everything_is_the_same(played, 0)


def test_behind_records_that_were_deleted(played: Sides) -> None:
    """In the middle of an aborted transaction: its range is still named to whoever reads the rest."""
    stable = offset_of(played.ours, LATEST, COMMITTED)[1]
    start = fetched(played.ours, stable // 2, COMMITTED, 1 << 20).aborted[1][0] + 1
    delete_to(played, start)
    everything_is_the_same(played, start)


def test_behind_the_beginning_of_what_is_open(played: Sides) -> None:
    """What is open holds readers of committed records up where the log begins now; then it ends."""
    stable = offset_of(played.ours, LATEST, COMMITTED)[1]
    delete_to(played, stable + 1)
    everything_is_the_same(played, stable + 1)
    for side in (played.kafka, played.ours):
        actor = Actor(side, f"{TOPIC}-0")
        actor.begin()
    everything_is_the_same(played, stable + 1)
    stable, end = (offset_of(played.ours, LATEST, isolation)[1] for isolation in (COMMITTED, UNCOMMITTED))
    assert stable == end


def delete_to(sides: Sides, start: int) -> None:
    row = {"partition_index": 0, "offset": start}
    for side in (sides.kafka, sides.ours):
        (topic,) = side.ask_raw(
            "DeleteRecords", 2, topics=[{"name": TOPIC, "partitions": [row]}], timeout_ms=5_000
        ).message.topics
        assert topic.partitions[0].low_watermark == start
