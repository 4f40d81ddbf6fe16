"""A consumer: reads partitions through a fetch session, as Kafka's clients do, until it has seen everything.

A session is begun with all partitions and goes on with only those whose position changed; now and then one is
dropped from it and taken up again. Any error of the session, and any lost connection, begins a new one. A position
that is gone is left for the nearest that is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from penstock.core.wire.api.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from penstock.sim.clients.client import Client, Connection, Disconnected
from penstock.sim.clients.records import decode_values
from penstock.sim.events import FetchAnswered, FetchAsked, FetchPart, Partition, Repositioned, Waited
from penstock.sim.scheduler import MS
from penstock.sim.script import Script

BY_NAME_VERSION = 12
ANY_VERSION = 18
MAX_WAIT_MS = 500
EARLIEST = -2
LATEST = -1
SMALL_BYTES = 100
LARGE_BYTES = 1 << 24
FORGETS = 0.05
NO_SESSION = 0
FINAL_EPOCH = -1
LONG_WAIT_MS = 2_000
"""Waits from here on are told of; a fetch asks for half a second."""

RETRIABLE = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
SESSION_ERRORS = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)


class Want(NamedTuple):
    """What a session remembers of a partition until it is told otherwise."""

    offset: int
    bytes_max: int


@dataclass(slots=True)
class Session:
    """The client's half of a fetch session."""

    version: int
    id: int = NO_SESSION
    epoch: int = 0
    told: dict[Partition, Want] | None = None  # What the node knows that we want; None before the first answer.


