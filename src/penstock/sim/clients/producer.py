"""A producer: sends its numbered values to one partition, in windows, and repeats what was not acknowledged.

An idempotent one has up to five batches in flight and relies on sequence numbers; a plain one sends one at a time,
since a repeated window could change its order. Without acknowledgements it sends and hopes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from penstock.core.wire.api.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from penstock.sim.clients.client import Client, Connection, Disconnected
from penstock.sim.clients.records import CODECS, Sequences, encode_values
from penstock.sim.events import Acknowledged, Batch, OutOfSequence, Partition, Sent
from penstock.sim.scheduler import EPOCH_MS, MS, SECOND
from penstock.sim.script import Future, Script, Sleep
from penstock.sim.values import make_value

RECORDS_MAX = 8
LAST_WINDOWS = 3
PRODUCE_TIMEOUT_MS = 20_000
BY_NAME_VERSION = 12
ANY_VERSION = 13

RETRIABLE = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
SEQUENCE_ERRORS = frozenset({ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID})


@dataclass(frozen=True, slots=True)
class ProducerPlan:
    """What one producer does."""

    partition: Partition
    acks: int = -1
    idempotent: bool = False
    window_max: int = 1
    think_us_max: int = 200 * MS
    keys: int = 0


class Producer:
    """Carries out a plan."""

    def __init__(self, client: Client, plan: ProducerPlan, topic_id: bytes, is_over: Callable[[], bool]) -> None:
        assert plan.idempotent or plan.window_max == 1
        self._client = client
        self._plan = plan
        self._topic_id = topic_id
        self._is_over = is_over
        self._next_number = 0
        self._producer_id = -1
        self._identity = 0
        self._epoch = -1
        self._is_new = False  # Nothing has been acknowledged under the present producer id yet.
        self._sequences = Sequences()

    def script(self) -> Script[None]:
        """Send until it is over, and a little more: whoever still can makes progress."""
        if self._plan.idempotent:
            yield from self._become_known()
        last_windows = LAST_WINDOWS
        while last_windows > 0:
            last_windows -= self._is_over()
            size = self._client.chance.between(1, self._plan.window_max)
            yield from self._deliver([self._make_batch() for _ in range(size)])
            yield Sleep(self._client.chance.skewed(0, self._plan.think_us_max))
        self._client.disconnect()

    def _deliver(self, window: list[Batch]) -> Script[None]:
        while window:
            with suppress(Disconnected):
                window = yield from self._try(window)
            if window:
                self._client.lose(self._plan.partition)
                yield from self._client.back_off()

    def _try(self, window: list[Batch]) -> Script[list[Batch]]:
        """Send a window; gives what must be sent again. Whatever an exception leaves open is sent again too."""
        connection = yield from self._client.connect_to(self._plan.partition)
        sent = window[:1] if self._is_new and self._client.is_careful else list(window)
        answers = [self._send(connection, batch) for batch in sent]
        if self._plan.acks == 0:
            return []
        identity, all_acknowledged = self._identity, True
        for batch, answer in zip(sent, answers, strict=True):
            reply: ProduceResponse = yield answer
            if (yield from self._judge(batch, reply.responses[0].partition_responses[0], all_acknowledged)):
                window.remove(batch)
                self._is_new = self._is_new and identity != self._identity
            else:
                all_acknowledged = False
        return window

    def _send(self, connection: Connection, batch: Batch) -> Future:
        plan, chance = self._plan, self._client.chance
        identity: tuple[int, ...] = ()
        if plan.idempotent:
            identity = self._producer_id, self._epoch, self._sequences.of(batch.first, len(batch.values))
        timestamp_ms = EPOCH_MS + self._client.world.scheduler.now_us // MS
        records = encode_values(batch.values, timestamp_ms, chance.pick(CODECS), *identity)
        data = TopicProduceData(
            name=plan.partition.topic,
            topic_id=self._topic_id,
            partition_data=[PartitionProduceData(index=plan.partition.number, records=records)],
        )
        request = ProduceRequest(acks=plan.acks, timeout_ms=PRODUCE_TIMEOUT_MS, topic_data=[data])
        version = chance.pick((BY_NAME_VERSION, ANY_VERSION))
        self._client.world.witness.see(Sent(batch, self._identity, timestamp_ms))
        if plan.acks == 0:
            connection.tell(request, version)
            return Future()
        return connection.ask(request, ProduceResponse, version)

    def _judge(self, batch: Batch, result: PartitionProduceResponse, all_before_acknowledged: bool) -> Script[bool]:
        """Tell what the answer means; True when the batch is done."""
        code, witness = ErrorCode(result.error_code), self._client.world.witness
        if code is ErrorCode.NONE:
            witness.see(Acknowledged(batch, result.base_offset))
            return True
        if code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            witness.see(Acknowledged(batch, None))
            return True
        if code in SEQUENCE_ERRORS and self._plan.idempotent:
            if all_before_acknowledged:
                witness.see(OutOfSequence(batch, code.name))
                yield from self._become_known()
            return False
        retriable = code in RETRIABLE or code in self._client.excuses
        assert retriable, f"{self._client.name} got {code!r}: {result.error_message}"
        return False

    def _become_known(self) -> Script[None]:
        """Get a producer id, under which sequence numbers begin anew."""
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60 * SECOND // MS)
        while True:
            reply = yield from self._client.insist(request, InitProducerIdResponse)
            if reply.error_code == ErrorCode.NONE:
                break
            yield from self._client.back_off()
        self._identity += 1
        self._is_new = True
        self._producer_id, self._epoch, self._sequences = reply.producer_id, reply.producer_epoch, Sequences()

    def _make_batch(self) -> Batch:
        first, chance, name = self._next_number, self._client.chance, self._client.name
        self._next_number += chance.between(1, RECORDS_MAX)
        values = tuple(make_value(name, number, chance, self._plan.keys) for number in range(first, self._next_number))
        return Batch(self._plan.partition, name, first, values, self._plan.idempotent)
