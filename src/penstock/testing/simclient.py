"""A client in the simulated world. Its methods are generators, to be used with `yield from`.

Each asks once. What became of a question that got no answer is unknown, as with any client, and whoever asked decides
whether to ask again: `insist` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, ParamSpec, TypeVar

from penstock.core.base.errors import ErrorCode
from penstock.core.records.batch import iterate_headers
from penstock.core.records.build import build_batch
from penstock.core.records.codecs import Codec
from penstock.core.records.record import iterate
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from penstock.core.wire.api.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from penstock.sim.clients.client import Client, Disconnected
from penstock.sim.clients.consumer import LATEST, Fetcher
from penstock.sim.clients.offsets import Archive, Membership, Offsets
from penstock.sim.events import Acknowledged, Batch, FetchAnswered, FetchAsked, FetchPart, Partition, Sent
from penstock.sim.scheduler import EPOCH_MS, MS, SECOND
from penstock.sim.script import Script, Sleep

P = ParamSpec("P")
T = TypeVar("T")

ACKS_ALL: Final = -1
BY_NAME_VERSION: Final = 12
TIMEOUT_MS: Final = 20_000
WAIT_MS: Final = 500
BYTES_MAX: Final = 1 << 24


class Uncertain(Exception):
    """The connection ended before there was an answer: it may have happened, or not, or may still."""


class Refused(Exception):
    """It did not happen; `code` says why."""

    def __init__(self, code: int) -> None:
        super().__init__(ErrorCode(code).name)
        self.code = ErrorCode(code)


class Record(NamedTuple):
    """One record as it was read."""

    offset: int
    key: bytes | None
    value: bytes | None


class SimClient:
    """One program that uses the cluster."""

    def __init__(self, client: Client, topic_ids: Mapping[str, bytes], archive: Archive) -> None:
        self._client = client
        self._fetcher = Fetcher(client, topic_ids, uses_session=False)
        self._offsets = Offsets(client, topic_ids, archive)
        self._asked = 0
        self._sent = 0

    @property
    def name(self) -> str:
        return self._client.name

    @property
    def now(self) -> float:
        """Seconds since the world began."""
        return self._client.world.scheduler.now_us / SECOND

    def chance(self, options: int) -> int:
        """A number below `options`, from this client's own dice: the seed decides."""
        return self._client.chance.between(0, options - 1)

    def pause(self, seconds: float) -> Script[None]:
        yield Sleep(round(seconds * SECOND))

    def insist(self, ask: Callable[P, Script[T]], *arguments: P.args, **options: P.kwargs) -> Script[T]:
        """Ask until there is an answer, as in `client.insist(client.send, "orders", b"paid")`. What is asked may happen
        more than once."""
        while True:
            try:
                return (yield from ask(*arguments, **options))
            except (Uncertain, Refused):
                yield from self._client.back_off()

    # ---- records

    def send(
        self, topic: str, value: bytes, key: bytes | None = None, partition: int = 0, acks: int = ACKS_ALL
    ) -> Script[int]:
        """Write a record; gives its offset when it is acknowledged: by all in sync, or by the leader alone (1)."""
        assert acks in (ACKS_ALL, 1), "without an answer there is nothing to give"
        where = Partition(topic, partition)
        batch = Batch(where, self.name, self._sent, (value,), idempotent=False)
        self._sent += 1
        now_ms = EPOCH_MS + self._client.world.scheduler.now_us // MS
        records = build_batch([(key, value, (), now_ms)], codec=Codec.NONE)
        data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=records)])
        request = ProduceRequest(acks=acks, timeout_ms=TIMEOUT_MS, topic_data=[data])
        try:
            connection = yield from self._client.connect_to(where)
            self._client.world.witness.see(Sent(batch, timestamp_ms=now_ms))
            reply: ProduceResponse = yield connection.ask(request, ProduceResponse, BY_NAME_VERSION)
        except Disconnected:
            self._client.lose(where)
            raise Uncertain from None
        result = reply.responses[0].partition_responses[0]
        self._check(result.error_code, where)
        if acks == ACKS_ALL:
            self._client.world.witness.see(Acknowledged(batch, result.base_offset))
        return result.base_offset

    def read(self, topic: str, offset: int, partition: int = 0) -> Script[list[Record]]:
        """The committed records from an offset on, as many as come at once; none if none come for half a second."""
        where = Partition(topic, partition)
        asked = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=BYTES_MAX)
        request = FetchRequest(
            max_wait_ms=WAIT_MS,
            min_bytes=1,
            max_bytes=BYTES_MAX,
            session_epoch=-1,
            topics=[FetchTopic(topic=topic, partitions=[asked])],
        )
        witness, self._asked = self._client.world.witness, self._asked + 1
        try:
            connection = yield from self._client.connect_to(where)
            witness.see(FetchAsked(self.name, self._asked, {where: offset}, machine=connection.number))
            reply: FetchResponse = yield connection.ask(request, FetchResponse, BY_NAME_VERSION)
        except Disconnected:
            self._client.lose(where)
            raise Uncertain from None
        data = reply.responses[0].partitions[0]
        self._check(data.error_code, where)
        found, next_offset = _decode(bytes(data.records or b""))  # type: ignore[call-overload]  # Records is a buffer when decoded.
        values = tuple((record.offset, record.value or b"") for record in found)
        part = FetchPart(where, ErrorCode.NONE, data.high_watermark, values, next_offset=next_offset)
        witness.see(FetchAnswered(self.name, self._asked, (part,)))
        return [record for record in found if record.offset >= offset]

    def end(self, topic: str, partition: int = 0) -> Script[int]:
        """Where the committed records of a partition end."""
        while (found := (yield from self._fetcher.find_offset(Partition(topic, partition), LATEST))) is None:
            yield from self._client.back_off()
        return found

    # ---- offsets of groups

    def commit(self, group: str, topic: str, offset: int, partition: int = 0) -> Script[None]:
        """Commit an offset for a group that has no members."""
        code = yield from self._coordinated(
            group, lambda: self._offsets.commit(Membership(group, "", -1), Partition(topic, partition), offset)
        )
        if code:
            raise Refused(code)

    def committed(self, group: str, topic: str, partition: int = 0) -> Script[int]:
        """What a group has committed; -1 if nothing."""
        offset, code = yield from self._coordinated(
            group, lambda: self._offsets.read(group, Partition(topic, partition))
        )
        if code:
            raise Refused(code)
        return offset

    def _coordinated(self, group: str, ask: Callable[[], Script[T]]) -> Script[T]:
        try:
            code = yield from self._client.find_coordinator(group)
            if code:
                raise Refused(code)
            return (yield from ask())
        except Disconnected:
            raise Uncertain from None

    def _check(self, code: int, where: Partition) -> None:
        if code:
            self._client.lose(where)
            raise Refused(code)


def _decode(data: bytes) -> tuple[list[Record], int]:
    """Records, and where the last whole batch ends (-1: there is none)."""
    found, next_offset = list[Record](), -1
    for position, header in iterate_headers(data, partial_tail=True):
        found += [Record(record.offset, record.key, record.value) for record in iterate(data, position)]
        next_offset = header.next_offset
    return found, next_offset
