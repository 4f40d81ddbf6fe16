"""What transactions and producer ids cost a node: a batch of a transaction beside one of an idempotent producer, and
100,000 ids in memory.

Run with `python -m bench.transactional`. Each figure stands beside the bound it must keep. Nothing here talks to Kafka:
`client_transact_1k` of `make bench` does.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence

from bench.asking import Asking
from bench.limits import Figure, close
from bench.processes import usage_of
from bench.stages import IN_FLIGHT, exchange, frame, start_node
from penstock.core.node.node import Node
from penstock.core.node.serving.connection import Connection
from penstock.core.partition.leader import Leader
from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from penstock.testing import Broker

CALLS = 2_000
ROUNDS = 15
COST_RATIO_MAX = 1.15
PRODUCE_VERSION = 9
IDEMPOTENT, TRANSACTIONAL = 1, 2
"""Producer ids of the two."""

LIVE_IDS = 100_000
PARTITIONS = 20
AT_ONCE = 500
INIT_VERSION = 4
RESIDENT_MB_MAX = 200.0
TIMEOUT_MS = 60_000
# What a producer may have in flight, and so what is remembered of each.
BATCHES_REMEMBERED = 5


def produced(
    place: tuple[str, int], producer_id: int, sequence: int, now_ms: int, transactional_id: str | None = None
) -> bytes:
    """A request with one batch of one record."""
    topic, partition = place
    batch = build_batch(
        [(None, bytes(100), (), now_ms)],
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        transactional=transactional_id is not None,
    )
    data = PartitionProduceData(index=partition, records=bytes(batch))
    topics = [TopicProduceData(name=topic, partition_data=[data])]
    request = ProduceRequest(transactional_id=transactional_id, acks=-1, timeout_ms=TIMEOUT_MS, topic_data=topics)
    return frame(request, PRODUCE_VERSION)


class Batches:
    """A node without sockets, and two producers that write to it: one of them has begun a transaction."""

    def __init__(self, folder: str) -> None:
        self.node: Node
        self.connection: Connection
        self.node, self.connection = start_node(folder)
        topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in ("plain", "whole")]
        exchange(self.node, self.connection, frame(CreateTopicsRequest(topics=topics), 7))
        self._sequence = 1
        self._leaders = [self._begin("plain", IDEMPOTENT), self._begin("whole", TRANSACTIONAL)]

    def _begin(self, topic: str, producer_id: int) -> Leader:
        """Its first batch, by which the log knows it."""
        partition = self.node.replicas.get(topic, 0)
        assert isinstance(partition, Leader)
        batch = build_batch(
            [(None, b"", (), self.node.now_ms)],
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=0,
            transactional=producer_id == TRANSACTIONAL,
        )
        partition.append_own(batch, read_header(batch), self.node.now_ms)
        return partition

    def round(self, in_flight: int) -> tuple[float, float]:
        """The microseconds of processor time that a batch costs: of the idempotent one, and within the transaction."""
        sequences = range(self._sequence, self._sequence + CALLS)
        self._sequence += CALLS
        now_ms = self.node.now_ms
        plain = [produced(("plain", 0), IDEMPOTENT, each, now_ms) for each in sequences]
        whole = [produced(("whole", 0), TRANSACTIONAL, each, now_ms, "checkout-1") for each in sequences]
        costs = self._cost_us(plain, in_flight), self._cost_us(whole, in_flight)
        assert {each.log.end_offset for each in self._leaders} == {self._sequence}, "every batch was taken"
        return costs

    def _cost_us(self, requests: Sequence[bytes], in_flight: int) -> float:
        together = [b"".join(requests[at : at + in_flight]) for at in range(0, len(requests), in_flight)]
        started = time.thread_time_ns()
        for data in together:
            exchange(self.node, self.connection, data)
        return (time.thread_time_ns() - started) / len(requests) / 1000


def batches(folder: str) -> list[Figure]:
    found = []
    bench = Batches(folder)
    for in_flight in (1, IN_FLIGHT):
        rounds = [bench.round(in_flight) for _ in range(ROUNDS)]
        plain, whole = (min(each) for each in zip(*rounds, strict=True))
        among = "a batch alone" if in_flight == 1 else f"one of {in_flight} that come together"
        found += [
            Figure(f"{among}, of an idempotent producer", plain, "us"),
            Figure(f"{among}, in a transaction", whole, "us"),
            Figure("ratio of the two", whole / plain, "x", COST_RATIO_MAX),
        ]
    close(bench.node)
    return found


def ids_of(asking: Asking, names: Iterable[str | None]) -> list[int]:
    requests = [
        frame(InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=TIMEOUT_MS), INIT_VERSION)
        for name in names
    ]
    answers = asking.all(requests, AT_ONCE, InitProducerIdResponse, INIT_VERSION)
    assert not any(each.error_code for each in answers), "every id is given"
    return [each.producer_id for each in answers]


def write_once(asking: Asking, topic: str, ids: Sequence[int], sequence: int) -> None:
    """A batch of each of these producers, over all partitions."""
    for first in range(0, len(ids), AT_ONCE):
        some = ids[first : first + AT_ONCE]
        now_ms = int(time.time() * 1000)
        requests = [produced((topic, at % PARTITIONS), each, sequence, now_ms) for at, each in enumerate(some)]
        for answer in asking.all(requests, AT_ONCE, ProduceResponse, PRODUCE_VERSION):
            assert answer.responses[0].partition_responses[0].error_code == 0, "every batch is taken"


def producers(broker: Broker, asking: Asking) -> list[Figure]:
    broker.create_topic("alive", PARTITIONS)
    ids = ids_of(asking, [None] * LIVE_IDS)
    before = usage_of(broker.pid).resident_mb
    write_once(asking, "alive", ids, 0)
    once = usage_of(broker.pid).resident_mb
    for sequence in range(1, BATCHES_REMEMBERED):
        write_once(asking, "alive", ids, sequence)
    often = usage_of(broker.pid).resident_mb
    return [
        Figure("memory of a node before anybody writes", before, "MB"),
        Figure(f"with {LIVE_IDS:,} producers that wrote one batch", once, "MB", RESIDENT_MB_MAX),
        Figure(f"with {LIVE_IDS:,} that wrote {BATCHES_REMEMBERED}", often, "MB", RESIDENT_MB_MAX),
    ]


def transactional_ids(broker: Broker, asking: Asking) -> list[Figure]:
    asking.until_coordinated("id-0")
    before = usage_of(broker.pid).resident_mb
    ids_of(asking, (f"id-{number}" for number in range(LIVE_IDS)))
    grown = usage_of(broker.pid).resident_mb
    return [
        Figure("memory of a node that coordinates nothing yet", before, "MB"),
        Figure(f"with {LIVE_IDS:,} transactional ids", grown, "MB", RESIDENT_MB_MAX),
    ]


def main() -> int:
    base = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=base) as folder:
        figures = batches(folder)
    for measure in (producers, transactional_ids):
        with Broker(beside=True) as broker, Asking(broker.host, broker.port) as asking:
            figures += measure(broker, asking)
    for figure in figures:
        print(figure.line())
    return 0 if all(figure.is_kept for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
