"""Simulated clusters for other people's tests: clients ride through faults, and what nodes promise is held against
them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.sim.invariants.base import Violation
from penstock.sim.planted import planting
from penstock.sim.planted_cluster import CLUSTER_BUGS
from penstock.sim.script import Script
from penstock.testing import Refused, SimClient, SimCluster, Uncertain

PAGE = Path(__file__).resolve().parent.parent.parent / "docs/testing.md"
COUNT = 15
STORM = "at 1 s crash 1 for 1 s\nat 3 s power-loss 2 for 1 s\nat 5 s cut 1-3 for 1 s"


def writer(client: SimClient) -> Script[list[int]]:
    offsets = []
    for number in range(COUNT):
        offsets.append((yield from client.insist(client.send, "orders", b"%d" % number, key=b"k")))
        yield from client.pause(0.5)
    return offsets


def reader(client: SimClient) -> Script[list[bytes | None]]:
    """Goes on where it last said that it was."""
    found: dict[int, bytes | None] = {}
    while len(set(found.values())) < COUNT:
        position = max((yield from client.insist(client.committed, "readers", "orders")), 0)
        for record in (yield from client.insist(client.read, "orders", position)):
            found[record.offset] = record.value
            position = record.offset + 1
        yield from client.insist(client.commit, "readers", "orders", position)
    return [found[offset] for offset in sorted(found)]


def played(seed: int) -> tuple[list[int], list[bytes | None], float, tuple[str, ...]]:
    with SimCluster(seed=seed, storm=STORM) as cluster:
        cluster.create_topic("orders", flush_messages=1)
        wrote, read = cluster.start(writer), cluster.start(reader)
        cluster.run(10)
        assert cluster.now > 10
    return wrote.result, read.result, cluster.now, cluster.trace


@pytest.mark.slow
def test_clients_ride_through_a_storm_and_a_seed_is_a_run() -> None:
    first, second = played(3), played(3)
    assert first == second
    offsets, values, _, _ = first
    assert len(offsets) == COUNT
    assert {int(value or b"-1") for value in values} == set(range(COUNT))


def test_a_single_attempt_may_fail() -> None:
    def impatient(client: SimClient) -> Script[int]:
        failed = 0
        for number in range(200):
            try:
                yield from client.send("orders", b"%d" % number, acks=1)
            except (Uncertain, Refused):
                failed += 1
        return failed

    with SimCluster(seed=1) as cluster:
        cluster.create_topic("orders")
        cluster.storm("at 100 ms crash 1 for 2 s\nat 100 ms crash 2 for 2 s\nat 100 ms crash 3 for 2 s")
        job = cluster.start(impatient)
        cluster.run(20)
        assert job.done
        assert job.result > 0


def test_what_a_client_raises_is_raised() -> None:
    def surprised(client: SimClient) -> Script[None]:
        yield from client.pause(1)
        raise KeyError("a surprise")

    cluster = SimCluster()
    with pytest.raises(KeyError, match="a surprise"), cluster:
        cluster.start(surprised)


def test_a_broken_promise_is_found() -> None:
    with planting(CLUSTER_BUGS["watermark too early"]()), pytest.raises(Violation):
        played(1)


def test_the_fixture_makes_clusters(penstock_sim: Callable[..., SimCluster]) -> None:
    cluster = penstock_sim(nodes=3, seed=2)
    cluster.create_topic("orders", partitions=2)
    job = cluster.start(lambda client: client.insist(client.send, "orders", b"first", partition=1))
    cluster.finish()
    assert job.result == 0


def test_the_example_on_the_page(penstock_sim: Callable[..., SimCluster]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    example: dict[str, Any] = {}
    exec(next(block for block in blocks if "penstock_sim" in block), example)
    example["test_every_order_arrives"](penstock_sim)
