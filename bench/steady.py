"""Three nodes under a steady load for minutes: how long a produce takes, and how long until a consumer has the record.

    python -m bench.steady [--seconds 300] [--kafka]

2,000 requests a second of 5 records of 1 KB, 10 MB/s, acknowledged by all three replicas. Requests are due evenly and
timed from when they were due. Beside them a real client sends probes to the same partitions and reads everything: a
probe carries the time at which it was due. Nobody is acknowledged before every in-sync replica has the record, and all
replicas must be in sync at the end: so the time of a produce is also a bound of the replication's lag.
"""

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Sequence

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from bench.cluster import ADMIN_TIMEOUT_S, PARTITIONS, once_each, patiently, replicated_topic
from bench.clusters import NODES, NodesOf
from bench.loadgen import Figures, Options, run_load
from bench.pacing import due_times
from bench.report import lines_of, print_table
from bench.run import keep
from bench.scenarios import Metric

REQUESTS_PER_S = 2_000
RECORDS, VALUE_BYTES = 5, 1_024
PROBES_PER_S = 100
PROBE_MARK = b"probe"
# What is kept of ten gigabytes: tmpfs has no room for all of it, three times.
BOUNDED = {"segment.bytes": str(32 << 20), "retention.bytes": str(128 << 20)}
LOAD: Options = {"connections": 4, "depth": 500, "records": RECORDS, "value_bytes": VALUE_BYTES, "rate": REQUESTS_PER_S}


class Steady:
    name = "steady"
    metrics = (
        Metric("requests_per_s", "req/s", True),
        Metric("mb_per_s", "MB/s", True),
        Metric("p50_ms", "ms", False),
        Metric("p99_ms", "ms", False, limit=10.0),
        Metric("p999_ms", "ms", False),
        Metric("max_ms", "ms", False),
        Metric("end_to_end_p50_ms", "ms", False),
        Metric("end_to_end_p99_ms", "ms", False, limit=50.0),
    )


class Probes:
    """A client that sends records at due times and sees them come back; runs in two threads of its own."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._settings = {"bootstrap.servers": bootstrap}
        self._topic = topic
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._send), threading.Thread(target=self._read)]
        self.failures: list[object] = []
        self.taken_ms: list[float] = []

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _send(self) -> None:
        producer = Producer({**self._settings, "acks": "all", "linger.ms": 0})
        for due in due_times(producer, PROBES_PER_S):
            value = PROBE_MARK + int(due * 1e9).to_bytes(8, "big")
            partition = int(due * PROBES_PER_S) % PARTITIONS
            producer.produce(self._topic, value, partition=partition, on_delivery=self._told)
            if self._stopped.is_set():
                break
        producer.flush(ADMIN_TIMEOUT_S)

    def _told(self, error: object, _message: object) -> None:
        if error is not None:
            self.failures.append(error)

    def _read(self) -> None:
        consumer = Consumer(
            {**self._settings, "group.id": "steady", "enable.auto.commit": False, "fetch.wait.max.ms": 100}
        )
        consumer.assign([TopicPartition(self._topic, number, 0) for number in range(PARTITIONS)])
        while not self._stopped.is_set():
            # One by one, as they come: a call for many returns when it has many.
            message = consumer.poll(0.5)
            if message is not None:
                self._seen(message)
        consumer.close()

    def _seen(self, message: Message) -> None:
        value = message.value()
        if isinstance(value, bytes) and value.startswith(PROBE_MARK):
            sent_ns = int.from_bytes(value[len(PROBE_MARK) :], "big")
            self.taken_ms.append((time.monotonic_ns() - sent_ns) / 1e6)


def run(nodes: NodesOf, seconds: float) -> Figures:
    bootstrap = f"127.0.0.1:{nodes.port_of(1)}"
    with replicated_topic(nodes, BOUNDED) as name:
        where: Options = {"port": nodes.port_of(1), "topic": name, "partitions": PARTITIONS, "acks": -1}
        patiently(lambda: run_load("produce", {**where, **LOAD, "seconds": 1, "warmup_s": 1}))
        probes = Probes(bootstrap, name)
        probes.start()
        try:
            figures = run_load("produce", {**where, **LOAD, "seconds": seconds, "warmup_s": 3})
        finally:
            probes.stop()
        assert not probes.failures, f"a probe failed: {probes.failures[0]}"
        assert _all_in_sync(bootstrap, name), "a replica fell out of sync: the figures say nothing of its lag"
    return {**figures, **_quantiles(probes.taken_ms)}


def _all_in_sync(bootstrap: str, name: str) -> bool:
    found = AdminClient({"bootstrap.servers": bootstrap}).list_topics(name, timeout=ADMIN_TIMEOUT_S)
    return all(len(partition.isrs) == NODES for partition in found.topics[name].partitions.values())


def _quantiles(taken_ms: Sequence[float]) -> Figures:
    hundredths = statistics.quantiles(taken_ms, n=100)
    return {"end_to_end_p50_ms": hundredths[49], "end_to_end_p99_ms": hundredths[98], "probes": len(taken_ms)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.steady", description="Three nodes under a steady load.")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--kafka", action="store_true", help="three Kafka nodes under the same load, before")
    arguments = parser.parse_args()
    rounds = once_each(lambda nodes: run(nodes, arguments.seconds), arguments.kafka)
    lines = lines_of(Steady(), rounds)
    print_table(lines)
    keep(lines, {Steady.name: rounds}, "steady")
    return 1 if any(line.verdict == "MISS" for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
