"""Copies of a large topic are made on a node that has none, while clients produce: how fast, and what the clients feel.

    python -m bench.catching_up [--megabytes N] [--no-kafka]

Two of three nodes hold the topic, and the third is told to hold it too, without a throttle. A producer of another
topic, whose partitions all three hold and the same node leads, sends at due times before and meanwhile.
"""

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from confluent_kafka import Producer

from bench.cluster import ADMIN_TIMEOUT_S, PARTITIONS, once_each, patiently, replicated_topic
from bench.clusters import NODES, NodesOf
from bench.loadgen import Figures, Options, run_load
from bench.pacing import due_times
from bench.report import lines_of, print_table
from bench.run import keep
from bench.scenarios import SMALL_BATCHES, Metric
from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition
from penstock.client.moving import Mover

MEGABYTES = 2_000
FILL_S_MAX = 300.0
SENDS_PER_S = 200
ALONE_S = 5.0
LOOK_EVERY_S = 0.02
HOLDERS = [1, 2]


class CatchingUp:
    name = "catching_up"
    metrics = (
        Metric("copied_mb_per_s", "MB/s", True),
        Metric("alone_p99_ms", "ms", False),
        Metric("meanwhile_p50_ms", "ms", False),
        Metric("meanwhile_p99_ms", "ms", False),
        Metric("meanwhile_max_ms", "ms", False),
    )


class Sent(NamedTuple):
    due_s: float
    taken_ms: float


class Sender:
    """A producer with acks=all that sends at due times, in a thread of its own; times count from when they were due."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0, "log_level": 0})
        self._topic = topic
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._sent: list[Sent] = []
        self._failures: list[object] = []

    def __enter__(self) -> "Sender":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        for due in due_times(self._producer, SENDS_PER_S):
            self._producer.produce(self._topic, b"x" * 1_000, partition=0, on_delivery=self._noting(due))
            if self._stopped.is_set():
                break
        if self._producer.flush(ADMIN_TIMEOUT_S):
            self._failures.append("no answer")

    def _noting(self, due: float) -> Callable[[object, object], None]:
        def told(error: object, _message: object) -> None:
            if error is None:
                self._sent.append(Sent(due, (time.monotonic() - due) * 1000))
            else:
                self._failures.append(error)

        return told

    def taken_ms(self, begin_s: float, end_s: float) -> list[float]:
        """What those took that were due in a time; everybody must have been answered."""
        assert not self._failures, f"the producer was told of {self._failures[0]}"
        return [sent.taken_ms for sent in self._sent if begin_s <= sent.due_s < end_s]


def run(nodes: NodesOf, megabytes: float) -> Figures:
    bootstrap = f"127.0.0.1:{nodes.port_of(1)}"
    with replicated_topic(nodes, replicas=HOLDERS) as large, replicated_topic(nodes) as other:
        where: Options = {"port": nodes.port_of(1), "topic": large, "partitions": PARTITIONS, "acks": -1}
        shape: Options = {"connections": 4, "depth": 5, "seconds": FILL_S_MAX, "warmup_s": 0}
        filled = patiently(lambda: run_load("produce", {**where, **shape, **SMALL_BATCHES, "volume_mb_max": megabytes}))
        with Sender(bootstrap, other) as sender:
            # The first sends find a client that does not know the cluster yet.
            time.sleep(1)
            alone_s = time.monotonic()
            time.sleep(ALONE_S)
            begin_s = time.monotonic()
            copy_to_the_third(bootstrap, large)
            end_s = time.monotonic()
        alone, meanwhile = sender.taken_ms(alone_s, begin_s), sender.taken_ms(begin_s, end_s)
    hundredths = statistics.quantiles(meanwhile, n=100)
    return {
        "copied_mb_per_s": filled["volume_mb"] / (end_s - begin_s),
        "alone_p99_ms": statistics.quantiles(alone, n=100)[98],
        "meanwhile_p50_ms": hundredths[49],
        "meanwhile_p99_ms": hundredths[98],
        "meanwhile_max_ms": max(meanwhile),
    }


def copy_to_the_third(bootstrap: str, topic: str) -> None:
    """Returns when the copies are in sync."""
    with Client(bootstrap, timeout=ADMIN_TIMEOUT_S) as client:
        mover = Mover(client)
        mover.move({TopicPartition(topic, number): [*HOLDERS, NODES] for number in range(PARTITIONS)})
        while mover.under_way():
            time.sleep(LOOK_EVERY_S)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.catching_up", description="A large topic is copied to a third node.")
    parser.add_argument("--megabytes", type=float, default=MEGABYTES)
    parser.add_argument("--kafka", action=argparse.BooleanOptionalAction, default=True, help="measure Kafka too")
    arguments = parser.parse_args()
    rounds = once_each(lambda nodes: run(nodes, arguments.megabytes), arguments.kafka)
    lines = lines_of(CatchingUp(), rounds)
    print_table(lines)
    keep(lines, {CatchingUp.name: rounds}, "catching-up")
    return 0


if __name__ == "__main__":
    sys.exit(main())
