"""Where the microseconds of one request go: each stage of Produce and Fetch by itself, without a socket.

`python -m bench.stages` prints the table; `--keep` writes it to bench/results/stages.json, which later runs compare
themselves with: a stage that takes more than RATCHET times what was kept fails the run.

`calls` counts instead: how many functions of ours one request goes through is the same on a busy machine as on a quiet
one, and a hot path that grows shows there first. tests/bench holds it.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.core.apis.table import make_node
from penstock.core.base.ports import LATER, Done, FileOp, Pause
from penstock.core.base.settings import BrokerSettings
from penstock.core.node.node import Node
from penstock.core.node.serving.connection import Connection
from penstock.core.partition.leader import Leader
from penstock.core.records.build import build_batch
from penstock.core.records.validate import check_produced
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchTopic
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from penstock.core.wire.frames import parse_request_header, request_frame
from penstock.core.wire.schema import Request
from penstock.shell.disk import Disk, Reader

ROUNDS = 7
CALLS = 3000
# As many requests as a producer usually keeps in flight.
IN_FLIGHT = 5
RATCHET = 1.5
KEPT = Path(__file__).parent / "results" / "stages.json"


class InlineDisk(Disk):
    """A disk that never leaves the thread: nothing here runs an event loop."""

    def __init__(self) -> None:
        super().__init__(lambda event: event(), 1024, Reader())

    def perform(self, op: FileOp, done: Done) -> object:
        if isinstance(op, Pause):
            return None
        result = super().perform(op, done)
        assert result is not LATER, op
        return result


class Seeded:
    """Ids that need not be unpredictable."""

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)


def frame(message: Request, version: int) -> bytes:
    parts: list[Any] = request_frame(message, type(message).KEY, version, 7, "bench")
    return b"".join(map(bytes, parts))


def microseconds(call: Callable[[], object]) -> float:
    """The best of some rounds, in processor time: what the code costs when nothing else disturbs it."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.thread_time_ns()
        for _ in range(CALLS):
            call()
        best = min(best, (time.thread_time_ns() - start) / CALLS / 1000)
    return best


def calls(call: Callable[[], object]) -> int:
    """How many Python functions run for it, generators that go on included; once it has run before."""
    call()
    count = 0

    def watch(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


def start_node(folder: str) -> tuple[Node, Connection]:
    settings = BrokerSettings(
        {
            "node.id": "1",
            "process.roles": "broker,controller",
            "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": folder,
        }
    )
    node = make_node(settings, InlineDisk(), Seeded())
    node.begin(1_700_000_000_000)
    node.start()
    assert node.state == "running", node.failure
    connection = node.connect("127.0.0.1", 1)
    assert connection is not None
    return node, connection


def exchange(node: Node, connection: Connection, data: bytes) -> None:
    connection.feed(data)
    node.finish()
    connection.take_output()
    connection.sent(0)


def create_topic(node: Node, connection: Connection) -> Leader:
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    exchange(node, connection, frame(CreateTopicsRequest(topics=[topic]), 7))
    partition = node.replicas.get("t", 0)
    assert isinstance(partition, Leader)
    return partition


def produce_frame(batch: bytes) -> bytes:
    produce = ProduceRequest(
        acks=1,
        timeout_ms=1000,
        topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=batch)])],
    )
    return frame(produce, 9)


def fetch_frame(offset: int) -> bytes:
    wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    return frame(FetchRequest(max_wait_ms=0, min_bytes=1, topics=[FetchTopic(topic="t", partitions=[wanted])]), 11)


def stages(node: Node, connection: Connection) -> dict[str, float]:
    partition = create_topic(node, connection)
    batch = build_batch([(None, bytes(100), (), node.now_ms)])
    produced = produce_frame(bytes(batch))
    body = memoryview(bytearray(produced))[4:]
    position = parse_request_header(body)[4]
    found: dict[str, float] = {}
    found["produce: header"] = microseconds(lambda: parse_request_header(body))
    found["produce: decode"] = microseconds(lambda: ProduceRequest.decode(body, 9, position))
    view = memoryview(bytearray(batch))
    found["produce: check"] = microseconds(lambda: check_produced(view, partition.rules, 9, node.now_ms))
    original = bytes(batch)

    def append() -> None:
        view[:] = original
        partition.append(view, 9, node.now_ms, 1)

    found["produce: append"] = microseconds(append)
    found["produce: whole"] = microseconds(lambda: exchange(node, connection, produced))
    in_a_row = microseconds(lambda: exchange(node, connection, produced * IN_FLIGHT))
    found[f"produce: one of {IN_FLIGHT}"] = in_a_row / IN_FLIGHT
    fetched = fetch_frame(partition.high_watermark - 1)
    found["fetch: whole"] = microseconds(lambda: exchange(node, connection, fetched))
    return found


def main() -> int:
    base = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=base) as folder:
        node, connection = start_node(folder)
        found = stages(node, connection)
    return compare_with_kept(found, KEPT)


def compare_with_kept(found: dict[str, float], file: Path, ratchet: float = RATCHET) -> int:
    """Print each stage beside what it cost before; 1 if one has become too dear."""
    width = max(map(len, found))
    kept: dict[str, float] = json.loads(file.read_text()) if file.exists() else {}
    worse = [name for name, value in found.items() if value > kept.get(name, value) * ratchet]
    for name, value in found.items():
        print(f"{name:<{width}} {value:7.2f} us   kept {kept.get(name, value):7.2f}")
    if "--keep" in sys.argv:
        file.write_text(json.dumps({name: round(value, 2) for name, value in found.items()}, indent=2) + "\n")
    elif worse:
        print(f"slower than what was kept: {', '.join(worse)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
