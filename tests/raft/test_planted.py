"""A world that finds nothing proves nothing: every planted bug is found within a few seeds."""

from __future__ import annotations

import pytest

from penstock.core.raft.decisions import Contradiction
from penstock.core.raft.leader import LeaderState
from tests.finding import first_failure
from tests.raft.faults import play, play_losing
from tests.raft.planted import BUGS, LOSING_BUGS, planted

HINTS = {
    "vote not saved before it is told": 20,
    "high watermark counts older epochs": 5,
    "leader counts what it has not synced": 68,
    "follower counts what it has not synced": 87,
    "voter changes overlap": 79,
}
"""Seeds that showed a bug when this was written; they are tried first, to save the time of those before them."""


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS)
def test_seeds_find(bug: str) -> None:
    with planted(bug):
        found = first_failure(play, HINTS.get(bug, 0), (AssertionError, Contradiction))
    print(f"{bug}: seed {found}")
    assert found is not None


@pytest.mark.slow
@pytest.mark.parametrize("bug", LOSING_BUGS)
def test_seeds_that_lose_logs_find(bug: str) -> None:
    with planted(bug):
        found = first_failure(play_losing, HINTS.get(bug, 0), (AssertionError, Contradiction))
    print(f"{bug}: seed {found}")
    assert found is not None


def test_a_bug_is_gone_when_its_time_is_over() -> None:
    honest = LeaderState._advance
    with planted("high watermark counts older epochs"):
        assert LeaderState._advance is not honest
    assert LeaderState._advance is honest
