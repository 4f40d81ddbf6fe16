"""Producing: records are collected into one batch per partition and sent to their leaders together.

By default a producer is idempotent: each batch carries a sequence, so that sending it again after a lost answer cannot
double it. Keys choose their partition as in Java's client; records without a key stay on one partition until its batch
is full and then move on, which makes few large batches instead of many small ones.

One round of requests is under way while the next is being filled. No more than that: a round that fails is sent again
before anything behind it, which is what keeps the order of records and their sequences.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from penstock.client.blocking import Client, Posted
from penstock.client.errors import ClientError, check, check_leader
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import by_leader, by_topic
from penstock.core.base.errors import ErrorCode
from penstock.core.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, TRANSACTIONAL_BIT
from penstock.core.records.build import BatchBuilder, Sealed
from penstock.core.records.codecs import Codec
from penstock.core.records.murmur2 import partition_for
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from penstock.core.wire.api.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from penstock.core.wire.fields import ZERO_UUID

ACKS_ALL: Final = -1
BATCH_BYTES: Final = 262_144
PENDING_BYTES_MAX: Final = 8 * 1_048_576
IDS_FROM: Final = 13
_SEQUENCE_MODULUS: Final = 1 << 31
Headers = Sequence[tuple[str, bytes | None]]


class Delivered(NamedTuple):
    """A batch that was acknowledged; `offset` is its first record's, or -1 where acks=0 asked for no answer."""

    where: TopicPartition
    offset: int
    records: int


class _Batch(NamedTuple):
    data: Sealed
    records: int


@dataclass(slots=True)
class _Round:
    """Batches that were sent together, at most one of a partition: those without an answer, and what to wait for."""

    unanswered: dict[TopicPartition, _Batch]
    posted: list[Posted[ProduceResponse]] = field(default_factory=list)


