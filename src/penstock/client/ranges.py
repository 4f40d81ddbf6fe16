"""Reading one range of one partition as it is stored: whole batches, not records.

For readers that know where they begin and where they end, and to whom it matters that everything between was there. A
range that cannot be given in full - its records were deleted, its log was cut, its topic is gone or is another one by
now - is a `RangeLost`, never a shorter answer. Offsets that compaction removed or that the cluster used for its own
marks are no loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from penstock.client.blocking import Client
from penstock.client.errors import TOPIC_UNKNOWN, ClientError, check
from penstock.client.metadata import TopicPartition, TopicView
from penstock.client.offsets import READ_COMMITTED, READ_UNCOMMITTED, edges
from penstock.client.reading import IDS_FROM, WAIT_MS_MAX
from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Buffer
from penstock.core.records.batch import BatchHeader, iterate_headers
from penstock.core.records.errors import CorruptBatch
from penstock.core.wire.api.fetch import (
    AbortedTransaction,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from penstock.core.wire.fields import ZERO_UUID


class Fetched(NamedTuple):
    """Batches as they came, each with its position in the blob. The first may begin before the offset that was asked
    for, the last may end after the range."""

    first: int
    blob: Buffer
    batches: list[tuple[int, BatchHeader]]
    # What a read_committed reader must leave out; see `client.batches`.
    aborted: Sequence[AbortedTransaction]


class RangeLost(ClientError):
    """The offsets from `first` up to `end` are not there any more; whoever can do without goes on at `resume`."""

    def __init__(
        self, where: TopicPartition, first: int, end: int, reason: str, code: ErrorCode, *, resume: int | None = None
    ) -> None:
        super().__init__(f"offsets {first} to {end - 1} of {where} are gone: {reason}", code=code)
        self.where = where
        self.first = first
        self.end = end
        self.reason = reason
        self.resume = end if resume is None else resume

    @property
    def is_transient(self) -> bool:
        """What is gone does not come back."""
        return False


class RangeReader:
    """Fetches from `start` up to `end`, in order. `position` is where it stands.

    A loss is raised, unless `on_loss` takes it and returns: then reading goes on behind it.
    """

    def __init__(
        self,
        client: Client,
        where: TopicPartition,
        start: int,
        end: int,
        *,
        topic_id: bytes | None = None,
        isolation: int = READ_UNCOMMITTED,
        fetch_bytes: int,
        stall_seconds_max: float,
        on_loss: Callable[[RangeLost], None] | None = None,
    ) -> None:
        self._client = client
        self._where = where
        self._end = end
        self._topic_id = topic_id
        self._isolation = isolation
        self._fetch_bytes = fetch_bytes
        self._stall_seconds_max = stall_seconds_max
        self._on_loss = on_loss
        self.position = start

    def __iter__(self) -> Iterator[Fetched]:
        while self.position < self._end:
            try:
                fetched = self._client.retry(self._fetch, timeout=self._stall_seconds_max)
            except RangeLost as loss:
                self._pass_over(loss)
                continue
            self.position = fetched.batches[-1][1].next_offset
            yield fetched

    def _pass_over(self, loss: RangeLost) -> None:
        if self._on_loss is None:
            raise loss
        self._on_loss(loss)
        self.position = loss.resume
        # Whoever may lose records may as well read the topic that has the name now.
        self._topic_id = None

    def _fetch(self) -> Fetched:
        """One answer that holds at least one batch; errors that may pass, and silence, are for `retry`."""
        known = self._topic()
        ids = known != ZERO_UUID
        request = FetchRequest(
            max_wait_ms=WAIT_MS_MAX,
            min_bytes=1,
            max_bytes=self._fetch_bytes,
            isolation_level=self._isolation,
            topics=[FetchTopic(topic=self._where.topic, topic_id=known, partitions=[self._question()])],
        )
        leader = self._client.leader(self._where)
        answer = self._client.ask(request, FetchResponse, node=leader, newest_version=None if ids else IDS_FROM - 1)
        check(answer.error_code, f"a fetch from {self._where}")
        for topic in answer.responses:
            for data in topic.partitions:
                return self._take(data)
        raise self._silence("the broker left the partition out of its answer")

    def _question(self) -> FetchPartition:
        return FetchPartition(
            partition=self._where.partition, fetch_offset=self.position, partition_max_bytes=self._fetch_bytes
        )

    def _topic(self) -> bytes:
        """The id of the topic, after making sure that it is still the one whose offsets were planned. What the client
        remembers is enough to go on, but not to give up."""
        view = self._view(fresh=self._topic_id is None)
        if view is None or self._topic_id not in (None, view.topic_id):
            view = self._view(fresh=True)
        if view is None:
            reason = "the partition does not exist any more"
            raise self._lost(self._end, reason, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if self._topic_id not in (None, view.topic_id):
            reason, code = "the topic was deleted and made anew under its name", ErrorCode.INCONSISTENT_TOPIC_ID
            raise RangeLost(self._where, self.position, self._end, reason, code, resume=self.position)
        self._topic_id = view.topic_id
        return view.topic_id

    def _view(self, *, fresh: bool) -> TopicView | None:
        """The topic, if it is there and has the partition."""
        try:
            view = self._client.topic(self._where.topic, fresh=fresh)
        except ClientError as failure:
            if failure.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            return None
        return view if self._where.partition < len(view.partitions) else None

    def _take(self, data: PartitionData) -> Fetched:
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._explain_out_of_range()
        elif data.error_code != ErrorCode.NONE:
            self._client.forget(self._where.topic)
            if data.error_code in TOPIC_UNKNOWN:
                # The next attempt asks who has the name now; if it is still ours, this broker just did not know yet.
                raise self._silence("its leader does not know the topic")
            check(data.error_code, f"reading {self._where}")
        blob = b"" if data.records is None else data.records
        assert isinstance(blob, bytes | bytearray | memoryview), "a decoded answer holds bytes"
        batches = self._batches(blob)
        if not batches:
            self._explain_silence(data)
        committed = self._isolation == READ_COMMITTED
        return Fetched(self.position, blob, batches, (data.aborted_transactions or ()) if committed else ())

    def _batches(self, blob: Buffer) -> list[tuple[int, BatchHeader]]:
        try:
            batches = list(iterate_headers(blob, partial_tail=True))
        except CorruptBatch as failure:
            raise ClientError(f"{self._where}: {failure}", code=ErrorCode.CORRUPT_MESSAGE) from failure
        # An answer begins with the batch that holds the offset, or with the one behind a gap.
        return [(at, header) for at, header in batches if header.last_offset >= self.position]

    def _explain_out_of_range(self) -> None:
        first, end = edges(self._client, [self._where])[self._where]
        code = ErrorCode.OFFSET_OUT_OF_RANGE
        if self.position < first:
            raise self._lost(min(first, self._end), f"the partition begins at offset {first} now", code)
        if self.position >= end:
            raise self._lost(self._end, f"the partition ends at offset {end} now", code)
        raise self._silence("it was out of range a moment ago")

    def _explain_silence(self, data: PartitionData) -> None:
        """Nothing came: because nothing is left, or because it may not be seen yet. A leader that was elected just
        now may not know how far its followers are; the offsets it lists say so, its first answers do not."""
        if data.high_watermark < self._end:
            _, end = edges(self._client, [self._where])[self._where]
            if end <= self.position:
                reason = f"the partition ends at offset {end} now"
                raise self._lost(self._end, reason, ErrorCode.OFFSET_OUT_OF_RANGE)
        if self._isolation == READ_COMMITTED and data.last_stable_offset <= self.position:
            raise self._silence("a transaction is open there")
        raise self._silence("the broker answered with nothing")

    def _lost(self, end: int, reason: str, code: ErrorCode) -> RangeLost:
        return RangeLost(self._where, self.position, end, reason, code)

    def _silence(self, reason: str) -> ClientError:
        return ClientError(
            f"nothing came from offset {self.position} of {self._where} on: {reason}", code=ErrorCode.REQUEST_TIMED_OUT
        )
