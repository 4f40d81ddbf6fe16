"""Controllers and brokers on machines of their own: the same clients, storms and promises."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.sim.cluster_scenario import run_cluster_seed
from penstock.sim.cluster_spec import ClusterSpec, Shares, draw_cluster
from penstock.sim.report import Report
from penstock.sim.scheduler import SECOND
from penstock.sim.storm import parse_storm
from tests.sim.many_seeds import run_all

pytestmark = pytest.mark.slow

MACHINES = 6
CONTROLLERS = 3
SEEDS = range(2)
MUST_HAPPEN = ("records-acknowledged", "fault-crash", "fault-isolate", "Down", "Up")
BRIEF_RECORDS = 60


def drawn(seed: int) -> ClusterSpec:
    return replace(draw_cluster(seed, MACHINES, Shares(reseatings=0.0, chains=0.0)), controllers=CONTROLLERS)


def run(seed: int) -> Report:
    return run_cluster_seed(seed, drawn(seed))


def test_controllers_and_brokers_on_machines_of_their_own_survive_one_of_each() -> None:
    storm = parse_storm("at 1 s crash 1 for 1 s\nat 2 s power-loss 4 for 1 s\nat 3 s cut 2-5 for 1 s")
    spec = replace(drawn(1), storm=storm, errands=(), storm_us=5 * SECOND, records_min=BRIEF_RECORDS)
    report = run_cluster_seed(1, spec)
    assert report.failure is None, report.failure
    assert report.counts["records-acknowledged"] >= BRIEF_RECORDS


def test_controllers_and_brokers_on_machines_of_their_own_keep_their_promises() -> None:
    run_all(run, SEEDS, MUST_HAPPEN)
