"""A topic that is deleted and created again while others write to it and read it.

Writers and readers name it by the id that they know, which may be that of a life that is over: then nothing may be
taken and nothing given. What is written is never repeated, so that each value belongs to one life.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.core.base.errors import ErrorCode
from penstock.core.records.codecs import Codec
from penstock.core.wire.api.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from penstock.sim.clients.admin import Admin, TopicPlan
from penstock.sim.clients.client import Client, Disconnected
from penstock.sim.clients.consumer import Fetcher
from penstock.sim.clients.producer import ANY_VERSION, PRODUCE_TIMEOUT_MS, RETRIABLE
from penstock.sim.clients.records import encode_values
from penstock.sim.events import Acknowledged, Batch, Partition, Sent
from penstock.sim.scheduler import EPOCH_MS, MS, SECOND
from penstock.sim.script import Script, Sleep
from penstock.sim.values import make_value

RECORDS_MAX = 4
THINK_US_MAX = 100 * MS


@dataclass(slots=True)
class Phoenix:
    """The topic: its name, its settings, and the id of its present life as far as everybody knows."""

    plan: TopicPlan
    topic_id: bytes = b""

    @property
    def partition(self) -> Partition:
        """Its only partition, in its present life."""
        return Partition(self.plan.name, 0, self.topic_id.hex())


def live_and_die(client: Client, phoenix: Phoenix, rounds: int) -> Script[None]:
    """Create and delete the topic a few times; it exists in the end."""
    admin = Admin(client)
    for _ in range(rounds):
        yield from _create(admin, phoenix)
        yield Sleep(client.chance.between(0, 2 * SECOND))
        yield from admin.delete(phoenix.plan.name)
        yield Sleep(client.chance.skewed(0, SECOND))
    yield from _create(admin, phoenix)
    client.disconnect()


def _create(admin: Admin, phoenix: Phoenix) -> Script[None]:
    yield from admin.create(phoenix.plan)
    phoenix.topic_id = yield from admin.topic_id(phoenix.plan.name)


class Haunter:
    """Writes to the topic and reads it, whichever life it knows of."""

    def __init__(self, client: Client, phoenix: Phoenix, is_over: Callable[[], bool]) -> None:
        self._client = client
        self._phoenix = phoenix
        self._is_over = is_over
        self._next_number = 0

    def script(self) -> Script[None]:
        """Do so until it is over."""
        while not self._is_over():
            yield Sleep(self._client.chance.skewed(1 * MS, THINK_US_MAX))
            if self._phoenix.topic_id:
                try:
                    yield from self._write(self._phoenix.topic_id)
                    yield from self._read(self._phoenix.topic_id)
                except Disconnected:
                    yield from self._client.back_off()
        self._client.disconnect()

    def _write(self, topic_id: bytes) -> Script[None]:
        batch = self._make_batch(topic_id)
        timestamp_ms = EPOCH_MS + self._client.world.scheduler.now_us // MS
        records = encode_values(batch.values, timestamp_ms, Codec.NONE)
        data = TopicProduceData(topic_id=topic_id, partition_data=[PartitionProduceData(index=0, records=records)])
        request = ProduceRequest(acks=-1, timeout_ms=PRODUCE_TIMEOUT_MS, topic_data=[data])
        connection = yield from self._client.connect()
        self._client.world.witness.see(Sent(batch, timestamp_ms=timestamp_ms))
        reply: ProduceResponse = yield connection.ask(request, ProduceResponse, ANY_VERSION)
        result = reply.responses[0].partition_responses[0]
        code = ErrorCode(result.error_code)
        assert code is ErrorCode.NONE or code in RETRIABLE, f"{self._client.name} got {code!r}"
        if code is ErrorCode.NONE:
            self._client.world.witness.see(Acknowledged(batch, result.base_offset))

    def _read(self, topic_id: bytes) -> Script[None]:
        partition = Partition(self._phoenix.plan.name, 0, topic_id.hex())
        fetcher = Fetcher(self._client, {partition.topic: topic_id}, uses_session=False, life=partition.life)
        yield from fetcher.fetch({partition: 0})

    def _make_batch(self, topic_id: bytes) -> Batch:
        first, chance, name = self._next_number, self._client.chance, self._client.name
        self._next_number += chance.between(1, RECORDS_MAX)
        values = tuple(make_value(name, number, chance) for number in range(first, self._next_number))
        return Batch(Partition(self._phoenix.plan.name, 0, topic_id.hex()), name, first, values, idempotent=False)
