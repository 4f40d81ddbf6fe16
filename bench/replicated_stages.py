"""Where the microseconds of one replicated request go: three nodes in one process, wires instead of sockets.

`python -m bench.replicated_stages` prints the turns of a request with acks=all in processor time. The leader
appends and answers the followers' fetches; a follower copies and asks again, which is its acknowledgement; the leader
hears that of each follower, and answers after the last. `--keep` and the ratchet are those of `bench.stages`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.stages import IN_FLIGHT, InlineDisk, Seeded, compare_with_kept, frame
from penstock.core.apis.table import make_node
from penstock.core.base.ports import Buffer, Slice, WireEvents
from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.storage import META_FILE, META_VERSION, Meta, encode_meta, uuid_text
from penstock.core.node.node import Node
from penstock.core.node.serving.connection import Connection
from penstock.core.records.build import build_batch
from penstock.core.wire.api.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData

NODES = (1, 2, 3)
BROKER_PORT, CONTROLLER_PORT = 9000, 9100
BEGAN_MS = 1_700_000_000_000
TOPIC = "t"
ROUNDS = 7
REQUESTS = 400
KEPT = Path(__file__).parent / "results" / "replicated_stages.json"


class Wire:
    """Both directions of a connection; what one side says is an event of the other side's."""

    def __init__(self, world: World, number: int, events: WireEvents) -> None:
        self._world = world
        self._number = number
        self._events: WireEvents | None = events
        self._far: tuple[int, Connection] | None = None

    def open(self, number: int, listener: str) -> None:
        """The far node takes the connection, if it is ready to."""
        node = self._world.nodes[number]
        connection = node.connect("127.0.0.1", self._number, listener)
        if connection is None:
            self._world.later(self._number, lambda: self._near(lambda events: events.lost(refused=False)))
            return
        self._far = number, connection
        self._world.wires[connection] = self
        self._world.later(self._number, lambda: self._near(lambda events: events.opened()))

    def send(self, parts: Sequence[Buffer]) -> None:
        assert self._far is not None, "nothing may be sent before the wire is open"
        number, connection = self._far
        data = b"".join(parts)
        self._world.later(number, lambda: connection.feed(data))

    def answer(self, data: bytes) -> None:
        lent = bytearray(data)
        self._world.later(self._number, lambda: self._near(lambda events: events.received(memoryview(lent))))

    def reset(self) -> None:
        self.close()

    def close(self) -> None:
        self._events = None
        if self._far is not None:
            number, connection = self._far
            self._world.wires.pop(connection, None)
            self._world.later(number, connection.closed)

    def _near(self, event: Callable[[WireEvents], None]) -> None:
        if self._events is not None:
            event(self._events)


class Way:
    """The `Network` of one node."""

    def __init__(self, world: World, number: int) -> None:
        self._world = world
        self._number = number

    def dial(self, host: str, port: int, events: WireEvents, listener: str = "") -> Wire:
        wire = Wire(self._world, self._number, events)
        is_broker = port < CONTROLLER_PORT
        number, listener = port - (BROKER_PORT if is_broker else CONTROLLER_PORT), "PLAINTEXT"
        self._world.later(number, lambda: wire.open(number, listener if is_broker else "CONTROLLER"))
        return wire


