"""Whole nodes as a cluster: clients at work through storms, and everything acknowledged is there in the end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.sim.cluster_scenario import make_cluster, run_cluster_seed
from penstock.sim.cluster_spec import ClusterSpec, draw_cluster
from penstock.sim.report import Report
from penstock.sim.scheduler import SECOND
from penstock.sim.storm import parse_storm
from tests.sim.many_seeds import run_all

SEEDS = range(6)
FOUND = (12, 65, 348)
"""Seeds that have shown something: a false OFFSET_OUT_OF_RANGE, a lost record, a partition without a leader."""
BRIEF_US = 8 * SECOND
BRIEF_RECORDS = 100
MUST_HAPPEN = ("records-acknowledged", "crash", "power-loss", "pause", "fault-cut", "fault-isolate", "Down", "Up")


def brief(seed: int, storm: str = "") -> ClusterSpec:
    """A seed's workload, for a short while, with a storm of one's own."""
    return replace(
        draw_cluster(seed, 3), storm=parse_storm(storm), errands=(), storm_us=BRIEF_US, records_min=BRIEF_RECORDS
    )


def run_briefly(seed: int) -> Report:
    return run_cluster_seed(seed, brief(seed, "at 1 s cut 1-2 for 2 s\nat 2 s power-loss 3 for 1 s"))


def run(seed: int) -> Report:
    return run_cluster_seed(seed, draw_cluster(seed, 3))


def test_a_cluster_serves_its_clients() -> None:
    report = run_cluster_seed(1, brief(1))
    assert report.failure is None, report.failure
    assert report.counts["records-acknowledged"] >= BRIEF_RECORDS
    assert report.counts["Up"] == 3


def test_a_cluster_survives_one_of_three() -> None:
    report = run_cluster_seed(2, brief(2, "at 2 s crash 1 for 2 s"))
    assert report.failure is None, report.failure
    assert report.counts["fault-crash"] == 1


@pytest.mark.slow
def test_a_seed_is_a_run() -> None:
    first, second = run_briefly(3), run_briefly(3)
    assert first.trace_hash == second.trace_hash
    assert first.events == second.events


def test_every_drawn_run_is_large_enough() -> None:
    for seed in range(100):
        spec = draw_cluster(seed, 3)
        assert spec.storm_us >= 60 * SECOND
        assert any(plan.acks == -1 for plan in spec.producers)
        unlucky = {fault.one for fault in spec.storm if fault.kind == "power-loss"}
        assert len(unlucky) < 2 or spec.topics[0].configs["flush.messages"] == "1"


def test_machines_are_formatted_once_and_for_one_cluster() -> None:
    world = make_cluster(1, ClusterSpec(3))
    world.boot()
    world.scheduler.run_until(5 * SECOND)
    metas = {number: _meta(site.disk) for number, site in world.sites.items()}
    assert len({line for meta in metas.values() for line in meta if line.startswith("cluster.id")}) == 1
    world.sites[1].power_loss(1)
    world.scheduler.run_until(10 * SECOND)
    assert _meta(world.sites[1].disk) == metas[1]


def _meta(disk: object) -> list[str]:
    return disk.volume.platter.file("/data/meta.properties").written.decode().splitlines()  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_cluster_keeps_its_promises() -> None:
    run_all(run, [*SEEDS, *FOUND], MUST_HAPPEN)
