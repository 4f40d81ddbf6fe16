"""A simulator that finds nothing proves nothing: every planted bug is found within a few seeds."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace

import pytest

from penstock.core.log.producers import Producers
from penstock.sim.disk import DiskProfile
from penstock.sim.faults import FaultPlan
from penstock.sim.log_scenario import run_log_seed
from penstock.sim.planted import BUGS, LOG_BUGS, LOSING_BUGS, NODE_BUGS, QUORUM_BUGS, planted
from penstock.sim.planted_cluster import CLUSTER_BUGS
from penstock.sim.planted_transactions import TRANSACTION_BUGS
from penstock.sim.report import Report
from penstock.sim.run import draw_spec, run_seed
from penstock.sim.scenario import Spec

SEEDS_MAX = 60


NODE_HINTS = {
    "sequence check off": 3,
    "ack before sync": 2,
    "compaction forgets a key": 26,
    "commit before write": 4,
    "old claims count": 4,
    "reborn keeps its log": 3,
    "waits by the wall clock": 15,
}
LOG_HINTS = {
    "index not truncated": 17,
    "sequence check off": 2,
    "ack before sync": 2,
    "snapshot ahead of log": 5,
    "memory of one batch": 18,
}
"""Seeds that showed a bug when this was written; they are tried first, to save the time of those before them."""
PROVOKED: dict[str, Callable[[Spec], Spec]] = {
    "start not stored": lambda spec: replace(
        spec, faults=FaultPlan(shutdowns=4), workload=replace(spec.workload, deleters=2)
    ),
    "unmade file synced": lambda spec: replace(
        spec, faults=FaultPlan(slow_disks=4, full_disks=2), disk=DiskProfile(inline=0.0)
    ),
}
"""What almost any seed shows where there is much of the trouble that it takes."""
TAKES_OTHER_ARGUMENTS = {"ack before sync: _sync_segments"}
"""It fails at its first call, and not for what it is named after."""


def first_failure(run: Callable[[int], Report], hint: int = 0) -> Exception | None:
    seeds = [hint, *(seed for seed in range(SEEDS_MAX) if seed != hint)]
    return next((failure for seed in seeds if (failure := run(seed).failure) is not None), None)


@pytest.mark.slow
@pytest.mark.parametrize("bug", LOG_BUGS)
def test_the_log_s_seeds_find(bug: str) -> None:
    with planted(bug):
        assert first_failure(run_log_seed, LOG_HINTS.get(bug, 0)) is not None


def run_provoked(bug: str, seed: int) -> Report:
    # Without what came later: the hints are about seeds as they were.
    drawn = draw_spec(seed, stagings=0.0)
    provoke = PROVOKED.get(bug)
    return run_seed(seed, drawn if provoke is None else provoke(drawn))


@pytest.mark.slow
@pytest.mark.parametrize("bug", NODE_BUGS)
def test_the_node_s_seeds_find(bug: str) -> None:
    with planted(bug):
        assert first_failure(lambda seed: run_provoked(bug, seed), NODE_HINTS.get(bug, 0)) is not None


@pytest.mark.slow
@pytest.mark.parametrize("bug", PROVOKED)
def test_the_trouble_alone_is_survived(bug: str) -> None:
    assert run_provoked(bug, 0).failure is None


def test_what_is_planted_takes_the_arguments_of_what_it_replaces() -> None:
    tables = (BUGS, CLUSTER_BUGS, TRANSACTION_BUGS)
    patches = [(bug, patch) for table in tables for bug, make in table.items() for patch in make()]
    functions = [(f"{bug}: {name}", getattr(owner, name), new) for bug, (owner, name, new) in patches]
    wrong = {what for what, honest, new in functions if inspect.isfunction(honest) and not _takes(new, honest)}
    assert wrong == TAKES_OTHER_ARGUMENTS


def _takes(new: Callable[..., object], honest: Callable[..., object]) -> bool:
    """Whether it can be called with the arguments that the honest one has."""
    called = inspect.signature(honest).parameters.values()
    by_name = {one.name: None for one in called if one.kind is one.KEYWORD_ONLY}
    try:
        inspect.signature(new).bind(*(None for one in called if one.kind is one.POSITIONAL_OR_KEYWORD), **by_name)
    except TypeError:
        return False
    return True


def test_every_bug_is_looked_for() -> None:
    assert {*LOG_BUGS, *NODE_BUGS, *QUORUM_BUGS, *LOSING_BUGS} == set(BUGS)


def test_a_bug_is_gone_when_its_time_is_over() -> None:
    honest = Producers.check
    with planted("sequence check off"):
        assert Producers.check is not honest
    assert Producers.check is honest