class Producer:
    """Collects records and sends them; `flush` returns once everything is acknowledged."""

    def __init__(
        self,
        client: Client,
        *,
        acks: int = ACKS_ALL,
        codec: Codec = Codec.NONE,
        batch_bytes: int = BATCH_BYTES,
        idempotent: bool = True,
        delivery_seconds_max: float | None = None,
        on_delivery: Callable[[Delivered], None] | None = None,
    ) -> None:
        """A batch is tried again for so many seconds, by default for as long as the client tries anything."""
        self._client = client
        self._delivery_seconds_max = client.timeout if delivery_seconds_max is None else delivery_seconds_max
        self._acks = acks
        self._codec = codec
        self._batch_bytes = batch_bytes
        # Without an answer from all in-sync replicas there is nothing to be exactly once about.
        self._idempotent = idempotent and acks == ACKS_ALL
        self._on_delivery = on_delivery
        self._producer_id, self._producer_epoch = NO_PRODUCER_ID, NO_PRODUCER_EPOCH
        # What `TransactionalProducer` says otherwise.
        self._transactional_id: str | None = None
        self._newest_version: int | None = None
        self._sequences: dict[TopicPartition, int] = {}
        self._builders: dict[TopicPartition, BatchBuilder] = {}
        self._pending_bytes = 0
        self._round: _Round | None = None
        self._sticky: dict[str, int] = {}

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, failure: object, *_: object) -> None:
        if failure is None:
            self.flush()

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = (),
        *,
        partition: int | None = None,
        timestamp: int | None = None,
    ) -> TopicPartition:
        """Add a record; sends what has been collected when it is enough. Gives the record's partition."""
        where = TopicPartition(topic, self._choose(topic, key) if partition is None else partition)
        builder = self._builders.get(where)
        if builder is None:
            builder = self._builders[where] = BatchBuilder()
        before = builder.size_bytes if len(builder) else 0
        builder.append(key, value, headers, int(time.time() * 1000) if timestamp is None else timestamp)
        self._pending_bytes += builder.size_bytes - before
        if builder.size_bytes >= self._batch_bytes:
            self._sticky.pop(topic, None)
            self._send([where])
        elif self._pending_bytes >= PENDING_BYTES_MAX:
            self._send_all()
        return where

    def send_batch(self, where: TopicPartition, batch: BatchBuilder) -> None:
        """Add a batch that somebody else has filled. It is sent with one batch of each other partition."""
        if where in self._builders:
            self._send_all()
        self._builders[where] = batch
        self._pending_bytes += batch.size_bytes
        if self._pending_bytes >= PENDING_BYTES_MAX:
            self._send_all()

    def flush(self) -> None:
        """Send everything and wait until it is acknowledged."""
        self._send_all()
        self._land()

    def _send_all(self) -> None:
        if self._builders:
            self._send(list(self._builders))

    def _choose(self, topic: str, key: bytes | None) -> int:
        count = len(self._client.topic(topic, create=True).partitions)
        if key is not None:
            return partition_for(key, count)
        if topic not in self._sticky:
            self._sticky[topic] = random.randrange(count)
        return self._sticky[topic]

    def _send(self, places: list[TopicPartition]) -> None:
        """Send the batches of some partitions, once those that are under way have their answers."""
        self._land()
        for where in places:
            self._client.topic(where.topic, create=True)
        if self._idempotent and self._producer_id == NO_PRODUCER_ID:
            self._client.retry(self._introduce)
        self._round = _Round({where: self._seal(where) for where in places})
        # What cannot be sent now is tried again when the answers are waited for.
        with suppress(ClientError):
            self._post(self._round)

    def _land(self) -> None:
        """Wait until every batch under way is acknowledged, and send again what is not."""
        if self._round is None:
            return
        under_way, self._round = self._round, None

        def attempt() -> None:
            self._collect(under_way)
            if under_way.unanswered:
                self._post(under_way)
                self._collect(under_way)
            for where in under_way.unanswered:
                check(ErrorCode.REQUEST_TIMED_OUT, f"writing to {where}", "the broker left it out of its answer")

        try:
            self._client.retry(attempt, timeout=self._delivery_seconds_max)
        except ClientError:
            self._give_up()
            raise

    def _give_up(self) -> None:
        """Sequences that were given out and never written would be missed: the next batch starts a new count."""
        self._producer_id = NO_PRODUCER_ID
        self._sequences.clear()

    def _admit(self, places: Iterable[TopicPartition]) -> None:
        """Whatever must be said before these partitions are written to."""

    def _introduce(self) -> None:
        """Get the producer id that sequences count under."""
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
        answer = self._client.ask(request, InitProducerIdResponse)
        check(answer.error_code, "a producer id")
        self._producer_id, self._producer_epoch = answer.producer_id, answer.producer_epoch

    def _seal(self, where: TopicPartition) -> _Batch:
        builder = self._builders.pop(where)
        self._pending_bytes -= builder.size_bytes
        sequence = self._sequences.get(where, 0)
        data = builder.build(
            codec=self._codec,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            base_sequence=sequence if self._idempotent else NO_SEQUENCE,
            attributes=0 if self._transactional_id is None else TRANSACTIONAL_BIT,
        )
        self._sequences[where] = (sequence + len(builder)) % _SEQUENCE_MODULUS
        return _Batch(data, len(builder))

    def _post(self, under_way: _Round) -> None:
        """One request to each leader."""
        client = self._client
        self._admit(under_way.unanswered)
        for leader, led in by_leader(client, under_way.unanswered).items():
            batches = {where: under_way.unanswered[where] for where in led}
            ids = all(client.topic(where.topic).topic_id != ZERO_UUID for where in batches)
            newest = self._newest_version if ids else IDS_FROM - 1
            request = self._request(batches)
            if self._acks == 0:
                client.link(leader).tell(request, newest)
                for where in batches:
                    self._deliver(where, -1, under_way.unanswered)
            else:
                posted = client.post(request, ProduceResponse, node=leader, newest_version=newest)
                under_way.posted.append(posted)

    def _collect(self, under_way: _Round) -> None:
        """Take every answer, also behind a refusal: what was acknowledged leaves `unanswered`, and the first refusal is
        raised."""
        posted, under_way.posted = under_way.posted, []
        failure: ClientError | None = None
        for request in posted:
            try:
                answer = request.collect()
            except ClientError as lost:
                failure = failure or lost
            else:
                failure = self._take(answer, under_way.unanswered) or failure
        if failure is not None:
            raise failure

    def _take(self, answer: ProduceResponse, unanswered: dict[TopicPartition, _Batch]) -> ClientError | None:
        failure: ClientError | None = None
        for topic in answer.responses:
            name = topic.name or self._client.cluster.names[topic.topic_id]
            for partition in topic.partition_responses:
                where = TopicPartition(name, partition.index)
                try:
                    _check(where, partition)
                    self._deliver(where, partition.base_offset, unanswered)
                except ClientError as refusal:
                    self._client.forget(name)
                    failure = failure or refusal
        return failure

    def _request(self, batches: dict[TopicPartition, _Batch]) -> ProduceRequest:
        return ProduceRequest(
            transactional_id=self._transactional_id,
            acks=self._acks,
            timeout_ms=int(self._client.timeout * 1000),
            topic_data=[
                TopicProduceData(
                    name=topic,
                    topic_id=self._client.topic(topic).topic_id,
                    partition_data=[
                        PartitionProduceData(index=number, records=batches[TopicPartition(topic, number)].data)
                        for number in numbers
                    ],
                )
                for topic, numbers in by_topic(batches).items()
            ],
        )

    def _deliver(self, where: TopicPartition, offset: int, unanswered: dict[TopicPartition, _Batch]) -> None:
        batch = unanswered.pop(where)
        if self._on_delivery is not None:
            self._on_delivery(Delivered(where, offset, batch.records))


def _check(where: TopicPartition, answer: PartitionProduceResponse) -> None:
    """A duplicate is a batch whose first acknowledgement got lost: it is there, which is all that was asked."""
    if answer.error_code != ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
        details = [one.batch_index_error_message for one in answer.record_errors if one.batch_index_error_message]
        check_leader(answer.error_code, f"writing to {where}", "; ".join(details) or answer.error_message)
