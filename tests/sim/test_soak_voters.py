"""`make soak`: quorums under many seeds."""

from __future__ import annotations

from functools import partial

import pytest

from penstock.sim.voters.run import MUST_HAPPEN
from penstock.sim.voters.scenario import run_voters
from tests.fresh_seeds import fresh
from tests.sim.many_seeds import run_all

SEEDS = fresh(200)
SEEDS_PER_TEST = 50


@pytest.mark.soak
@pytest.mark.parametrize("machines", [3, 5])
@pytest.mark.parametrize("first", SEEDS[::SEEDS_PER_TEST])
def test_voters_keep_the_metadata_together(first: int, machines: int) -> None:
    run_all(partial(run_voters, machines=machines), range(first, first + SEEDS_PER_TEST), MUST_HAPPEN)
