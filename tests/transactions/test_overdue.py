"""How long a transaction may be open, whatever becomes of the clock meanwhile."""

from __future__ import annotations

from penstock.core.transactions.metadata import TransactionMetadata
from penstock.core.transactions.overdue import Overdue
from penstock.core.transactions.states import State

NOW_MS = 1_000_000
TIMEOUT_MS = 5_000
AHEAD_MS = 3_600_000


def opened(at_ms: int) -> TransactionMetadata:
    return TransactionMetadata("t", 7, state=State.ONGOING, timeout_ms=TIMEOUT_MS, started_ms=at_ms, updated_ms=at_ms)


def test_its_time_is_over_when_it_is_over() -> None:
    overdue, known = Overdue(), opened(NOW_MS)
    assert not overdue.has_ended("t", known, NOW_MS + TIMEOUT_MS)
    assert overdue.has_ended("t", known, NOW_MS + TIMEOUT_MS + 1)


def test_one_that_began_in_the_future_has_its_time_from_when_that_is_seen() -> None:
    overdue, known = Overdue(), opened(NOW_MS + AHEAD_MS)
    assert not overdue.has_ended("t", known, NOW_MS)
    assert not overdue.has_ended("t", known, NOW_MS + TIMEOUT_MS)
    assert overdue.has_ended("t", known, NOW_MS + TIMEOUT_MS + 1)


def test_one_that_began_a_little_in_the_future_gains_nothing_when_that_has_come() -> None:
    overdue, known = Overdue(), opened(NOW_MS + 1_000)
    assert not overdue.has_ended("t", known, NOW_MS)
    assert overdue.has_ended("t", known, NOW_MS + TIMEOUT_MS + 1)


def test_the_next_one_of_an_id_has_a_time_of_its_own() -> None:
    overdue = Overdue()
    assert not overdue.has_ended("t", opened(NOW_MS + AHEAD_MS), NOW_MS)
    later_ms = NOW_MS + 2 * TIMEOUT_MS
    assert not overdue.has_ended("t", opened(later_ms), later_ms + 1)
    overdue.keep(())
    assert not overdue.has_ended("t", opened(NOW_MS + AHEAD_MS), later_ms)


def test_a_clock_that_goes_back_again_begins_it_again() -> None:
    overdue, known = Overdue(), opened(NOW_MS + AHEAD_MS)
    assert not overdue.has_ended("t", known, NOW_MS)
    assert not overdue.has_ended("t", known, NOW_MS - AHEAD_MS)
    assert overdue.has_ended("t", known, NOW_MS - AHEAD_MS + TIMEOUT_MS + 1)
