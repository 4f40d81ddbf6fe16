"""The synchronous node with nothing around it: a disk in memory, a clock that tests move, connections without sockets.

Everything here happens in the test's own stack: no loop, no thread, no wait. With `delay` operations finish only when
the test says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from importlib import import_module
from random import Random
from typing import Any

from penstock.core.apis.table import make_node
from penstock.core.base import ports
from penstock.core.base.ports import LATER, Done, FileOp, Slice
from penstock.core.base.settings import BrokerSettings
from penstock.core.node.node import Node
from penstock.core.node.serving.api import Api
from penstock.core.node.serving.connection import Connection
from penstock.core.records.batch import iterate_headers
from penstock.core.records.build import build_batch
from penstock.core.records.record import iterate
from penstock.core.wire.api.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchTopic
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from penstock.core.wire.frames import FrameReader, parse_response_header, request_frame
from penstock.core.wire.schema import Request, Response
from penstock.schemas.payloads.making import make_check
from tests.log.memory_files import Disk, MemoryFiles

NOW_MS = 1_700_000_000_000
SETTINGS = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": "/data",
    "offsets.topic.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
}


class NodeFiles(MemoryFiles):
    """The disk in memory as a whole node uses it: it has a size, and a pause lets others run."""

    def _freespace(self, op: ports.FreeSpace) -> tuple[int, int]:
        free = 1 << 40 if self.space_bytes is None else self.space_bytes
        return free, 1 << 40

    def perform(self, op: FileOp, done: Done) -> object:
        if self.delay is None and isinstance(op, ports.Pause):
            self.pending.append((op, op, done))
            return LATER
        return super().perform(op, done)


class Seeded:
    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)


class World:
    """One node over one disk. `restart` makes the next process over the same disk."""

    def __init__(
        self, settings: Mapping[str, str] | None = None, disk: Disk | None = None, seed: int = 1, start: bool = True
    ) -> None:
        self.given = dict(settings or {})
        self.instead: dict[int, Api[Node]] = {}
        """APIs that clients get from now on instead of the node's."""
        self.disk = disk or Disk()
        self.seed = seed
        self.now_ms = NOW_MS
        self.notes: list[tuple[str, str]] = []
        self._new_process()
        if start:
            self.start()
            assert self.node.state == "running", self.node.failure

    def _new_process(self) -> None:
        self.files = NodeFiles(self.disk)
        self.clients: dict[Connection, Client] = {}
        settings = BrokerSettings(self.file())
        seeded, note = Seeded(self.seed), lambda fact: self.notes.append((fact.level, fact.text))
        self.node: Node = make_node(settings, self.files, seeded, note, make_check=make_check)

    def file(self) -> dict[str, str]:
        """The settings of the next process."""
        return {**SETTINGS, **self.given}

    def start(self) -> None:
        self.turn(self.node.start)
        self.settle()

    def stop(self) -> None:
        self.turn(self.node.stop)
        self.settle()
        assert self.node.state == "stopped", self.node.failure

    def restart(self, clean: bool = True, **settings: str) -> None:
        """The next process; without `clean` this one just disappears."""
        if clean:
            self.stop()
        self.given.update(settings)
        self.seed += 1
        self.now_ms += 1000
        self._new_process()
        self.start()

    def turn(self, event: Callable[[], object]) -> None:
        """One event, and then whatever it gave to send: a slice is read at once, as its file may go."""
        self.node.begin(self.now_ms)
        event()
        while ready := self.node.finish():
            for connection in ready:
                if connection in self.clients:
                    self.clients[connection].collect()

    def settle(self, operations_max: int = 1_000_000) -> None:
        """Let everything that was asked of the disk come true."""
        for _ in range(operations_max):
            if not self.files.pending:
                return
            self.finish_one()
        raise AssertionError("the node never comes to rest")

    def run_due(self) -> None:
        """Give turns to what was put off until everybody else had theirs, as a large request is."""
        while (at_ms := self.node.next_deadline_ms()) is not None and at_ms <= self.now_ms:
            self.turn(self.node.tick)
            self.settle()

    def finish_one(self) -> None:
        self.turn(self.files.finish_one)

    def hold(self) -> None:
        """From now on nothing finishes by itself."""
        self.files.delay = Random(0)

    def release(self) -> None:
        """Finish what is held, and go back to finishing at once."""
        self.settle()
        self.files.delay = None

    def pass_time(self, duration_ms: int, settle: bool = True) -> None:
        """Move the clock, running each deadline at its time."""
        end_ms = self.now_ms + duration_ms
        while (at_ms := self.node.next_deadline_ms()) is not None and at_ms <= end_ms:
            self.now_ms = max(self.now_ms, at_ms)
            self.turn(self.node.tick)
            if settle:
                self.settle()
        self.now_ms = end_ms

    def client(self, host: str = "10.0.0.1") -> Client:
        connection = self.node.connect(host, 1)
        assert connection is not None, "the node refused the connection"
        connection.apis = {**connection.apis, **self.instead}
        self.clients[connection] = Client(self, connection)
        return self.clients[connection]

    def create(self, name: str, partitions: int = 1, **configs: str) -> None:
        named = [CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()]
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=named)
        answer = self.client().ask(CreateTopicsRequest(topics=[topic], timeout_ms=1000))
        assert answer.topics[0].error_code == 0, answer

    def topic_id(self, name: str) -> bytes:
        topic = self.node.image.topic(name)
        assert topic is not None
        return topic.id