class World:
    """Three nodes whose events wait in one line. Each turn is charged to its node."""

    def __init__(self, folder: str) -> None:
        self._events: deque[tuple[int, Callable[[], object]]] = deque()
        self._now_us = BEGAN_MS * 1000
        self.wires: dict[Connection, Wire] = {}
        self.replies = 0
        self.spent_ns = dict.fromkeys(NODES, 0)
        self.turns = dict.fromkeys(NODES, 0)
        self.nodes = {number: self._make(number, f"{folder}/{number}") for number in NODES}
        for number, node in self.nodes.items():
            self.later(number, node.start)

    def _make(self, number: int, folder: str) -> Node:
        format_folder(folder, number)
        voters = ",".join(f"{each}@127.0.0.1:{CONTROLLER_PORT + each}" for each in NODES)
        broker, controller = (f"127.0.0.1:{port + number}" for port in (BROKER_PORT, CONTROLLER_PORT))
        settings = {
            "node.id": str(number),
            "process.roles": "broker,controller",
            "listeners": f"PLAINTEXT://{broker},CONTROLLER://{controller}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": voters,
            "min.insync.replicas": "2",
            "log.dirs": folder,
        }
        return make_node(BrokerSettings(settings), InlineDisk(), Seeded(), network=Way(self, number))

    def later(self, number: int, event: Callable[[], object]) -> None:
        self._events.append((number, event))

    def run(self) -> None:
        """Everything that is waiting, and what comes of it: round by round, as a loop does it."""
        while self._events or any(map(self._is_due, NODES)):
            for _ in range(len(self._events)):
                self.step()
            for number in filter(self._is_due, NODES):
                self._turn(number, self.nodes[number].tick)

    def run_due(self, number: int) -> None:
        """What a node has put off until everybody was heard: nobody else has anything to say."""
        while self._is_due(number):
            self._turn(number, self.nodes[number].tick)

    def _is_due(self, number: int) -> bool:
        due_ms = self.nodes[number].next_deadline_ms()
        return due_ms is not None and due_ms * 1000 <= self._now_us

    def step(self) -> None:
        self._turn(*self._events.popleft())

    def run_until(self, is_so: Callable[[], bool]) -> None:
        """Let time pass, too."""
        while not is_so():
            self._now_us += 10_000
            for number, node in self.nodes.items():
                self._turn(number, node.tick)
            self.run()

    def _turn(self, number: int, event: Callable[[], object]) -> None:
        node = self.nodes[number]
        began = time.thread_time_ns()
        node.begin(self._now_us // 1000, self._now_us)
        event()
        ready = node.finish()
        out = [(connection, connection.take_output()) for connection in ready]
        self.spent_ns[number] += time.thread_time_ns() - began
        self.turns[number] += 1
        for connection, parts in out:
            connection.sent(0)
            wire = self.wires.get(connection)
            data = b"".join(_bytes_of(part) for part in parts)
            if wire is None:
                self.replies += bool(data)
            elif data:
                wire.answer(data)

    def close(self) -> None:
        for node in self.nodes.values():
            assert isinstance(node.files, InlineDisk)
            node.files.close()


def format_folder(folder: str, number: int) -> None:
    os.makedirs(folder)
    identity = Meta(META_VERSION, uuid_text(bytes(16)), number, uuid_text(bytes([number]) * 16))
    Path(folder, META_FILE).write_bytes(encode_meta(identity))


def _bytes_of(part: Buffer | Slice) -> bytes:
    return os.pread(part.file.fd, part.length, part.position) if isinstance(part, Slice) else bytes(part)


def make_topic(world: World) -> Connection:
    """A topic that node 1 leads and the others follow; gives a client's connection to node 1."""
    world.run_until(lambda: all(node.state == "running" for node in world.nodes.values()))
    leader = world.nodes[1]
    client = leader.connect("127.0.0.1", 1)
    assert client is not None
    assignment = CreatableReplicaAssignment(partition_index=0, broker_ids=list(NODES))
    topic = CreatableTopic(name=TOPIC, num_partitions=-1, replication_factor=-1, assignments=[assignment])
    request = frame(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7)
    world.later(1, lambda: client.feed(request))
    world.run_until(lambda: all(node.replicas.get(TOPIC, 0) is not None for node in world.nodes.values()))
    world.run_until(lambda: world.replies > 0)
    return client


def produce_frame() -> bytes:
    """One record of 100 bytes, to be acknowledged by all."""
    batch = bytes(build_batch([(None, bytes(100), (), BEGAN_MS)]))
    data = TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=0, records=batch)])
    return frame(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data]), 9)


def stages(world: World, client: Connection) -> dict[str, float]:
    """One request at a time, and as many as a producer keeps in flight."""
    produced = produce_frame()
    found: dict[str, float] = {}
    for title, count in (("one", 1), (f"one of {IN_FLIGHT}", IN_FLIGHT)):
        requests = produced * count
        rounds = [_round(world, client, requests) for _ in range(ROUNDS)]
        for stage, costs in zip(("append", "copy", "acknowledge", "leader"), zip(*rounds, strict=True), strict=True):
            found[f"{title}: {stage}"] = min(costs) / count
    return found


def _round(world: World, client: Connection, requests: bytes) -> tuple[float, float, float, float]:
    """Microseconds of the turn that appends, of a follower's, of one that hears a follower; and of all the leader's."""
    replies, turns, before = world.replies, dict(world.turns), dict(world.spent_ns)
    appending_ns = 0
    for _ in range(REQUESTS):
        world.later(1, lambda: client.feed(requests))
        so_far_ns = world.spent_ns[1]
        world.step()
        world.run_due(1)
        appending_ns += world.spent_ns[1] - so_far_ns
        world.run()
    assert world.replies >= replies + REQUESTS, "every request is answered before the next is sent"
    assert world.turns[2] - turns[2] == REQUESTS, "a follower is told, and heard of, once per request"
    leader, *followers = ((world.spent_ns[number] - before[number]) / REQUESTS / 1000 for number in NODES)
    appending = appending_ns / REQUESTS / 1000
    count = len(followers)
    return appending, sum(followers) / count, (leader - appending) / count, leader


def main() -> int:
    base = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=base) as folder:
        world = World(folder)
        found = stages(world, make_topic(world))
        world.close()
    return compare_with_kept(found, KEPT)


if __name__ == "__main__":
    sys.exit(main())
