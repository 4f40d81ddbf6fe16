"""Parallelism against recovery: the more partitions a node leads, the more have to find another leader when it dies."""

import time
from collections.abc import Callable

from bench.clusters import PenstockNodes
from bench.tradeoffs.experiment import ADMIN_TIMEOUT_S, Experiment, Row, topic
from penstock.client.blocking import Client
from penstock.client.metadata import NO_NODE, PartitionView

COUNTS = (3, 30, 300, 3_000)
VICTIM, WITNESS = 1, 2
# Of three brokers one in a session is taken for dead at once; a second one, so soon after it, by its silence.
APART_S = 3.0


def run(nodes: PenstockNodes) -> list[Row]:
    rows: list[Row] = []
    for count in COUNTS:
        # Only a survivor is asked: librdkafka keeps a question for the broker that it chose, dead or not.
        with topic(nodes, count) as name, Client(f"127.0.0.1:{nodes.port_of(WITNESS)}") as client:
            led = sum(partition.leader == VICTIM for partition in partitions(client, name))
            time.sleep(APART_S)
            nodes.kill(VICTIM)
            found_s = seconds_until(lambda: all(has_another_leader(each) for each in partitions(client, name)))
            nodes.revive(VICTIM)
            caught_up_s = seconds_until(lambda: all(len(each.in_sync) == 3 for each in partitions(client, name)))
        rows.append((f"{count:,}", {"led": led, "all_led_again_s": found_s, "all_in_sync_s": caught_up_s}))
    return rows


def seconds_until(condition: Callable[[], bool]) -> float:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() < began + ADMIN_TIMEOUT_S, "this takes too long"
    return time.monotonic() - began


def has_another_leader(partition: PartitionView) -> bool:
    return partition.leader not in (VICTIM, NO_NODE)


def partitions(client: Client, name: str) -> tuple[PartitionView, ...]:
    client.refresh((name,))
    return client.cluster.topics[name].partitions


PARTITIONS = Experiment(
    "partitions",
    "A node is killed: how long until every partition has a leader, and after its return, every replica is in sync?",
    run,
    (("all_led_again_s", "s until all are led again"), ("all_in_sync_s", "s from its start until all are in sync")),
)
