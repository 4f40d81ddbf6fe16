"""Who is at work: a registrar, whose schemas come and go, and producers who mix what fits with what does not."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.delivery.dead_letter import PREFIX
from penstock.core.records.batch import iterate_headers
from penstock.core.records.build import build_batch
from penstock.core.records.record import Record, iterate
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from penstock.sim.clients.client import Client
from penstock.sim.events import Partition
from penstock.sim.scheduler import EPOCH_MS, MS
from penstock.sim.script import Script, Sleep
from penstock.sim.validation.ledger import Batch, Fit, Ledger, Letter, Value

SCHEMAS: Final = "_schemas"
TOPIC: Final = "v"
LETTERS: Final = "v.dlq"
BY_NAME: Final = 12
STEADY, FLICKERING, NEVER = 1, 2, 3
"""Ids of schemas: one is there from the first to the last, one comes and goes, one is never registered."""
THINK_US_MAX: Final = 150 * MS
FETCH_BYTES: Final = 1 << 20
SEQUENCE_ERRORS: Final = frozenset({ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID})


def registration(id: int, deleted: bool = False) -> bytes:
    """A record of the topic of schemas."""
    key = {"keytype": "SCHEMA", "subject": f"{TOPIC}-value", "version": id, "magic": 1}
    text = json.dumps({"type": "string", "id": id})
    value = {"subject": f"{TOPIC}-value", "version": id, "id": id, "schema": text, "deleted": deleted}
    return bytes(build_batch([(json.dumps(key).encode(), json.dumps(value).encode(), (), EPOCH_MS)]))


def register(client: Client, id: int, deleted: bool = False) -> Script[None]:
    yield from produce(client, Partition(SCHEMAS, 0), registration(id, deleted))


def produce(client: Client, partition: Partition, batch: bytes) -> Script[tuple[ErrorCode, int]]:
    """Send it until something is said that does not pass by itself."""
    while True:
        data = PartitionProduceData(index=partition.number, records=batch)
        named = TopicProduceData(name=partition.topic, partition_data=[data])
        request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[named])
        reply = yield from client.insist(request, ProduceResponse, partition, BY_NAME)
        result = reply.responses[0].partition_responses[0]
        code = ErrorCode(result.error_code)
        if code in (ErrorCode.NONE, ErrorCode.INVALID_RECORD) or code in SEQUENCE_ERRORS:
            return code, result.base_offset
        client.lose(partition)
        yield from client.back_off()


def flicker(client: Client, is_over: Callable[[], bool]) -> Script[None]:
    """Take a schema away, and bring it back."""
    is_there = False
    while not is_over():
        is_there = not is_there
        yield from register(client, FLICKERING, deleted=not is_there)
        yield Sleep(client.chance.skewed(0, 4 * THINK_US_MAX))
    client.disconnect()


class Writer:
    """One idempotent producer, a batch at a time."""

    def __init__(self, client: Client, ledger: Ledger, partitions: int, is_over: Callable[[], bool]) -> None:
        self._client = client
        self._ledger = ledger
        self._partitions = partitions
        self._is_over = is_over
        self._number = 0
        self._identity = (-1, -1)
        self._sequences: dict[int, int] = {}

    def script(self) -> Script[None]:
        yield from self._become_known()
        while not self._is_over():
            yield from self._write(self._make())
            yield Sleep(self._client.chance.skewed(0, THINK_US_MAX))
        self._client.disconnect()

    def _make(self) -> Batch:
        chance = self._client.chance
        count = chance.between(1, 4)
        values = tuple(self._value(f"{self._client.name}-{self._number}-{at}") for at in range(count))
        batch = Batch(self._client.name, self._number, chance.between(0, self._partitions - 1), values)
        self._number += 1
        return batch

    def _value(self, name: str) -> Value:
        chance = self._client.chance
        text = bytes([2 * len(name)]) + name.encode()
        if chance.happens(0.7):
            return Value(_prefixed(STEADY, text), Fit.YES)
        if chance.happens(0.5):
            return Value(_prefixed(FLICKERING, text), Fit.MAYBE)
        # What names a schema and is none of its strings shows only where payloads are read.
        return Value(chance.pick([_prefixed(NEVER, text), b"plain " + name.encode()]), Fit.NO)

    def _write(self, batch: Batch) -> Script[None]:
        ledger = self._ledger
        ledger.batches.append(batch)
        sequence = self._sequences.get(batch.partition, 0)
        data = self._encode(batch, sequence)
        code, base_offset = yield from produce(self._client, Partition(TOPIC, batch.partition), data)
        ledger.note(f"told-{code.name.lower()}", f"{batch.producer} {batch.number}")
        if code is ErrorCode.NONE:
            batch.base_offset = base_offset
            self._sequences[batch.partition] = sequence + len(batch.values)
        elif code is ErrorCode.INVALID_RECORD:
            batch.is_refused = True
        else:
            yield from self._become_known()

    def _encode(self, batch: Batch, sequence: int) -> bytes:
        time_ms = EPOCH_MS + self._client.world.scheduler.now_us // MS
        producer_id, epoch = self._identity
        records = [(None, value.data, (), time_ms) for value in batch.values]
        return bytes(build_batch(records, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence))

    def _become_known(self) -> Script[None]:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        while True:
            reply = yield from self._client.insist(request, InitProducerIdResponse)
            if reply.error_code == ErrorCode.NONE:
                break
            yield from self._client.back_off()
        self._identity = reply.producer_id, reply.producer_epoch
        self._sequences = {}


def _prefixed(id: int, payload: bytes) -> bytes:
    return b"\0" + id.to_bytes(4, "big") + payload


def read_all(client: Client, partition: Partition) -> Script[list[Record]]:
    """Everything that is committed in a partition."""
    found = list[Record]()
    offset = 0
    while True:
        wanted = FetchPartition(partition=partition.number, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
        topic = FetchTopic(topic=partition.topic, partitions=[wanted])
        request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=FETCH_BYTES, topics=[topic])
        reply = yield from client.insist(request, FetchResponse, partition, BY_NAME)
        data = reply.responses[0].partitions[0] if reply.responses else None
        if data is None or data.error_code:
            client.lose(partition)
            yield from client.back_off()
            continue
        assert isinstance(data.records, bytes | bytearray | memoryview | None), "what has arrived is in memory"
        records = bytes(data.records or b"")
        for position, header in iterate_headers(records, partial_tail=True):
            found += [each for each in iterate(records, position) if each.offset >= offset]
            offset = header.next_offset
        if offset >= data.high_watermark:
            return found


def letters_in(records: Sequence[Record]) -> list[Letter]:
    """Dead letters, by where their records would stand."""
    found = []
    for record in records:
        facts = {name.removeprefix(PREFIX): (value or b"").decode() for name, value in record.headers}
        found.append(Letter(int(facts["partition"]), int(facts["offset"]), record.value or b""))
    return found
