"""Parallelism against recovery: the more partitions a node leads, the more have to find another leader when it dies."""

import time

from confluent_kafka.admin import AdminClient

from bench.clusters import PenstockNodes
from bench.tradeoffs.experiment import ADMIN_TIMEOUT_S, Experiment, Row, bootstrap_of, topic

COUNTS = (3, 30, 300, 3_000)
VICTIM = 1


def run(nodes: PenstockNodes) -> list[Row]:
    rows: list[Row] = []
    for count in COUNTS:
        with topic(nodes, count) as name:
            admin = AdminClient({"bootstrap.servers": bootstrap_of(nodes)})
            led = sum(leader == VICTIM for leader in leaders(admin, name))
            killed = time.monotonic()
            nodes.kill(VICTIM)
            while VICTIM in (now := leaders(admin, name)) or -1 in now:
                assert time.monotonic() < killed + ADMIN_TIMEOUT_S, "some partitions found no leader"
            found_s = time.monotonic() - killed
            nodes.revive(VICTIM)
            back = time.monotonic()
            while any(in_sync < 3 for in_sync in in_sync_counts(admin, name)):
                assert time.monotonic() < back + ADMIN_TIMEOUT_S, "the node did not catch up"
            caught_up_s = time.monotonic() - back
        rows.append((f"{count:,}", {"led": led, "all_led_again_s": found_s, "all_in_sync_s": caught_up_s}))
    return rows


def leaders(admin: AdminClient, name: str) -> list[int]:
    found = admin.list_topics(name, timeout=ADMIN_TIMEOUT_S).topics[name]
    return [partition.leader for partition in found.partitions.values()]


def in_sync_counts(admin: AdminClient, name: str) -> list[int]:
    found = admin.list_topics(name, timeout=ADMIN_TIMEOUT_S).topics[name]
    return [len(partition.isrs) for partition in found.partitions.values()]


PARTITIONS = Experiment(
    "partitions",
    "A node is killed: how long until every partition has a leader, and after its return, every replica is in sync?",
    run,
    (("all_led_again_s", "s until all are led again"), ("all_in_sync_s", "s from its start until all are in sync")),
)