class Client:
    """One connection: asks in any version, and gives the answers in the order they came."""

    def __init__(self, world: World, connection: Connection) -> None:
        self.world = world
        self.connection = connection
        self._asked: deque[tuple[type[Response], int, int]] = deque()
        self._reader = FrameReader(1 << 30)
        self._number = 0
        self._received = b""

    def collect(self) -> None:
        """Take what the node has for this client."""
        self._received += b"".join(self._bytes_of(part) for part in self.connection.take_output())
        self.connection.sent(0)

    def send(self, request: Request, version: int | None = None, answered: bool = True) -> None:
        self.world.turn(lambda: self.connection.feed(self.frame(request, version, answered)))

    def frame(self, request: Request, version: int | None = None, answered: bool = True) -> bytes:
        key = type(request).KEY
        version = self.world.node.apis[key].versions[-1] if version is None else version
        self._number += 1
        if answered:
            self._asked.append((response_of(request), version, self._number))
        parts: list[Any] = request_frame(request, key, version, self._number, "test")
        return b"".join(map(bytes, parts))

    def received(self) -> bytes:
        """What has come so far, as it came."""
        data, self._received = self._received, b""
        return data

    def replies(self) -> list[Any]:
        """What has come so far, decoded."""
        data = self.received()
        return [self._decode(bytes(frame)) for frame in self._reader.feed(data)] if data else []

    def ask(self, request: Request, version: int | None = None) -> Any:
        """Ask, let the disk do its work, and give the one answer."""
        self.send(request, version)
        self.world.settle()
        replies = self.replies()
        if not replies:
            self.world.run_due()
            replies = self.replies()
        assert len(replies) == 1, f"{len(replies)} replies instead of one"
        return replies[0]

    def close(self) -> None:
        self.world.turn(self.connection.closed)

    def _bytes_of(self, part: Any) -> bytes:
        if isinstance(part, Slice):
            return self.world.files.content(part.file.path)[part.position : part.position + part.length]
        return bytes(part)

    def _decode(self, frame: bytes) -> Response:
        response, version, number = self._asked.popleft()
        found, position = parse_response_header(frame, response.KEY, version)
        assert found == number, "replies are out of order"
        return response.decode(frame, version, position)


def response_of(request: Request) -> type[Response]:
    name = type(request).__name__.removesuffix("Request") + "Response"
    found: type[Response] = getattr(import_module(type(request).__module__), name)
    return found


def produce(
    topic: str,
    *values: bytes,
    partition: int = 0,
    acks: int = -1,
    timeout_ms: int = 1000,
    key: bytes | None = None,
    **fields: Any,
) -> ProduceRequest:
    """One batch with a record per value; use at version 9."""
    batch = bytes(build_batch([(key, value, (), NOW_MS) for value in values], **fields))
    data = PartitionProduceData(index=partition, records=batch)
    return ProduceRequest(
        acks=acks, timeout_ms=timeout_ms, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
    )


def fetch(
    wanted: Mapping[tuple[str, int], int],
    *,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    partition_bytes: int = 1 << 20,
    session: tuple[int, int] = (0, -1),
    forgotten: Any = (),
) -> FetchRequest:
    """Fetch from offsets by (topic, partition); use at version 11."""
    topics: dict[str, FetchTopic] = {}
    for (name, partition), offset in wanted.items():
        topic = topics.setdefault(name, FetchTopic(topic=name, partitions=[]))
        topic.partitions.append(
            FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=partition_bytes)
        )
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        session_id=session[0],
        session_epoch=session[1],
        topics=list(topics.values()),
        forgotten_topics_data=list(forgotten),
    )


def values_of(records: Any) -> list[bytes | None]:
    """The values in what a fetch gave for one partition."""
    data = bytes(records or b"")
    found = []
    for position, _ in iterate_headers(data, partial_tail=True):
        found += [record.value for record in iterate(data, position)]
    return found


def found_in(answer: Any) -> dict[tuple[str, int], Any]:
    """A fetch response's partitions by (topic, partition)."""
    return {(topic.topic, data.partition_index): data for topic in answer.responses for data in topic.partitions}
