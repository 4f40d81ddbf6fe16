"""A world that finds nothing proves nothing: every planted bug is found within a few seeds."""

from __future__ import annotations

import pytest

from penstock.core.partition.replicated import ReplicatedLeader
from tests.finding import first_failure
from tests.partition.faults import play
from tests.partition.planted import BUGS, planted

HINTS = {
    "fencing off": 29,
    "unclean restart kept in the in-sync set": 4,
    "a follower counts what it has not written": 60,
}
"""Seeds that showed a bug when this was written; they are tried first, to save the time of those before them."""


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS)
def test_seeds_find(bug: str) -> None:
    with planted(bug):
        found = first_failure(play, HINTS.get(bug, 0))
    print(f"{bug}: seed {found}")
    assert found is not None


def test_a_bug_is_gone_when_its_time_is_over() -> None:
    honest = ReplicatedLeader._committed
    with planted("high watermark too early"):
        assert ReplicatedLeader._committed is not honest
    assert ReplicatedLeader._committed is honest
