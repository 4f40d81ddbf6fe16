"""Three nodes beside three Kafka nodes: replicated writes, memory, and what a client sees when a leader is killed.

    python -m bench.cluster [--quick] [--only NAME]... [--rounds N] [--no-kafka] [--kafka-batches N]

The partitions of a round are all led by node 1 and copied by the others; every record is acknowledged by all in-sync
replicas. The clusters take turns and are up one at a time: six brokers do not fit two cores. Kafka goes first, because
half of what it can do is a load that both get. Ends with 1 when a floor is missed.
"""

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bench.brokers import touch_memory
from bench.clusters import NODES, KafkaNodes, NodesOf, PenstockNodes
from bench.loadgen import Figures, LoadFailed, Options, run_load
from bench.report import Rounds, lines_of, print_table
from bench.run import keep, say
from bench.scenarios import SMALL_BATCHES, Metric

ADMIN_TIMEOUT_S = 60.0
FAILOVER_TIMEOUT_S = 60.0
# Three JVMs on two cores need this long: after one such pass Kafka writes 16 to 24 MB/s, after three 84, and no more.
WARM_PASSES = 3
WARM_S = 8.0
SEND_EVERY_S = 0.005
STEADY_RECORDS = 200
PARTITIONS = 4
VOLUME_MB_MAX = 1_000

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Course:
    """How long a load runs, how many 16 KB batches a second Kafka has reached in this run, and how long it was from
    nothing to the first record that this cluster acknowledged."""

    seconds: float
    kafka_batches_per_s: float
    first_record_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    title: str
    run: Callable[[NodesOf, Course], Figures]
    metrics: tuple[Metric, ...]


@contextmanager
def replicated_topic(
    nodes: NodesOf, config: dict[str, str] | None = None, replicas: Sequence[int] = range(1, NODES + 1)
) -> Iterator[str]:
    """A topic whose partitions all have the same replicas, of which the first leads: node 1."""
    name = f"bench-{next(_numbers)}"
    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{nodes.port_of(1)}"})
    assignment = [list(replicas)] * PARTITIONS
    new = NewTopic(name, num_partitions=PARTITIONS, replica_assignment=assignment, config=config or {})
    admin.create_topics([new], request_timeout=ADMIN_TIMEOUT_S)[name].result()
    try:
        yield name
    finally:
        admin.delete_topics([name], request_timeout=ADMIN_TIMEOUT_S)[name].result()


def load(shape: Options) -> Callable[[NodesOf, Course], Figures]:
    return lambda nodes, course: run_shape(nodes, course.seconds, shape)


def half_load(nodes: NodesOf, course: Course) -> Figures:
    """Requests come evenly, whether or not replies do, and their time counts from when they were due."""
    return run_shape(nodes, course.seconds, {**PACED, **SMALL_BATCHES, "rate": course.kafka_batches_per_s / 2})


def run_shape(nodes: NodesOf, seconds: float, shape: Options) -> Figures:
    with replicated_topic(nodes) as name:
        touch_memory(VOLUME_MB_MAX)
        where: Options = {"port": nodes.port_of(1), "topic": name, "partitions": PARTITIONS, "acks": -1}
        options: Options = {**where, "seconds": seconds, "warmup_s": 1, "volume_mb_max": VOLUME_MB_MAX, **shape}
        return patiently(lambda: run_load("produce", options))


def patiently(work: Callable[[], Figures]) -> Figures:
    """Metadata names a leader a moment before the leader knows, and the generator takes no refusal."""
    deadline = time.monotonic() + ADMIN_TIMEOUT_S
    while True:
        try:
            return work()
        except LoadFailed:
            if time.monotonic() > deadline:
                raise


