"""`make soak`: clusters of three and five under many seeds."""

from __future__ import annotations

import pytest

from penstock.sim.cluster_scenario import run_cluster_seed
from penstock.sim.cluster_spec import WITH_LIVE_GROUPS, draw_cluster
from penstock.sim.run import CLUSTER_MUST_HAPPEN
from tests.fresh_seeds import fresh
from tests.sim.many_seeds import SEEDS_PER_TEST, run_all

SEEDS = fresh(1_000)


@pytest.mark.soak
@pytest.mark.parametrize("machines", [3, 5])
@pytest.mark.parametrize("first", SEEDS[::SEEDS_PER_TEST])
def test_a_cluster_keeps_its_promises(first: int, machines: int) -> None:
    seeds = range(first, first + SEEDS_PER_TEST)
    run_all(
        lambda seed: run_cluster_seed(seed, draw_cluster(seed, machines, WITH_LIVE_GROUPS)), seeds, CLUSTER_MUST_HAPPEN
    )
