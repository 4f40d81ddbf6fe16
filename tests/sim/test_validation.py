"""Clusters with topics that demand schemas keep their promises, and mistakes in that are found."""

from __future__ import annotations

import pytest

from penstock.sim.planted import planting
from penstock.sim.validation.planted import VALIDATION_BUGS
from penstock.sim.validation.run import main
from penstock.sim.validation.scenario import draw_validation, run_validation

SEEDS_MAX = 80
FOUND_BY = {
    "unknown passes": 0,
    "first record only": 5,
    "answered before its letters": 15,
    "letters come once": 15,
    "letters forgotten": 63,
    "refused though taken": 124,
}
"""Where the search begins; another seed will do when the node has changed."""


def test_seeds_keep_every_promise() -> None:
    written: list[str] = []
    assert main(["--seeds", "0-5"], written.append) == 0, written[-1]


def test_a_seed_is_a_run() -> None:
    assert run_validation(2).trace_hash == run_validation(2).trace_hash


def test_seeds_differ_in_what_is_demanded() -> None:
    drawn = [draw_validation(seed).settings for seed in range(20)]
    for name in drawn[0]:
        assert len({settings[name] for settings in drawn}) == 2


@pytest.mark.slow
@pytest.mark.parametrize("bug", VALIDATION_BUGS)
def test_a_planted_bug_is_found(bug: str) -> None:
    first = FOUND_BY[bug]
    with planting(VALIDATION_BUGS[bug]()):
        found = any(run_validation(first + number).failure is not None for number in range(SEEDS_MAX))
    assert found
