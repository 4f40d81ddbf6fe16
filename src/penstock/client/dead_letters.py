"""Topics of dead letters: what is in them, and back with it into the topics that it came from.

A redrive is a chain of transactions under one id per topic: each brings some letters back and says so in
`_penstock_redrives`. Whoever begins later with the same topic fences the earlier one and ends its transaction, and only
then reads what is back. So each letter goes back once, whoever dies when, and however often somebody tries.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final, NamedTuple

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import LATEST, READ_COMMITTED, edges, list_offsets
from penstock.client.reading import Reader
from penstock.client.transactional import TransactionalProducer
from penstock.core.base.errors import ErrorCode
from penstock.core.delivery.dead_letter import REDRIVEN_HEADER, SUFFIX, Letter, own_headers, read_letter
from penstock.core.delivery.redriven import TOPIC, Entry, Redriven, Where, encode_offsets
from penstock.core.records.record import Record

Offsets = dict[TopicPartition, int]
Limits = dict[TopicPartition, tuple[int, int]]
"""The first offset of each partition, and its end."""

LETTERS_PER_TRANSACTION_MAX: Final = 1_000
BYTES_PER_TRANSACTION_MAX: Final = 8 * 1_048_576
TRANSACTION_SECONDS_MAX: Final = 1.0
JOURNAL: Final = TopicPartition(TOPIC, 0)


class Found(NamedTuple):
    """A record of a topic of dead letters. `letter` is None if it does not say what it is."""

    where: TopicPartition
    record: Record
    letter: Letter | None


class Choice(NamedTuple):
    """Which letters are meant; what is None chooses all."""

    reason: str | None = None
    origin: str | None = None
    from_ms: int | None = None
    to_ms: int | None = None
    at: frozenset[tuple[int, int]] | None = None
    """Partitions and offsets, one by one."""

    def takes(self, found: Found) -> bool:
        letter, record = found.letter, found.record
        return (
            (self.reason is None or (letter is not None and letter.reason == self.reason))
            and (self.origin is None or (letter is not None and letter.topic == self.origin))
            and (self.from_ms is None or record.timestamp >= self.from_ms)
            and (self.to_ms is None or record.timestamp < self.to_ms)
            and (self.at is None or (found.where.partition, record.offset) in self.at)
        )


def topics_of_letters(client: Client) -> list[str]:
    """The topics that are named as those of dead letters are."""
    return [topic.name for topic in client.topics() if topic.name.endswith(SUFFIX)]


def letters(client: Client, choice: Choice, limits: Limits) -> Iterator[Found]:
    """The letters between first offsets and ends; those of transactions that are not committed do not count."""
    reader = Reader(
        client,
        {where: first for where, (first, _) in limits.items()},
        until={where: end for where, (_, end) in limits.items()},
        isolation=READ_COMMITTED,
    )
    for chunk in reader:
        for record in chunk.records:
            found = Found(chunk.where, record, read_letter(record.headers))
            if choice.takes(found):
                yield found


def spans(client: Client, topic: str) -> Limits:
    """The first offset of each partition, and the end of what is committed there."""
    places = [TopicPartition(topic, each.number) for each in client.topic(topic, fresh=True).partitions]
    ends = list_offsets(client, dict.fromkeys(places, LATEST), READ_COMMITTED)
    return {where: (first, max(first, ends[where].offset)) for where, (first, _) in edges(client, places).items()}


def where_of(client: Client, where: TopicPartition) -> Where:
    return Where(where.topic, client.topic(where.topic).topic_id.hex(), where.partition)


def read_redriven(client: Client) -> Redriven:
    """What is back, to the last record: an open transaction of another topic's redrive is waited for."""
    known = Redriven()
    try:
        limits = edges(client, [JOURNAL])
    except ClientError as failure:
        if failure.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        return known
    positions = {where: first for where, (first, _) in limits.items()}
    until = {where: end for where, (_, end) in limits.items()}
    for chunk in Reader(client, positions, until=until, isolation=READ_COMMITTED):
        for record in chunk.records:
            known.replay(record.key, record.value)
    return known


