"""What size costs: a session of 10,000 partitions, a request at 10,000 partitions, an idle connection, an idle node.

Run with `python -m bench.limits`. Each figure stands beside the bound it must keep. Nothing here talks to Kafka.
"""

from __future__ import annotations

import os
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple

from bench.processes import usage_of
from bench.stages import CALLS, ROUNDS, InlineDisk, exchange, frame, start_node
from penstock.core.node.node import Node
from penstock.core.node.serving.connection import Connection
from penstock.core.records.build import build_batch
from penstock.core.wire.api.api_versions import ApiVersionsRequest
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchTopic
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from penstock.testing import Broker

PARTITIONS = 10_000
CONNECTIONS = 5_000
IDLE_S = 10.0
SESSION_RATIO_MAX = 2.0
REQUEST_RATIO_MAX = 1.3
CONNECTION_KB_MAX = 20.0
IDLE_CPU_PERCENT_MAX = 1.0
FETCH_VERSION = 11
PRODUCE_VERSION = 9


class Figure(NamedTuple):
    """One measurement and the bound it is held against; None: only to be seen."""

    name: str
    value: float
    unit: str
    bound: float | None = None

    @property
    def is_kept(self) -> bool:
        return self.bound is None or self.value <= self.bound

    def line(self) -> str:
        bound = "" if self.bound is None else f"   at most {self.bound:g}{'' if self.is_kept else '   MISSED'}"
        return f"{self.name:<52} {self.value:9.2f} {self.unit:<6}{bound}"


class Bench:
    """A synchronous node with one large topic and one small one."""

    def __init__(self, folder: str) -> None:
        self.node: Node
        self.connection: Connection
        self.node, self.connection = start_node(folder)
        for name, partitions in (("many", PARTITIONS), ("one", 1)):
            topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
            self.say(frame(CreateTopicsRequest(topics=[topic]), 7))

    def close(self) -> None:
        close(self.node)

    def say(self, data: bytes) -> None:
        exchange(self.node, self.connection, data)

    def produce(self, topic: str, partition: int) -> bytes:
        batch = bytes(build_batch([(None, bytes(100), (), self.node.now_ms)]))
        data = [PartitionProduceData(index=partition, records=batch)]
        topics = [TopicProduceData(name=topic, partition_data=data)]
        return frame(ProduceRequest(acks=1, timeout_ms=1000, topic_data=topics), PRODUCE_VERSION)

    def open_session(self, topic: str, partitions: int) -> int:
        known = set(self.node.fetching._sessions)
        wanted = [FetchPartition(partition=index, partition_max_bytes=1 << 20) for index in range(partitions)]
        request = FetchRequest(session_epoch=0, topics=[FetchTopic(topic=topic, partitions=wanted)])
        self.say(frame(request, FETCH_VERSION))
        (session_id,) = set(self.node.fetching._sessions) - known
        return session_id


def close(node: Node) -> None:
    """Let go of its open files."""
    assert isinstance(node.files, InlineDisk)
    node.files.close()


def fetch_in_session(session_id: int, epoch: int, topic: str, partition: int, offset: int) -> bytes:
    moved = [FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)]
    topics = [FetchTopic(topic=topic, partitions=moved)]
    request = FetchRequest(session_id=session_id, session_epoch=epoch, min_bytes=1, topics=topics)
    return frame(request, FETCH_VERSION)


def microseconds_each(calls: list[Callable[[], None]]) -> float:
    """The median of prepared calls, each of which can be made once only."""
    taken = []
    for call in calls:
        start = time.perf_counter_ns()
        call()
        taken.append(time.perf_counter_ns() - start)
    return statistics.median(taken) / 1000


def session_cost(bench: Bench, topic: str, partitions: int, busy: int) -> float:
    """A record comes to one partition of a session and is fetched, with its offset moved, again and again."""
    session_id = bench.open_session(topic, partitions)
    produced = bench.produce(topic, busy)
    bench.say(fetch_in_session(session_id, 1, topic, busy, 0))
    taken = []
    for number in range(CALLS):
        bench.say(produced)
        fetched = fetch_in_session(session_id, 2 + number, topic, busy, number)
        start = time.perf_counter_ns()
        bench.say(fetched)
        taken.append(time.perf_counter_ns() - start)
    return statistics.median(taken) / 1000


