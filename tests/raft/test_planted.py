"""A world that finds nothing proves nothing: every planted bug is found within a few seeds."""

from __future__ import annotations

import pytest

from penstock.core.raft.decisions import Contradiction
from penstock.core.raft.leader import Leader
from tests.finding import first_failure
from tests.raft.faults import play
from tests.raft.planted import BUGS, planted

HINTS = {
    "vote not saved before it is told": 67,
    "high watermark counts older epochs": 5,
    "leader counts what it has not synced": 26,
    "follower counts what it has not synced": 65,
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


def test_a_bug_is_gone_when_its_time_is_over() -> None:
    honest = Leader._advance
    with planted("high watermark counts older epochs"):
        assert Leader._advance is not honest
    assert Leader._advance is honest