def make_journal(client: Client) -> None:
    """One partition: all that is back is read before anything goes back."""
    try:
        Admin(client).create_topic(TOPIC, 1, configs={"cleanup.policy": "compact"})
    except ClientError as failure:
        if failure.code != ErrorCode.TOPIC_ALREADY_EXISTS:
            raise


class Redrive:
    """Brings letters of one topic back, each once."""

    def __init__(
        self,
        client: Client,
        topic: str,
        *,
        into: str | None = None,
        rate: int | None = None,
    ) -> None:
        """Into the topics of origin, or all into another one; so many in a second, if that is bounded."""
        self._client = client
        self._topic = topic
        self._into = into
        self._rate = rate
        self._producer = TransactionalProducer(client, f"penstock-redrive-{topic}")
        self._letters_max = LETTERS_PER_TRANSACTION_MAX if rate is None else min(rate, LETTERS_PER_TRANSACTION_MAX)
        self._partitions: dict[str, int] = {}

    def begin(self) -> Redriven:
        """End what an earlier redrive has left, and see what is back."""
        make_journal(self._client)
        self._producer.begin()
        return read_redriven(self._client)

    def bring_back(self, found: Iterable[Found], done: Callable[[int], None]) -> None:
        """Letters in the order of their offsets, by partition; `done` hears of each transaction that is committed."""
        began, count = time.monotonic(), 0
        for bunch in self._bunches(found):
            with self._producer.transaction():
                for each in bunch:
                    self._send(each)
                self._write_down(bunch)
            done(len(bunch))
            count += len(bunch)
            if self._rate is not None:
                time.sleep(max(0.0, began + count / self._rate - time.monotonic()))

    def forget(self, entries: Collection[Entry]) -> None:
        """What is known of letters that are no longer there."""
        with self._producer.transaction():
            for entry in entries:
                self._producer.send(TOPIC, entry.encode(), None, partition=0)

    def _bunches(self, found: Iterable[Found]) -> Iterator[list[Found]]:
        """As many as go into one transaction, which ends soon even where letters are found slowly."""
        bunch: list[Found] = []
        size, began = 0, time.monotonic()
        for each in found:
            bunch.append(each)
            size += len(each.record.value or b"") + len(each.record.key or b"")
            late = time.monotonic() > began + TRANSACTION_SECONDS_MAX
            if late or len(bunch) >= self._letters_max or size >= BYTES_PER_TRANSACTION_MAX:
                yield bunch
                bunch, size, began = [], 0, time.monotonic()
        if bunch:
            yield bunch

    def _send(self, found: Found) -> None:
        """As it was: key, value and headers, and the partition where it still exists."""
        assert found.letter is not None or self._into is not None, "what has no origin is not brought back there"
        topic = self._into or (found.letter.topic if found.letter is not None else "")
        partition = None if found.letter is None else found.letter.partition
        record, source = found.record, f"{found.where}@{found.record.offset}"
        self._producer.send(
            topic,
            record.key,
            record.value,
            [*own_headers(record.headers), (REDRIVEN_HEADER, source.encode())],
            partition=partition if partition is not None and 0 <= partition < self._count(topic) else None,
        )

    def _count(self, topic: str) -> int:
        if topic not in self._partitions:
            self._partitions[topic] = len(self._client.topic(topic).partitions)
        return self._partitions[topic]

    def _write_down(self, bunch: list[Found]) -> None:
        offsets: defaultdict[TopicPartition, list[int]] = defaultdict(list)
        for each in bunch:
            offsets[each.where].append(each.record.offset)
        for where, those in offsets.items():
            key = Entry(where_of(self._client, where), those[0]).encode()
            self._producer.send(TOPIC, key, encode_offsets(those), partition=0)
