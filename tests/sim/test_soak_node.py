"""`make soak`: the node under many seeds."""

from __future__ import annotations

import pytest

from penstock.sim.run import MUST_HAPPEN, run_seed
from tests.fresh_seeds import fresh
from tests.sim.many_seeds import SEEDS_PER_TEST, run_all

SEEDS = fresh(600)


@pytest.mark.soak
@pytest.mark.parametrize("first", SEEDS[::SEEDS_PER_TEST])
def test_the_node_keeps_its_promises(first: int) -> None:
    run_all(run_seed, range(first, first + SEEDS_PER_TEST), MUST_HAPPEN)
