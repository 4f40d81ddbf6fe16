"""All orders of events up to a bound: every row counts once, nobody waits for what nobody ends; planted bugs do not."""

from __future__ import annotations

import pytest

from tests.delivery.exactly_once.model import Bounds, Model, Protocol, Violation
from tests.delivery.exactly_once.planted import PLANTED

PLAIN, TWO_PHASE = False, True
WIDE = Bounds(faults=1, tasks=2, runs=2)
DEEP = Bounds(faults=2, tasks=1, runs=2)
UNDEAD = Bounds(faults=2, tasks=1, runs=2, batches=1, commits_go_on=True)
UNDEAD_ONCE = Bounds(faults=1, tasks=1, runs=2, commits_go_on=True)
"""With two-phase commit and two faults there is no end of orders: two who end the same batch may take its transactions
from each other again and again, until one of them is quick enough."""


def finished(bounds: Bounds, two_phase: bool, protocol: Protocol | None = None) -> int:
    """How many ways lead to the end of the last batch."""
    model = Model(bounds, protocol or Protocol(), two_phase)
    model.explore()
    return model.finished


def test_without_faults_there_is_little_to_try() -> None:
    assert finished(Bounds(faults=0, runs=1), PLAIN) == finished(Bounds(faults=0, runs=1), TWO_PHASE) == 1


@pytest.mark.slow
@pytest.mark.parametrize("two_phase", [PLAIN, TWO_PHASE])
@pytest.mark.parametrize("bounds", [WIDE, DEEP], ids=["wide", "deep"])
def test_every_row_counts_once(bounds: Bounds, two_phase: bool) -> None:
    assert finished(bounds, two_phase) > 100


@pytest.mark.slow
@pytest.mark.parametrize(("bounds", "two_phase"), [(UNDEAD, PLAIN), (UNDEAD_ONCE, PLAIN), (UNDEAD_ONCE, TWO_PHASE)])
def test_a_commit_that_goes_on_changes_nothing(bounds: Bounds, two_phase: bool) -> None:
    assert finished(bounds, two_phase) > 100


@pytest.mark.soak
@pytest.mark.parametrize("two_phase", [PLAIN, TWO_PHASE])
@pytest.mark.parametrize("bounds", [Bounds(2, tasks=2, runs=2), Bounds(2, tasks=1, runs=3), Bounds(3, tasks=1, runs=2)])
def test_with_more_faults_every_row_counts_once(bounds: Bounds, two_phase: bool) -> None:
    assert finished(bounds, two_phase) > 100


@pytest.mark.slow
@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug: type[Protocol]) -> None:
    searches = ((WIDE, PLAIN), (DEEP, PLAIN), (UNDEAD, PLAIN), (WIDE, TWO_PHASE), (DEEP, TWO_PHASE))
    with pytest.raises(Violation):
        [finished(bounds, two_phase, bug()) for bounds, two_phase in searches]