class Fetcher:
    """Asks for records and tells what came; whoever uses it decides where to go on."""

    rack = ""
    """Where whoever reads stands, if it is to be served by a replica near to it."""

    def __init__(self, client: Client, topic_ids: Mapping[str, bytes], uses_session: bool, life: str = "") -> None:
        self._client = client
        self._topic_ids = topic_ids
        self._life = life
        self._names = {topic_id: name for name, topic_id in topic_ids.items()}
        self._uses_session = uses_session
        self._asked = 0
        self._machine = 1
        self._session = self._new_session()

    def fetch(self, positions: Mapping[Partition, int], isolation: int = 0) -> Script[tuple[FetchPart, ...]]:
        """Fetch once from these positions."""
        small = self._client.chance.happens(0.1)
        bytes_max = SMALL_BYTES if small else LARGE_BYTES
        wants = {partition: Want(offset, bytes_max) for partition, offset in positions.items()}
        self._asked += 1
        number = self._asked
        try:
            connection = yield from self._connect(next(iter(positions)))
            self._meet(connection.number)
            request = self._request(wants, bytes_max, isolation)
            near = self._is_near(positions)
            self._tell_asked(FetchAsked(self._client.name, number, dict(positions), small, connection.number, near))
            asked_us = self._client.world.scheduler.now_us
            reply: FetchResponse = yield connection.ask(request, FetchResponse, self._session.version)
        except Disconnected:
            self._restart()
            self._lose(positions)
            raise
        self._tell_wait(connection, (self._client.world.scheduler.now_us - asked_us) // MS)
        if reply.error_code != ErrorCode.NONE:
            assert reply.error_code in SESSION_ERRORS, f"{self._client.name} got {ErrorCode(reply.error_code)!r}"
            self._restart()
            return ()
        self._advance(reply, wants)
        parts = tuple(self._parts(reply))
        self._tell_answered(FetchAnswered(self._client.name, number, parts), positions)
        self._lose(
            part.partition for part in parts if part.error not in (ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE)
        )
        return parts

    def find_offset(self, partition: Partition, timestamp: int) -> Script[int | None]:
        """Give the offset at a (special) timestamp, or None where the node cannot say now."""
        yield from self._client.connect_to(partition)  # From then on it is known in which epoch somebody leads.
        asked = ListOffsetsPartition(
            partition_index=partition.number,
            timestamp=timestamp,
            current_leader_epoch=self._client.epoch_of(partition),
        )
        request = ListOffsetsRequest(
            replica_id=-1, topics=[ListOffsetsTopic(name=partition.topic, partitions=[asked])], timeout_ms=MAX_WAIT_MS
        )
        reply = yield from self._client.insist(request, ListOffsetsResponse, partition)
        found = reply.topics[0].partitions[0]
        if found.error_code == ErrorCode.NONE:
            return found.offset
        self._client.lose(partition)
        return None

    def find_nearest(self, partition: Partition, position: int) -> Script[int | None]:
        """Where to go on when a position is gone: at the start if that has passed it, else at the end."""
        start = yield from self.find_offset(partition, EARLIEST)
        if start is None or position < start:
            return start
        return (yield from self.find_offset(partition, LATEST))

    def _connect(self, partition: Partition) -> Script[Connection]:
        """To whom a fetch goes."""
        return (yield from self._client.connect_to(partition))

    def _is_near(self, partitions: Iterable[Partition]) -> bool:
        """Whether that is a replica that was named to read from, and not who leads."""
        return False

    def _lose(self, partitions: Iterable[Partition]) -> None:
        for partition in partitions:
            self._client.lose(partition)

    def _tell_asked(self, asked: FetchAsked) -> None:
        self._client.world.witness.see(asked)

    def _tell_answered(self, answered: FetchAnswered, positions: Mapping[Partition, int]) -> None:
        self._client.world.witness.see(answered)

    def _tell_wait(self, connection: Connection, waited_ms: int) -> None:
        if waited_ms >= LONG_WAIT_MS:
            self._client.world.witness.see(Waited(self._client.name, waited_ms, excused=connection.faulted))

    # ---- the session

    def _new_session(self, old_id: int = NO_SESSION) -> Session:
        version = ANY_VERSION if self._life else self._client.chance.pick((BY_NAME_VERSION, ANY_VERSION))
        return Session(version, id=old_id, epoch=0 if self._uses_session else FINAL_EPOCH)

    def _meet(self, machine: int) -> None:
        """A session is with one machine; with another one it begins anew."""
        if machine != self._machine:
            self._machine = machine
            self._session = self._new_session()

    def _restart(self) -> None:
        self._session = self._new_session(self._session.id if self._uses_session else NO_SESSION)

    def _advance(self, reply: FetchResponse, wants: dict[Partition, Want]) -> None:
        if not self._uses_session:
            return
        if reply.session_id == NO_SESSION:
            self._session = self._new_session()
            return
        self._session.id = reply.session_id
        self._session.epoch += 1
        self._session.told = wants

    def _request(self, wants: dict[Partition, Want], max_bytes: int, isolation: int) -> FetchRequest:
        session, told = self._session, self._session.told or {}
        changed = {partition: want for partition, want in wants.items() if told.get(partition) != want}
        forgotten = [partition for partition in told if partition not in wants]
        return FetchRequest(
            max_wait_ms=MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=max_bytes,
            isolation_level=isolation,
            rack_id=self.rack,
            session_id=session.id,
            session_epoch=session.epoch,
            topics=[self._topic(topic, changed) for topic in _topics(changed)],
            forgotten_topics_data=[self._forgotten(topic, forgotten) for topic in _topics(forgotten)],
        )

    def _topic(self, topic: str, wants: dict[Partition, Want]) -> FetchTopic:
        partitions = [
            FetchPartition(
                partition=partition.number,
                current_leader_epoch=self._client.epoch_of(partition),
                fetch_offset=want.offset,
                partition_max_bytes=want.bytes_max,
            )
            for partition, want in wants.items()
            if partition.topic == topic
        ]
        return FetchTopic(topic=topic, topic_id=self._topic_ids[topic], partitions=partitions)

    def _forgotten(self, topic: str, partitions: Iterable[Partition]) -> ForgottenTopic:
        numbers = [partition.number for partition in partitions if partition.topic == topic]
        return ForgottenTopic(topic=topic, topic_id=self._topic_ids[topic], partitions=numbers)

    def _parts(self, reply: FetchResponse) -> Iterable[FetchPart]:
        for topic in reply.responses:
            name = topic.topic or self._names[topic.topic_id]
            for data in topic.partitions:
                code = ErrorCode(data.error_code)
                excused = code in RETRIABLE or code in self._client.excuses
                assert excused, f"{self._client.name} got {code!r} from {name}-{data.partition_index}"
                yield self._part(Partition(name, data.partition_index, self._life), code, data)

    def _part(self, partition: Partition, code: ErrorCode, data: PartitionData) -> FetchPart:
        decoded = decode_values(records_of(data))
        return FetchPart(
            partition,
            code,
            data.high_watermark,
            decoded.values,
            decoded.damaged,
            data.log_start_offset,
            decoded.next_offset,
            decoded.size_bytes,
            data.preferred_read_replica,
        )


class Consumer:
    """Reads some partitions for itself."""

    def __init__(
        self,
        client: Client,
        fetcher: Fetcher,
        partitions: Iterable[Partition],
        is_done: Callable[[Mapping[Partition, int]], bool],
    ) -> None:
        self._client = client
        self._fetcher = fetcher
        self._is_done = is_done
        self._isolation = client.chance.between(0, 1)
        self._positions = dict.fromkeys(partitions, 0)

    def script(self) -> Script[None]:
        """Read until everything has been seen."""
        while not self._is_done(self._positions):
            try:
                for part in (yield from self._fetcher.fetch(self._choose(), self._isolation)):
                    yield from self._take(part)
            except Disconnected:
                yield from self._client.back_off()
        self._client.disconnect()

    def _choose(self) -> dict[Partition, int]:
        chosen = {
            partition: position
            for partition, position in self._positions.items()
            if not self._client.chance.happens(FORGETS)
        }
        return chosen or dict(self._positions)

    def _take(self, part: FetchPart) -> Script[None]:
        if part.goes_on_at is not None:
            self._positions[part.partition] = part.goes_on_at
        elif part.error == ErrorCode.OFFSET_OUT_OF_RANGE:
            before = self._positions[part.partition]
            nearest = yield from self._fetcher.find_nearest(part.partition, before)
            if nearest is not None:
                self._positions[part.partition] = nearest
                self._client.world.witness.see(Repositioned(self._client.name, part.partition, before, nearest))
        elif part.error != ErrorCode.NONE:
            yield from self._client.back_off()


def records_of(data: PartitionData) -> bytes:
    return b"" if data.records is None else bytes(data.records)  # type: ignore[call-overload]  # Records is a buffer when decoded.


def _topics(partitions: Iterable[Partition]) -> list[str]:
    return list(dict.fromkeys(partition.topic for partition in partitions))