def begin(nodes: NodesOf) -> float:
    """Start a cluster that has never run; how long it takes until all of it has acknowledged a record."""
    begun = time.monotonic()
    nodes.start()
    failed: list[object] = []
    producer = Producer({"bootstrap.servers": f"127.0.0.1:{nodes.port_of(1)}", "acks": "all", "linger.ms": 0})
    producer.produce("first", b"record", on_delivery=lambda error, _message: failed.append(error) if error else None)
    assert producer.flush(ADMIN_TIMEOUT_S) == 0, "the first record was not answered"
    assert not failed, f"the producer was told of {failed[0]}"
    return time.monotonic() - begun


def first_record(_nodes: NodesOf, course: Course) -> Figures:
    return {"seconds": course.first_record_s}


def memory(nodes: NodesOf, _course: Course) -> Figures:
    return {"resident_mb": nodes.usage().resident_mb}


def failover(nodes: NodesOf, _course: Course) -> Figures:
    """The longest time between two acknowledgements while the leader is killed, for a producer that keeps sending."""
    with replicated_topic(nodes) as name:
        bootstrap = ",".join(f"127.0.0.1:{nodes.port_of(number)}" for number in range(1, NODES + 1))
        producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0, "log_level": 0})
        acknowledged: list[float] = []
        failed: list[object] = []

        def told(error: object, _message: object) -> None:
            if error is None:
                acknowledged.append(time.monotonic())
            else:
                failed.append(error)

        def send_until(enough: Callable[[], bool]) -> None:
            deadline = time.monotonic() + FAILOVER_TIMEOUT_S
            while not enough():
                assert time.monotonic() < deadline, "the cluster did not go on"
                producer.produce(name, b"x" * 100, partition=0, on_delivery=told)
                producer.poll(SEND_EVERY_S)

        send_until(lambda: len(acknowledged) >= STEADY_RECORDS)
        nodes.kill(1)
        killed = time.monotonic()
        send_until(lambda: sum(at > killed + 0.5 for at in acknowledged) >= STEADY_RECORDS)
        producer.flush(FAILOVER_TIMEOUT_S)
        nodes.revive(1)
        assert not failed, f"the producer was told of {failed[0]}"
    gaps = [after - before for before, after in itertools.pairwise(acknowledged)]
    return {"gap_s": max(gaps)}


FOUR_BY_FIVE: Options = {"connections": 4, "depth": 5}
# Deep enough that a request which is due always finds room: what limits this load is its rate.
PACED: Options = {"connections": 4, "depth": 500}
ONE_100B: Options = {"records": 1, "value_bytes": 100}


def warm_up(nodes: NodesOf) -> None:
    for _ in range(WARM_PASSES):
        run_shape(nodes, WARM_S, FOUR_BY_FIVE | SMALL_BATCHES)
        run_shape(nodes, WARM_S, FOUR_BY_FIVE | ONE_100B)


