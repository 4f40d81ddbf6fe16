"""Sweeps: a little per turn, always on the newest image, and in the end the same as all at once."""

from __future__ import annotations

import time

import pytest

from penstock.core.metadata import sweep as sweeping
from penstock.core.metadata.broker_fencing import fencing, unfencing
from penstock.core.metadata.heartbeats import Heartbeats, State
from penstock.core.metadata.image import Image
from penstock.core.metadata.sweep import Sweep
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import (
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from tests.metadata.cluster import SESSION_MS, Cluster, topic_id


@pytest.fixture
def small_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "CHANGES_PER_TURN_MAX", 3)
    monkeypatch.setattr(sweeping, "LOOKED_AT_PER_TURN_MAX", 8)


def cluster_of(topics: int, partitions: int) -> Cluster:
    cluster = Cluster([1, 2, 3])
    sets = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    for number in range(topics):
        cluster.create(f"t{number}", *(sets[index % 3] for index in range(partitions)))
    return cluster


def turns_of(cluster: Cluster, sweep: Sweep) -> list[list[StoredRecord]]:
    turns = []
    while not sweep.is_done:
        turns.append(cluster.apply(sweep.step(cluster.image)))
    return turns


@pytest.mark.usefixtures("small_turns")
def test_turns_are_small_and_leave_nothing_out() -> None:
    cluster, at_once = cluster_of(5, 4), cluster_of(5, 4)
    turns = turns_of(cluster, fencing(cluster.image, cluster.settings, cluster.broker(1)))
    at_once.apply(fencing(at_once.image, at_once.settings, at_once.broker(1)).run(at_once.image))
    assert max(len(turn) for turn in turns) <= 4
    assert len(turns) >= 7
    for number in range(5):
        for index in range(4):
            assert cluster.partition(f"t{number}", index) == at_once.partition(f"t{number}", index)
            assert 1 not in cluster.partition(f"t{number}", index).isr


@pytest.mark.usefixtures("small_turns")
def test_what_is_decided_meanwhile_is_not_undone() -> None:
    cluster = cluster_of(2, 6)
    sweep = fencing(cluster.image, cluster.settings, cluster.broker(1))
    cluster.apply(sweep.step(cluster.image))
    untouched = [
        (name, index) for name in ("t0", "t1") for index in range(6) if 1 in cluster.partition(name, index).isr
    ]
    name, index = untouched[-1]
    cluster.apply([PartitionChangeRecord(topic_id=topic_id(name), partition_id=index, isr=[1, 2], leader=1)])
    turns_of(cluster, sweep)
    assert (cluster.partition(name, index).isr, cluster.partition(name, index).leader) == ((2,), 2)


@pytest.mark.usefixtures("small_turns")
def test_topics_come_and_go_while_a_sweep_is_under_way() -> None:
    cluster = cluster_of(3, 6)
    sweep = fencing(cluster.image, cluster.settings, cluster.broker(1))
    cluster.apply(sweep.step(cluster.image))
    for name in ("t0", "t1", "t2"):
        cluster.apply([RemoveTopicRecord(topic_id=topic_id(name))])
    cluster.create("t0", [1, 2, 3])
    cluster.create("new", [1, 2, 3])
    turns_of(cluster, sweep)
    assert cluster.partition("t0").isr == cluster.partition("new").isr == (2, 3)


@pytest.mark.usefixtures("small_turns")
def test_a_sweep_pauses_between_its_turns() -> None:
    cluster = cluster_of(3, 6)
    batches: list[list[StoredRecord]] = []

    def append(records: list[StoredRecord]) -> None:
        batches.append(cluster.apply(records))

    sweep = fencing(cluster.image, cluster.settings, cluster.broker(1))
    pauses = list(sweep.steps(lambda: cluster.image, append))
    assert sweep.is_done
    assert len(batches) > 1
    assert len(pauses) >= len(batches) - 1
    assert all(1 not in cluster.partition(f"t{number}").isr for number in range(3))


@pytest.mark.usefixtures("small_turns")
def test_a_new_controller_finishes_what_the_last_one_began() -> None:
    cluster = cluster_of(3, 6)
    cluster.create("alone", [1])
    fenced = fencing(cluster.image, cluster.settings, cluster.broker(1))
    cluster.apply(fenced.step(cluster.image))
    assert any(1 in cluster.partition(f"t{number}", 5).isr for number in range(3)), "the first turn did it all"
    cluster.heartbeats = Heartbeats(cluster.image, SESSION_MS, 0)
    sweeps = cluster.heartbeats.take_over(cluster.image, cluster.settings)
    assert cluster.beat(1).state is State.FENCED, "it is let in when its partitions are settled"
    for sweep in sweeps:
        cluster.sweep(sweep)
    assert all(1 not in cluster.partition(f"t{number}", index).isr for number in range(3) for index in range(6))
    cluster.apply(unfencing(cluster.image, cluster.settings, cluster.broker(1))._opening)
    for sweep in Heartbeats(cluster.image, SESSION_MS, 0).take_over(cluster.image, cluster.settings):
        cluster.sweep(sweep)
    assert cluster.partition("alone").leader == 1


def test_a_sweep_that_is_done_stays_done() -> None:
    cluster = Cluster([1])
    sweep = fencing(cluster.image, cluster.settings, cluster.broker(1))
    cluster.sweep(sweep)
    with pytest.raises(AssertionError, match="done"):
        sweep.step(cluster.image)


def test_what_it_costs_to_find_and_to_move_a_brokers_partitions() -> None:
    """Nothing keeps a list of a broker's partitions: looking at all of them costs less than moving a few."""
    count = 20_000
    cluster = Cluster([1, 2, 3])
    for number in range(count // 100):
        cluster.apply(_records(f"t{number}", 100))
    image: Image = cluster.image
    begun = time.perf_counter()
    found = sum(len(topic.counting_on(1)) for topic in image.topics.values())
    looked_s = time.perf_counter() - begun
    sweep = fencing(image, cluster.settings, cluster.broker(1))
    turns, worst_s = 0, 0.0
    begun = time.perf_counter()
    while not sweep.is_done:
        turn = time.perf_counter()
        sweep.step(image)
        worst_s = max(worst_s, time.perf_counter() - turn)
        turns += 1
    swept_s = time.perf_counter() - begun
    print(
        f"\nlooking at {count} partitions: {looked_s / count * 1e9:.0f} ns each; deciding about {found}: "
        f"{swept_s / found * 1e6:.1f} us each, {turns} turns, the longest {worst_s * 1000:.1f} ms"
    )
    assert found == count
    assert turns >= found // sweeping.CHANGES_PER_TURN_MAX


def _records(name: str, partitions: int) -> list[StoredRecord]:
    sets = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    made: list[StoredRecord] = [TopicRecord(name=name, topic_id=topic_id(name))]
    for index in range(partitions):
        replicas = sets[index % 3]
        made.append(
            PartitionRecord(
                partition_id=index,
                topic_id=topic_id(name),
                replicas=replicas,
                isr=replicas,
                leader=replicas[0],
                leader_epoch=0,
                partition_epoch=0,
            )
        )
    return made
