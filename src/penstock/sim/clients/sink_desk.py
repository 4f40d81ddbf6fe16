"""Performs what the machines of the exactly-once sink ask for, in the simulated world: the requests that the blocking
client sends, at nodes that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

from penstock.core.base.errors import ErrorCode
from penstock.core.delivery.exactly_once.asks import (
    Ask,
    End,
    Fill,
    GoneAmong,
    Introduce,
    IsCurrent,
    ListOpen,
    Look,
    Outcome,
    ReadNewest,
    Taken,
    TakeOver,
    WriteRecord,
)
from penstock.core.delivery.exactly_once.ids import is_task_of
from penstock.core.delivery.exactly_once.values import CommitRecord, Part, Place, Producer, decoded, encoded
from penstock.core.records.batch import BatchHeader, iterate_headers
from penstock.core.records.build import build_batch
from penstock.core.records.codecs import Codec
from penstock.core.records.control import ControlType, decode_key
from penstock.core.records.record import iterate
from penstock.core.wire.api.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from penstock.core.wire.api.end_txn import EndTxnRequest, EndTxnResponse
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from penstock.core.wire.api.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from penstock.core.wire.schema import Request, Response
from penstock.sim.clients.client import Client, Connection, Disconnected
from penstock.sim.clients.transactor import COMES_AGAIN, END_FIRST, FENCED, TRANSACTION
from penstock.sim.events import Partition
from penstock.sim.scheduler import EPOCH_MS, MS
from penstock.sim.script import Script

R = TypeVar("R", bound=Response)
BYTES_MAX: Final = 1 << 22
PRODUCE_VERSION: Final = 12
FETCH_VERSION: Final = 12
PRODUCE_TIMEOUT_MS: Final = 5_000
ENDED_OTHERWISE: Final = FENCED | {ErrorCode.INVALID_TXN_STATE, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND}
RETRIED: Final = frozenset({ErrorCode.TRANSACTION_ABORTABLE}) | COMES_AGAIN


class WriterFenced(Exception):
    """Somebody else goes on under a task's transactional id."""


