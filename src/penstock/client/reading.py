"""Reading partitions that the caller names: no group, no assignment, positions in the caller's hands.

A reader fetches in bulk from all leaders at once and gives chunks: the records of one partition in order. Batches are
unpacked here; markers of transactions never show, and with READ_COMMITTED neither do records of aborted ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from penstock.client.batches import read_batches
from penstock.client.blocking import Client
from penstock.client.errors import ClientError, check, check_leader
from penstock.client.link import Link
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import READ_COMMITTED, READ_UNCOMMITTED, by_leader, by_topic, edges
from penstock.core.base.errors import ErrorCode
from penstock.core.peer.errors import UnsupportedByPeer
from penstock.core.records.errors import CorruptBatch
from penstock.core.records.record import Record
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from penstock.core.wire.fields import ZERO_UUID

FETCH_BYTES_MAX: Final = 52_428_800
PARTITION_BYTES_MAX: Final = 1_048_576
WAIT_MS_MAX: Final = 500
# From this version on a Fetch names topics by id.
IDS_FROM: Final = 13


class Chunk(NamedTuple):
    """Some records of one partition; `next_offset` is where reading goes on, `end` where the log ended just now."""

    where: TopicPartition
    records: list[Record]
    next_offset: int
    end: int


class Reader:
    """Reads from given positions. With `until` it stops at those offsets, without it never ends."""

    def __init__(
        self,
        client: Client,
        positions: Mapping[TopicPartition, int],
        *,
        until: Mapping[TopicPartition, int] | None = None,
        isolation: int = READ_UNCOMMITTED,
        wait_ms: int = WAIT_MS_MAX,
        partition_bytes: int = PARTITION_BYTES_MAX,
        patience: float | None = None,
    ) -> None:
        """Failures that may pass are tried again for `patience` seconds; None means the client's own time-out."""
        self._client = client
        self._patience = patience
        self._until = until
        self._isolation = isolation
        self._wait_ms = wait_ms
        self._partition_bytes = partition_bytes
        self._ends: dict[TopicPartition, int] = {}
        self.positions = dict(positions)

    @property
    def open(self) -> list[TopicPartition]:
        """The partitions that have not been read to their end."""
        if self._until is None:
            return list(self.positions)
        return [where for where, position in self.positions.items() if position < self._until[where]]

    def is_caught_up(self, where: TopicPartition) -> bool:
        """Whether the log had nothing more to give when it was asked last."""
        return where in self._ends and self.positions[where] >= self._ends[where]

    def __iter__(self) -> Iterator[Chunk]:
        """Chunks until everything that was asked for has been read."""
        while self.open:
            yield from self.poll()

    def poll(self, wait_ms: int | None = None, only: Iterable[TopicPartition] | None = None) -> list[Chunk]:
        """One round of fetches from the open partitions, or some of them: a chunk for each that had news in time."""
        places = self.open if only is None else list(only)
        wait = self._wait_ms if wait_ms is None else wait_ms
        return self._client.retry(lambda: self._fetch(places, wait), timeout=self._patience)

    def _fetch(self, wanted: list[TopicPartition], wait_ms: int) -> list[Chunk]:
        questions: list[tuple[Link, int]] = []
        answers: list[FetchResponse] = []
        try:
            for leader, places in by_leader(self._client, wanted).items():
                link = self._client.link(leader)
                questions.append((link, self._post(link, places, wait_ms)))
            for link, number in questions:
                answers.append(link.collect(number, FetchResponse))
        except ClientError:
            # Answers that nobody will collect must not arrive on a connection that is used again.
            for link, _ in questions[len(answers) :]:
                link.close()
            raise
        return [chunk for answer in answers for chunk in self._chunks(answer)]

    def _post(self, link: Link, places: list[TopicPartition], wait_ms: int) -> int:
        newest = None if self._all_have_ids(places) else IDS_FROM - 1
        timeout = self._client.timeout + wait_ms / 1000
        try:
            return link.post(self._request(places, wait_ms), FetchResponse, timeout, newest)
        except UnsupportedByPeer as missing:
            raise ClientError(str(missing), code=ErrorCode.UNSUPPORTED_VERSION) from None

    def _all_have_ids(self, places: list[TopicPartition]) -> bool:
        return all(self._client.topic(where.topic).topic_id != ZERO_UUID for where in places)

    def _request(self, places: list[TopicPartition], wait_ms: int) -> FetchRequest:
        return FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=FETCH_BYTES_MAX,
            isolation_level=self._isolation,
            topics=[
                FetchTopic(
                    topic=topic,
                    topic_id=self._client.topic(topic).topic_id,
                    partitions=[
                        FetchPartition(
                            partition=number,
                            fetch_offset=self.positions[TopicPartition(topic, number)],
                            partition_max_bytes=self._partition_bytes,
                        )
                        for number in numbers
                    ],
                )
                for topic, numbers in by_topic(places).items()
            ],
        )

    def _chunks(self, answer: FetchResponse) -> Iterator[Chunk]:
        check(answer.error_code, "a fetch")
        for topic in answer.responses:
            name = topic.topic or self._client.cluster.names.get(topic.topic_id, "")
            for data in topic.partitions:
                where = TopicPartition(name, data.partition_index)
                self._check(where, data)
                committed = self._isolation == READ_COMMITTED
                self._ends[where] = data.last_stable_offset if committed else data.high_watermark
                chunk = self._chunk(where, data)
                if chunk.next_offset > self.positions[where]:
                    self.positions[where] = chunk.next_offset
                    yield chunk

    def _check(self, where: TopicPartition, data: PartitionData) -> None:
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            first, end = edges(self._client, [where])[where]
            raise ClientError(
                f"offset {self.positions[where]} of {where} does not exist",
                code=ErrorCode.OFFSET_OUT_OF_RANGE,
                hint=f"its offsets go from {first} to {end - 1}" if end > first else "it holds no records",
            )
        if data.error_code != ErrorCode.NONE:
            self._client.forget(where.topic)
        check_leader(data.error_code, f"reading {where}")

    def _chunk(self, where: TopicPartition, data: PartitionData) -> Chunk:
        blob = b"" if data.records is None else data.records
        assert isinstance(blob, bytes | bytearray | memoryview), "a decoded answer holds bytes"
        end = None if self._until is None else self._until[where]
        aborted = data.aborted_transactions or () if self._isolation == READ_COMMITTED else ()
        try:
            records, next_offset = read_batches(blob, self.positions[where], end, aborted)
        except CorruptBatch as failure:
            raise ClientError(f"{where}: {failure}", code=ErrorCode.CORRUPT_MESSAGE) from failure
        return Chunk(where, records, next_offset, data.high_watermark)
