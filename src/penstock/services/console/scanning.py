"""Reading some records of a topic: from where, how many, which; always in bounds, and saying where to go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

from penstock.client.blocking import Client
from penstock.client.metadata import NO_NODE, TopicPartition, TopicView
from penstock.client.offsets import NO_OFFSET, known_edges, list_offsets
from penstock.client.reading import Reader
from penstock.core.records.record import Record
from penstock.services.console.cluster import tell
from penstock.services.console.decoding import Decoder, Shown
from penstock.services.console.filtering import Filter
from penstock.services.console.mistakes import Mistake

SCANNED_MAX: Final = 50_000
SCANNED_BYTES_MAX: Final = 32 << 20
SCAN_SECONDS_MAX: Final = 4.0
PARTITION_BYTES: Final = 262_144
PARTITIONS_PER_POLL: Final = 32
PARTITIONS_MAX: Final = 1_000
BEGINNINGS: Final = ("latest", "earliest", "offset", "time", "positions")


class Wish(NamedTuple):
    """What was asked for. `at` is an offset, a time, or `partition:offset` with commas between."""

    partition: int | None
    begin: str
    at: str
    most: int
    is_filtered: bool = False


class Found(NamedTuple):
    """Some records in the order of their time; `next` is where to go on, empty at the end."""

    records: list[Shown]
    next: str
    scanned: int
    is_cut: bool
    """Whether it ended before it had looked at everything, for want of time or room."""


def scan(client: Client, topic: TopicView, wish: Wish, wanted: Filter, decoder: Decoder) -> Found:
    tell(client, [topic])
    edges = known_edges(client, _places(topic, wish))
    starts = _starts(client, edges, wish)
    ends = {where: edges[where][1] for where in starts}
    search = _Search(wanted, decoder, wish.most, starts, is_newest=wish.begin == "latest")
    open_ones = [where for where, start in starts.items() if start < ends[where]]
    reader = Reader(
        client, {where: starts[where] for where in open_ones}, until=ends, wait_ms=0, partition_bytes=PARTITION_BYTES
    )
    while reader.open and not search.is_done:
        for chunk in reader.poll(only=reader.open[:PARTITIONS_PER_POLL]):
            if not search.take(chunk.where, chunk.records, chunk.next_offset):
                break
    return search.result(ends)


class _Search:
    """What was found so far, and where each partition stands."""

    def __init__(
        self,
        wanted: Filter,
        decoder: Decoder,
        count: int,
        starts: Mapping[TopicPartition, int],
        *,
        is_newest: bool,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wanted, self._decoder, self._count = wanted, decoder, count
        self._is_newest = is_newest
        self._positions = dict(starts)
        self._found: list[Shown] = []
        self._scanned = self._bytes = 0
        self._now = now
        self._until = now() + SCAN_SECONDS_MAX

    @property
    def is_full(self) -> bool:
        """The newest ones are known when all have been looked at."""
        return not self._is_newest and len(self._found) >= self._count

    @property
    def is_spent(self) -> bool:
        return self._scanned >= SCANNED_MAX or self._bytes >= SCANNED_BYTES_MAX or self._now() > self._until

    @property
    def is_done(self) -> bool:
        return self.is_full or self.is_spent

    def take(self, where: TopicPartition, records: list[Record], next_offset: int) -> bool:
        """False where no more are wanted."""
        for record in records:
            if self.is_done:
                return False
            shown = self._decoder.show(where.partition, record)
            self._scanned += 1
            self._bytes += shown.size
            self._positions[where] = record.offset + 1
            if self._wanted(shown.fields):
                self._found.append(shown)
                if self._is_newest and len(self._found) > 2 * self._count:
                    self._found = self._newest()
        self._positions[where] = max(next_offset, self._positions[where])
        return True

    def _newest(self) -> list[Shown]:
        return sorted(self._found, key=_moment)[-self._count :]

    def result(self, ends: Mapping[TopicPartition, int]) -> Found:
        found = self._newest() if self._is_newest else sorted(self._found, key=_moment)
        left = [(where.partition, at) for where, at in self._positions.items()]
        is_left = any(at < ends[where] for where, at in self._positions.items())
        following = ",".join(f"{number}:{at}" for number, at in left) if is_left else ""
        return Found(found, following, self._scanned, self.is_spent and is_left)


def _moment(each: Shown) -> tuple[int, int, int]:
    return each.timestamp, each.partition, each.offset


def _places(topic: TopicView, wish: Wish) -> list[TopicPartition]:
    if wish.partition is not None:
        if wish.partition >= len(topic.partitions):
            raise Mistake(f"{topic.name} has no partition {wish.partition}", topic.numbers)
        return [TopicPartition(topic.name, wish.partition)]
    if len(topic.partitions) > PARTITIONS_MAX:
        raise Mistake(f"{topic.name} has more than {PARTITIONS_MAX} partitions", "choose one of them")
    return [TopicPartition(topic.name, each.number) for each in topic.partitions if each.leader != NO_NODE]


def _starts(client: Client, edges: Mapping[TopicPartition, tuple[int, int]], wish: Wish) -> dict[TopicPartition, int]:
    """Within what is there."""
    match wish.begin:
        case "earliest":
            return {where: first for where, (first, _) in edges.items()}
        case "offset":
            at = _offset(wish.at)
            return {where: min(max(at, first), end) for where, (first, end) in edges.items()}
        case "time":
            found = list_offsets(client, dict.fromkeys(edges, moment_ms(wish.at)))
            return {
                where: end if found[where].offset == NO_OFFSET else found[where].offset
                for where, (_, end) in edges.items()
            }
        case "positions":
            told = _positions(wish.at)
            return {
                where: min(max(told[where.partition], first), end)
                for where, (first, end) in edges.items()
                if where.partition in told
            }
        case _:
            # Among the newest ones there may be none that is wanted.
            span = SCANNED_MAX // max(len(edges), 1) if wish.is_filtered else wish.most
            return {where: max(first, end - span) for where, (first, end) in edges.items()}


def _offset(text: str) -> int:
    if not text.isdecimal() or len(text) > 19:
        raise Mistake(f"{text[:40]!r} is no offset", "an offset is a whole number from 0")
    return int(text)


def _positions(text: str) -> dict[int, int]:
    told = {}
    for each in filter(None, text.split(",")):
        partition, _, offset = each.partition(":")
        told[_offset(partition)] = _offset(offset)
    return told


def moment_ms(text: str) -> int:
    """Milliseconds, or a time as ISO 8601 writes it; without a zone it is UTC."""
    if text.isdecimal() and len(text) < 16:
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Mistake(f"{text[:40]!r} is no time", "such as 2026-01-31T12:00, in UTC, or milliseconds") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
