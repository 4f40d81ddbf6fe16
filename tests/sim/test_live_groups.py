"""Live groups in a cluster: processes of both protocols come, go and hang, and every bug that is planted is found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import pytest

from penstock.sim.cluster_scenario import run_cluster_seed
from penstock.sim.cluster_spec import NOTHING_BESIDE, ClusterSpec, draw_cluster
from penstock.sim.planted import planting
from penstock.sim.planted_groups import GROUP_BUGS
from penstock.sim.scheduler import SECOND
from penstock.sim.storm import parse_storm
from tests.fresh_seeds import fresh

SEEDS_MAX: Final = 200
SEEDS_SOON_MAX: Final = 10
BRIEF_US: Final = 20 * SECOND
HINTS: Final = {
    "fenced member keeps its partitions": 2,
    "fenced member commits": 1,
    "upgrade forgets a member": 4,
    "upgrade takes partitions": 4,
}
"""Seeds that showed a bug when this was written; they are tried first, to save the time of those before them."""
COORDINATORS_DIE: Final = "at 5 s crash 1 for 2 s\nat 8 s isolate 2 for 3 s\nat 12 s power-loss 3 for 1 s\n"


def spec_of(seed: int, storm: str = "") -> ClusterSpec:
    """Nothing but a live group of both protocols."""
    drawn = draw_cluster(seed, 3, replace(NOTHING_BESIDE, live_groups=1.0))
    assert drawn.live_group is not None
    group = replace(drawn.live_group, members=5, classic=0.4, ends=0.06, hangs=0.04)
    return replace(
        drawn,
        live_group=group,
        storm=parse_storm(storm),
        errands=(),
        storm_us=BRIEF_US,
        producers=(),
        groups=(),
        members_each=0,
        onlookers=0,
        records_min=0,
    )


def first_failure(bug: str, seeds: Iterable[int]) -> Exception | None:
    with planting(GROUP_BUGS[bug]()):
        runs = (run_cluster_seed(seed, spec_of(seed)) for seed in seeds)
        return next((report.failure for report in runs if report.failure is not None), None)


@pytest.mark.slow
@pytest.mark.parametrize("bug", GROUP_BUGS)
def test_seeds_of_live_groups_find(bug: str) -> None:
    hint = HINTS.get(bug, 0)
    assert first_failure(bug, [hint, *(seed for seed in range(SEEDS_SOON_MAX) if seed != hint)]) is not None


@pytest.mark.soak
@pytest.mark.parametrize("bug", GROUP_BUGS)
def test_fresh_seeds_find(bug: str) -> None:
    assert first_failure(bug, fresh(SEEDS_MAX)) is not None


@pytest.mark.slow
def test_a_live_group_survives_its_coordinators() -> None:
    report = run_cluster_seed(0, spec_of(0, COORDINATORS_DIE))
    assert report.failure is None, report.failure
    for what in ("live-group-takes", "Committed", "live-group-changes"):
        assert report.counts[what], what


def test_a_live_group_takes_nothing_from_a_seed() -> None:
    drawn, without = (draw_cluster(7, 3, replace(NOTHING_BESIDE, live_groups=each)) for each in (1.0, 0.0))
    assert drawn.live_group is not None
    assert replace(drawn, live_group=None, settings={}) == replace(without, settings={})
