"""All orders of events up to a bound: every row counts once, nobody waits for what nobody ends; planted bugs do not."""

from __future__ import annotations

import pytest

from tests.delivery.exactly_once.model import Bounds, Model, Protocol, Violation
from tests.delivery.exactly_once.planted import PLANTED

PLAIN, TWO_PHASE = False, True
WIDE = Bounds(faults=1, tasks=2, runs=2)
DEEP = Bounds(faults=2, tasks=1, runs=2)
UNDEAD = Bounds(faults=2, tasks=1, runs=2, batches=1, commits_go_on=True)


def finished(bounds: Bounds, two_phase: bool, protocol: Protocol | None = None) -> int:
    """How many ways lead to the end of the last batch."""
    model = Model(bounds, protocol or Protocol(), two_phase)
    model.explore()
    return model.finished


def test_without_faults_there_is_little_to_try() -> None:
    assert finished(Bounds(faults=0, runs=1), PLAIN) == finished(Bounds(faults=0, runs=1), TWO_PHASE) == 1


@pytest.mark.slow
@pytest.mark.parametrize("two_phase", [PLAIN, TWO_PHASE])
@pytest.mark.parametrize("bounds", [WIDE, DEEP, UNDEAD], ids=["wide", "deep", "undead"])
def test_every_row_counts_once(bounds: Bounds, two_phase: bool) -> None:
    assert finished(bounds, two_phase) > 100


@pytest.mark.soak
@pytest.mark.parametrize("two_phase", [PLAIN, TWO_PHASE])
@pytest.mark.parametrize("bounds", [Bounds(2, tasks=2, runs=2), Bounds(2, tasks=1, runs=3), Bounds(3, tasks=1, runs=2)])
def test_with_more_faults_every_row_counts_once(bounds: Bounds, two_phase: bool) -> None:
    assert finished(bounds, two_phase) > 100


@pytest.mark.slow
@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug: type[Protocol]) -> None:
    with pytest.raises(Violation):
        [finished(bounds, two_phase, bug()) for bounds in (WIDE, DEEP, UNDEAD) for two_phase in (PLAIN, TWO_PHASE)]