SCENARIOS = (
    Scenario(
        "cluster_start",
        "from empty folders to the first record that all three have acknowledged, its topic's creation included",
        first_record,
        (Metric("seconds", "s", False, limit=3.0),),
    ),
    Scenario(
        "cluster_16k",
        "acks=all, RF 3, 4 connections, depth 5, 16 KB batches",
        load(FOUR_BY_FIVE | SMALL_BATCHES),
        (Metric("mb_per_s", "MB/s", True, 2.0, 3.4), Metric("p99_ms", "ms", False)),
    ),
    Scenario(
        "cluster_100b",
        "acks=all, RF 3, 4 connections, depth 5, one 100 B record per request",
        load(FOUR_BY_FIVE | ONE_100B),
        (Metric("requests_per_s", "req/s", True, 3.0, 9.0), Metric("p99_ms", "ms", False)),
    ),
    Scenario(
        "cluster_half_load",
        "acks=all, RF 3, 16 KB batches at half of the rate that Kafka reached, timed from when each was due",
        half_load,
        (
            Metric("p50_ms", "ms", False, 0.5),
            Metric("p99_ms", "ms", False, 0.5),
            Metric("requests_per_s", "req/s", True),
        ),
    ),
    Scenario(
        "cluster_depth_1",
        "acks=all, RF 3, 1 connection, depth 1, one 1 KB record per request",
        load({"connections": 1, "depth": 1, "records": 1, "value_bytes": 1024}),
        (Metric("p50_ms", "ms", False), Metric("p99_ms", "ms", False)),
    ),
    Scenario(
        "cluster_memory",
        "resident memory of three nodes after the runs",
        memory,
        (Metric("resident_mb", "MB", False, 1 / 8),),
    ),
    Scenario(
        "cluster_failover",
        "longest gap of a producer with acks=all while the leader is killed",
        failover,
        (Metric("gap_s", "s", False, 1 / 5, limit=1.0),),
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.cluster", description="Three nodes beside three Kafka nodes.")
    parser.add_argument("--quick", action="store_true", help="one round of short runs")
    parser.add_argument("--rounds", type=int, help="rounds per scenario")
    parser.add_argument("--only", action="append", choices=[s.name for s in SCENARIOS], help="repeatable")
    parser.add_argument("--kafka", action=argparse.BooleanOptionalAction, default=True, help="measure Kafka too")
    parser.add_argument("--kafka-batches", type=float, help="16 KB batches a second Kafka reaches, if known")
    arguments = parser.parse_args()
    chosen = [scenario for scenario in SCENARIOS if not arguments.only or scenario.name in arguments.only]
    count = arguments.rounds or (1 if arguments.quick else 3)
    names = {scenario.name for scenario in chosen}
    learns = arguments.kafka and "cluster_16k" in names
    if "cluster_half_load" in names and not learns and not arguments.kafka_batches:
        parser.error("half of Kafka's load is known when Kafka's cluster_16k is measured, or by --kafka-batches N")
    course = Course(2.0 if arguments.quick else 5.0, arguments.kafka_batches or 0.0)
    rounds = measure(chosen, count, course, arguments.kafka)
    lines = [line for scenario in chosen for line in lines_of(scenario, rounds[scenario.name])]
    print_table(lines)
    keep(lines, rounds, "cluster-quick" if arguments.quick else "cluster")
    return 1 if any(line.verdict == "MISS" for line in lines) else 0


def measure(chosen: list[Scenario], count: int, course: Course, with_kafka: bool) -> dict[str, Rounds]:
    kinds = kinds_of_nodes(with_kafka)
    rounds: dict[str, Rounds] = {scenario.name: {} for scenario in chosen}
    for number in range(count):
        for kind in kinds if number % 2 == 0 else kinds[::-1]:
            nodes = kind()
            try:
                say(f"round {number + 1}: starting three nodes of {nodes.name}")
                course = replace(course, first_record_s=begin(nodes))
                warm_up(nodes)
                for scenario in chosen:
                    figures = scenario.run(nodes, course)
                    rounds[scenario.name].setdefault(nodes.name, []).append(figures)
                    say(f"  {scenario.name} {shown(scenario, figures)}")
                    if (nodes.name, scenario.name) == ("kafka", "cluster_16k"):
                        course = replace(course, kafka_batches_per_s=figures["requests_per_s"])
            finally:
                nodes.close()
    return rounds


def once_each(run: Callable[[NodesOf], Figures], with_kafka: bool) -> Rounds:
    """One round of a single scenario: three warm nodes of each kind, one kind at a time."""
    rounds: Rounds = {}
    for kind in kinds_of_nodes(with_kafka):
        nodes = kind()
        try:
            say(f"starting three nodes of {nodes.name}")
            nodes.start()
            warm_up(nodes)
            rounds[nodes.name] = [run(nodes)]
        finally:
            nodes.close()
    return rounds


def kinds_of_nodes(with_kafka: bool) -> list[Callable[[], NodesOf]]:
    return [KafkaNodes, PenstockNodes] if with_kafka else [PenstockNodes]


def shown(scenario: Scenario, figures: Figures) -> str:
    return "  ".join(f"{metric.key} {figures[metric.key]:,.4g} {metric.unit}" for metric in scenario.metrics)


if __name__ == "__main__":
    sys.exit(main())