class SinkDesk:
    """For one process of a query. `rows_of` says what a task writes, and where."""

    def __init__(
        self,
        client: Client,
        commits: Partition,
        machines: Mapping[int, object],
        timeout_ms: int,
        two_phase: bool,
        rows_of: Callable[[str], tuple[Partition, tuple[bytes, ...]]],
    ) -> None:
        self._client = client
        self._commits = commits
        self._machines = machines
        self._timeout_ms = timeout_ms
        self._two_phase = two_phase
        self._rows_of = rows_of

    def perform(self, ask: Ask) -> Script[Any]:
        match ask:
            case Introduce(name):
                answer = yield from self._introduce(name)
                return Producer(answer.producer_id, answer.producer_epoch)
            case TakeOver(name):
                return (yield from self._take_over(name))
            case End():
                return (yield from self._end(ask))
            case IsCurrent(name, producer):
                return (yield from self._describe(name))[1] == producer
            case GoneAmong(parts):
                return (yield from self._gone(parts))
            case ListOpen(query):
                return (yield from self._open(query))
            case WriteRecord(name, producer, record):
                return (yield from self._write_record(name, producer, record))
            case ReadNewest(query):
                return (yield from self._newest(query))
            case Look(part):
                return (yield from self._look(part))
            case Fill():
                return (yield from self._fill(ask))

    # ---- at coordinators

    def _introduce(self, name: str, **flags: bool) -> Script[InitProducerIdResponse]:
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=self._timeout_ms, **flags)
        newest = 6 if flags else 5
        return (
            yield from self._coordinated(name, request, InitProducerIdResponse, lambda each: each.error_code, newest)
        )

    def _take_over(self, name: str) -> Script[Taken | None]:
        if not self._two_phase:
            return None
        answer = yield from self._introduce(name, enable2_pc=True, keep_prepared_txn=True)
        assert answer.error_code == ErrorCode.NONE, ErrorCode(answer.error_code)
        was = Producer(answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch)
        return Taken(Producer(answer.producer_id, answer.producer_epoch), None if was.id < 0 else was)

    def _end(self, ask: End) -> Script[bool]:
        request = EndTxnRequest(
            transactional_id=ask.transactional_id,
            producer_id=ask.producer.id,
            producer_epoch=ask.producer.epoch,
            committed=ask.committed,
        )
        answer = yield from self._coordinated(
            ask.transactional_id, request, EndTxnResponse, lambda each: each.error_code, END_FIRST
        )
        assert answer.error_code in ENDED_OTHERWISE | {ErrorCode.NONE}, ErrorCode(answer.error_code)
        return answer.error_code == ErrorCode.NONE

    def _describe(self, name: str) -> Script[tuple[str, Producer | None]]:
        request = DescribeTransactionsRequest(transactional_ids=[name])
        answer = yield from self._coordinated(
            name, request, DescribeTransactionsResponse, lambda each: each.transaction_states[0].error_code
        )
        (found,) = answer.transaction_states
        if found.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            return "", None
        return found.transaction_state, Producer(found.producer_id, found.producer_epoch)

    def _gone(self, parts: tuple[Part, ...]) -> Script[frozenset[str]]:
        gone = set()
        for part in parts:
            if (yield from self._describe(part.transactional_id)) != ("Ongoing", part.writer):
                gone.add(part.transactional_id)
        return frozenset(gone)

    def _open(self, query: str) -> Script[tuple[tuple[str, Producer], ...]]:
        """Who does not answer is asked before the next batch."""
        found = []
        for name in (yield from self.known(query, ("Ongoing",))):
            state, producer = yield from self._describe(name)
            if state == "Ongoing" and producer is not None:
                found.append((name, producer))
        return tuple(found)

    def known(self, query: str, states: tuple[str, ...] = ()) -> Script[list[str]]:
        """The transactional ids of a query's tasks, of those who answer."""
        names = set()
        for machine in self._machines:
            connection = Connection(self._client.name, self._client.world, machine)
            try:
                yield connection.ready
                answer = yield connection.ask(
                    ListTransactionsRequest(state_filters=list(states)), ListTransactionsResponse
                )
                names |= {each.transactional_id for each in answer.transaction_states}
                connection.close()
            except Disconnected:
                continue
        return sorted(each for each in names if is_task_of(query, each))

    def _coordinated(
        self, name: str, request: Request, response: type[R], code_of: Callable[[R], int], newest: int | None = None
    ) -> Script[R]:
        """Ask the coordinator of an id until it says something that is final."""
        while True:
            try:
                if (yield from self._client.find_coordinator(name, TRANSACTION)) == ErrorCode.NONE:
                    reply = yield from self._client.call_coordinator(request, response, newest)
                    code = ErrorCode(code_of(reply))
                    if code not in COMES_AGAIN and code not in self._client.excuses:
                        return reply
            except Disconnected:
                pass
            yield from self._client.back_off()

    # ---- at leaders

    def _write_record(self, name: str, producer: Producer, record: CommitRecord) -> Script[bool]:
        try:
            yield from self._produce(self._commits, name, producer, [(record.query.encode(), encoded(record))])
        except WriterFenced:
            return False
        return True

    def _fill(self, ask: Fill) -> Script[Part]:
        where, rows = self._rows_of(ask.task)
        offset = yield from self._produce(where, ask.transactional_id, ask.producer, [(None, row) for row in rows])
        place = Place(where.topic, where.number, offset)
        return Part(ask.task, ask.transactional_id, ask.producer, len(rows), 0, place)

    def _produce(
        self, where: Partition, name: str, producer: Producer, rows: list[tuple[bytes | None, bytes]]
    ) -> Script[int]:
        now_ms = self._now_ms()
        records = build_batch(
            [(key, value, (), now_ms) for key, value in rows],
            codec=Codec.NONE,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            base_sequence=0,
            transactional=True,
        )
        return (yield from self._sent(where, name, records))

    def _now_ms(self) -> int:
        return EPOCH_MS + self._client.world.scheduler.now_us // MS

    def _sent(self, where: Partition, name: str | None, records: bytearray) -> Script[int]:
        data = TopicProduceData(
            name=where.topic, partition_data=[PartitionProduceData(index=where.number, records=records)]
        )
        request = ProduceRequest(transactional_id=name, acks=-1, timeout_ms=PRODUCE_TIMEOUT_MS, topic_data=[data])
        while True:
            try:
                connection = yield from self._client.connect_to(where)
                reply: ProduceResponse = yield connection.ask(request, ProduceResponse, PRODUCE_VERSION)
                result = reply.responses[0].partition_responses[0]
                code = ErrorCode(result.error_code)
                if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                    return result.base_offset
                if code not in RETRIED and code not in self._client.excuses:
                    raise WriterFenced(code.name)
            except Disconnected:
                pass
            self._client.lose(where)
            yield from self._client.back_off()

    def _newest(self, query: str) -> Script[CommitRecord | None]:
        """Up to a mark that only the leader can write: one that was cut off may tell of the past."""
        end = (yield from self._mark(query)) + 1
        everything = yield from self._all(self._commits, 0)
        while everything[-1][0].next_offset < end:
            self._client.lose(self._commits)
            yield from self._client.back_off()
            everything = yield from self._all(self._commits, 0)
        newest: bytes | None = None
        undecided: dict[int, bytes] = {}
        for header, mark, pairs in everything:
            if mark is not None:
                value = undecided.pop(header.producer_id, None)
                newest = value if mark and value is not None else newest
            for value in (value for key, value in pairs if key == query.encode()):
                undecided[header.producer_id] = value
        return None if newest is None else decoded(newest)

    def _mark(self, query: str) -> Script[int]:
        records = build_batch([(b"\xff" + query.encode(), None, (), self._now_ms())], codec=Codec.NONE)
        return (yield from self._sent(self._commits, None, records))

    def _look(self, part: Part) -> Script[Outcome]:
        place = part.place
        for header, mark, _ in (yield from self._all(Partition(place.topic, place.partition), place.offset)):
            if header.producer_id == part.writer.id and mark is not None:
                return Outcome.COMMITTED if mark else Outcome.ABORTED
        yield from self._client.back_off()
        return Outcome.OPEN

    def _all(
        self, where: Partition, first: int
    ) -> Script[list[tuple[BatchHeader, bool | None, list[tuple[Any, bytes]]]]]:
        """Every batch from an offset up to the high watermark, with what its mark says."""
        found = []
        position = first
        while True:
            data = yield from self._fetch(where, position)
            before = position
            for header, mark, pairs in _batches(data.records or b""):
                if header.last_offset >= position:
                    found.append((header, mark, pairs))
                    position = header.next_offset
            if position >= data.high_watermark:
                return found
            if position == before:
                yield from self._client.back_off()

    def _fetch(self, where: Partition, position: int) -> Script[Any]:
        asked = FetchPartition(partition=where.number, fetch_offset=position, partition_max_bytes=BYTES_MAX)
        topic = FetchTopic(topic=where.topic, partitions=[asked])
        request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=BYTES_MAX, session_epoch=-1, topics=[topic])
        while True:
            try:
                connection = yield from self._client.connect_to(where)
                reply: FetchResponse = yield connection.ask(request, FetchResponse, FETCH_VERSION)
                if reply.error_code == ErrorCode.NONE:
                    (data,) = reply.responses[0].partitions
                    if data.error_code == ErrorCode.NONE:
                        return data
            except Disconnected:
                pass
            self._client.lose(where)
            yield from self._client.back_off()

    def committed(self, where: Partition) -> Script[list[bytes]]:
        """What counts in a partition, once everything in it is decided."""
        while True:
            undecided: dict[int, list[bytes]] = {}
            seen: list[bytes] = []
            for header, mark, pairs in (yield from self._all(where, 0)):
                if mark is not None:
                    ended = undecided.pop(header.producer_id, [])
                    seen += ended if mark else []
                else:
                    undecided.setdefault(header.producer_id, []).extend(value for _, value in pairs)
            if not undecided:
                return seen
            yield from self._client.back_off()


def _batches(blob: Any) -> Iterator[tuple[BatchHeader, bool | None, list[tuple[Any, bytes]]]]:
    for at, header in iterate_headers(blob, partial_tail=True):
        records = list(iterate(blob, at))
        if not header.is_control:
            yield header, None, [(each.key, each.value or b"") for each in records]
        else:
            kind = decode_key(records[0].key) if records else ControlType.UNKNOWN
            yield header, kind is ControlType.COMMIT if kind in (ControlType.COMMIT, ControlType.ABORT) else None, []
