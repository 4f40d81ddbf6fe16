"""Every bug that is planted in a cluster is found within a few seeds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import cycle

import pytest

from penstock.sim.cluster_scenario import run_cluster_seed
from penstock.sim.cluster_spec import NOTHING_BESIDE, ClusterSpec, draw_cluster, parse_happenings
from penstock.sim.planted import planting
from penstock.sim.planted_cluster import CLUSTER_BUGS
from penstock.sim.planted_damage import HOSTILE_BUGS, SHORTAGE_BUGS
from penstock.sim.planted_staging import STAGING_BUGS
from penstock.sim.scheduler import SECOND
from tests.fresh_seeds import fresh

SEEDS_MAX = 200
SEEDS_SOON_MAX = 20
HINTS = {
    "sequence check off": 5,
    "divergence unseen": 2,
    "watermark goes back": 1,
    "unclean elections": 2,
    "end told too early": 5,
    "answer void after retention": 1,
    "unclean restart kept in sync": 5,
    "boot id ignored": 4,
    "lease ignored": 1,
    "one voter is a majority": 3,
    "who left is waited for": 39,
    "note believed": 33,
    "noise unexpected": 1,
    "staged outlives its role": 5,
    "unknown is deleted": 4,
    "damage cut in silence": 2,
    "damage deleted": 1,
    "lack taken for failure": 1,
    "compaction forgets a key": 7,
}
"""Seeds that showed a bug when this was written; they are tried first, to save the time of those before them."""

# Who lost its power must have been trusted until then, and what is left of its disk must look whole: that takes many
# attempts, and drawn storms have two or three.
OFTEN_DARK = "at 0 s set kept min.insync.replicas to 3\n" + "".join(
    f"at {second} s power-loss 2 for 300 ms\n" for second in range(4, 48, 4)
)
BESIDE = {
    "answer void after retention": ("retentions",),
    "who left is waited for": ("estrangements",),
    "uncommitted tail served": ("near_readers",),
    "no bound on connections": ("hostiles",),
    "room for every frame": ("hostiles",),
    "metadata's name free": ("hostiles",),
    "any epoch believed": ("hostiles",),
    "note believed": ("failed_disks",),
    "compaction forgets a key": ("compactions",),
    **dict.fromkeys(STAGING_BUGS, ("stagings",)),
    **dict.fromkeys(HOSTILE_BUGS, ("hostiles",)),
    **dict.fromkeys(SHORTAGE_BUGS, ("shortages",)),
}
"""What must come beside the rest for somebody to notice."""
# Another leader, while the one before is there and a job of it is not done.
LEADERS_CHANGE = "".join(
    f"at {second} s reassign kept-0 to {order}\nat {second + 1} s elect kept-0\n"
    for second, order in zip(range(2, 58, 4), cycle(("2,3,1", "3,1,2", "1,2,3")))
)
# Its clients go on asking a leader that no follower hears.
LEADERS_CUT_OFF = "".join(
    f"at {second} s cut {leader}-{one} for 3 s\nat {second} s cut {leader}-{other} for 3 s\n"
    for second, (leader, one, other) in zip(range(3, 18, 5), ((1, 2, 3), (2, 3, 1), (3, 1, 2)), strict=True)
)
OFTEN_ROTTEN = "".join(f"at {s} s crash 2 for 2 s\nat {s + 1} s rot-log 2 by 3 bits\n" for s in range(4, 58, 6))
# Only who reads old records goes by an index, so all of them rot on every machine before the auditor comes.
INDEXES_ROT = "".join(f"at {s} s rot-index {machine} by 30 bits\n" for s in range(4, 20, 2) for machine in (1, 2, 3))
STORMS = {
    "boot id ignored": OFTEN_DARK,
    "unclean restart kept in sync": OFTEN_DARK,
    "unknown is deleted": OFTEN_DARK,
    "staged outlives its role": LEADERS_CHANGE,
    "damage cut in silence": OFTEN_ROTTEN,
    "damage deleted": OFTEN_ROTTEN,
    "index believed": INDEXES_ROT,
    "drains unheard": "at 5 s drain 1\n",
    "commit before write": LEADERS_CUT_OFF,
}
"""The trouble that provokes a bug: there almost any seed shows it."""
STORM_US = dict.fromkeys(("index believed", "drains unheard", "commit before write"), 20 * SECOND)
CONFIGS = {"index believed": {"segment.ms": "3000", "index.interval.bytes": "100"}}
SLOW_JOBS = {"staged outlives its role": 5 * SECOND}


def spec_of(seed: int, bug: str) -> ClusterSpec:
    # Without what came later: the hints are about seeds as they were.
    shares = replace(NOTHING_BESIDE, **dict.fromkeys(BESIDE.get(bug, ()), 1.0))
    drawn = draw_cluster(seed, 3, shares)
    if bug not in STORMS:
        return drawn
    storm, errands = parse_happenings(STORMS[bug])
    disk = replace(drawn.disk, job_us_max=SLOW_JOBS.get(bug, drawn.disk.job_us_max))
    kept, *others = drawn.topics
    kept = replace(kept, configs={**kept.configs, **CONFIGS.get(bug, {})})
    storm_us = STORM_US.get(bug, drawn.storm_us)
    return replace(drawn, storm=storm, errands=errands, storm_us=storm_us, disk=disk, topics=(kept, *others))


def first_failure(bug: str, seeds: Iterable[int]) -> Exception | None:
    with planting(CLUSTER_BUGS[bug]()):
        runs = (run_cluster_seed(seed, spec_of(seed, bug)) for seed in seeds)
        return next((report.failure for report in runs if report.failure is not None), None)


@pytest.mark.slow
@pytest.mark.parametrize("bug", CLUSTER_BUGS)
def test_a_cluster_s_seeds_find(bug: str) -> None:
    hint = HINTS.get(bug, 0)
    assert first_failure(bug, [hint, *(seed for seed in range(SEEDS_SOON_MAX) if seed != hint)]) is not None


@pytest.mark.soak
@pytest.mark.parametrize("bug", CLUSTER_BUGS)
def test_fresh_seeds_find(bug: str) -> None:
    assert first_failure(bug, fresh(SEEDS_MAX)) is not None


@pytest.mark.slow
@pytest.mark.parametrize("bug", {storm: bug for bug, storm in STORMS.items()}.values())
def test_without_it_nothing_is_found(bug: str) -> None:
    assert run_cluster_seed(0, spec_of(0, bug)).failure is None
