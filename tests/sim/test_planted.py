"""A simulator that finds nothing proves nothing: every planted bug is found within a few seeds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.core.log.producers import Producers
from penstock.sim.log_scenario import run_log_seed
from penstock.sim.planted import BUGS, LOG_BUGS, NODE_BUGS, planted
from penstock.sim.report import Report
from penstock.sim.run import run_seed

SEEDS_MAX = 60


def first_seed_that_fails(run: Callable[[int], Report]) -> int | None:
    return next((seed for seed in range(SEEDS_MAX) if run(seed).failure is not None), None)


@pytest.mark.slow
@pytest.mark.parametrize("bug", LOG_BUGS)
def test_the_log_s_seeds_find(bug: str) -> None:
    with planted(bug):
        assert first_seed_that_fails(run_log_seed) is not None


@pytest.mark.slow
@pytest.mark.parametrize("bug", NODE_BUGS)
def test_the_node_s_seeds_find(bug: str) -> None:
    with planted(bug):
        assert first_seed_that_fails(run_seed) is not None


def test_every_bug_is_looked_for() -> None:
    assert set(LOG_BUGS) | set(NODE_BUGS) == set(BUGS)


def test_a_bug_is_gone_when_its_time_is_over() -> None:
    honest = Producers.check
    with planted("sequence check off"):
        assert Producers.check is not honest
    assert Producers.check is honest