def sessions(bench: Bench) -> list[Figure]:
    large = session_cost(bench, "many", PARTITIONS, PARTITIONS - 7)
    small = session_cost(bench, "one", 1, 0)
    return [
        Figure("fetch in a session of one partition", small, "us"),
        Figure(f"fetch in a session of {PARTITIONS:,}, one of them busy", large, "us"),
        Figure("ratio of the two", large / small, "x", SESSION_RATIO_MAX),
    ]


def requests(folder: str) -> list[Figure]:
    """The same request at one partition and at ten thousand of which thousands are in use."""
    small_folder, large_folder = f"{folder}/small", f"{folder}/large"
    node, connection = start_node(small_folder)
    topic = CreatableTopic(name="one", num_partitions=1, replication_factor=1)
    exchange(node, connection, frame(CreateTopicsRequest(topics=[topic]), 7))
    large = Bench(large_folder)
    one = large.produce("one", 0)
    spread = [large.produce("many", index * 37 % PARTITIONS) for index in range(CALLS)]
    for data in spread:
        large.say(data)
    few = min(microseconds_each([lambda: exchange(node, connection, one)] * CALLS) for _ in range(ROUNDS))
    among = min(microseconds_each([lambda: large.say(spread[0])] * CALLS) for _ in range(ROUNDS))
    turns: list[Callable[[], None]] = [partial(large.say, data) for data in spread]
    in_turn = min(microseconds_each(turns) for _ in range(ROUNDS))
    close(node)
    large.close()
    return [
        Figure("produce with one partition", few, "us"),
        Figure(f"produce to one of {PARTITIONS:,} partitions", among, "us"),
        Figure("ratio of the two", among / few, "x", REQUEST_RATIO_MAX),
        Figure("produce to more partitions in turn than files are open", in_turn, "us"),
    ]


def connect(broker: Broker, greeting: bytes) -> socket.socket:
    client = socket.create_connection((broker.host, broker.port))
    client.sendall(greeting)
    client.recv(1 << 16)
    return client


def idle_node() -> list[Figure]:
    """A node in a process of its own: what connections that do nothing cost, and what doing nothing costs."""
    greeting = frame(ApiVersionsRequest(client_software_name="bench", client_software_version="1"), 3)
    with Broker({"penstock.open.files.max": 64}, beside=True) as broker, ExitStack() as stack:
        alone = cpu_percent(broker.pid)
        stack.enter_context(connect(broker, greeting))
        before_kb = usage_of(broker.pid).resident_mb * 1000
        for _ in range(CONNECTIONS):
            stack.enter_context(connect(broker, greeting))
        fresh_kb = (usage_of(broker.pid).resident_mb * 1000 - before_kb) / CONNECTIONS
        busy = cpu_percent(broker.pid)
        rested_kb = (usage_of(broker.pid).resident_mb * 1000 - before_kb) / CONNECTIONS
    return [
        Figure("a connection that was used once", fresh_kb, "KB", CONNECTION_KB_MAX),
        Figure(f"the same {IDLE_S:.0f} s later", rested_kb, "KB", CONNECTION_KB_MAX),
        Figure("CPU of an idle node", alone, "%", IDLE_CPU_PERCENT_MAX),
        Figure(f"CPU with {CONNECTIONS:,} idle connections", busy, "%"),
    ]


def cpu_percent(pid: int) -> float:
    before_s = usage_of(pid).cpu_s
    time.sleep(IDLE_S)
    return 100 * (usage_of(pid).cpu_s - before_s) / IDLE_S


def idle_with_partitions() -> list[Figure]:
    with Broker(beside=True) as broker:
        broker.create_topic("many", PARTITIONS // 10)
        return [Figure(f"CPU of an idle node with {PARTITIONS // 10:,} partitions", cpu_percent(broker.pid), "%")]


def main() -> int:
    base = "/dev/shm" if os.path.isdir("/dev/shm") else None
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(dir=base) as folder:
        bench = Bench(f"{folder}/sessions")
        figures += sessions(bench)
        bench.close()
        figures += requests(folder)
    figures += idle_node()
    figures += idle_with_partitions()
    for figure in figures:
        print(figure.line())
    return 0 if all(figure.is_kept for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
