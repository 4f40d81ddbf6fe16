"""`make soak`: the log under many seeds."""

from __future__ import annotations

import pytest

from penstock.sim.log_scenario import run_log_seed
from tests.fresh_seeds import fresh
from tests.sim.many_seeds import LOG_MUST_HAPPEN, SEEDS_PER_TEST, run_all

SEEDS = fresh(1_000)


@pytest.mark.soak
@pytest.mark.parametrize("first", SEEDS[::SEEDS_PER_TEST])
def test_the_log_keeps_its_promises(first: int) -> None:
    run_all(run_log_seed, range(first, first + SEEDS_PER_TEST), LOG_MUST_HAPPEN)
