"""The judge itself: who is found to lead without what was committed, and who is not."""

from __future__ import annotations

import pytest

from tests.partition.court import Court, Entry, Violation

KEY = ("orders", 0)
BEFORE = [Entry(5, b"a"), Entry(5, b"b")]
LATE = Entry(5, b"c")
"""Written in epoch 5, by its leader."""
NEXT = Entry(7, b"d")


def court_of(late_in: int) -> Court:
    """Epoch 5 has committed the beginning, epoch 7 the end, and one of them what lies between."""
    court = Court()
    court.replicas_are_equal("1", KEY, 5, 0, BEFORE)
    court.replicas_are_equal("1", KEY, late_in, 2, [LATE])
    court.replicas_are_equal("2", KEY, 7, 3, [NEXT])
    return court


def test_who_hears_late_of_its_election_may_lack_what_a_later_leader_has_committed() -> None:
    court_of(late_in=7).leader_has_all("3", KEY, 6, BEFORE)


def test_who_lacks_what_an_earlier_leader_has_committed_is_found() -> None:
    with pytest.raises(Violation, match=r"3 of .* lacks what is committed at 2"):
        court_of(late_in=5).leader_has_all("3", KEY, 6, BEFORE)


def test_who_has_something_else_there_is_found() -> None:
    with pytest.raises(Violation, match="lacks what is committed at 1"):
        court_of(late_in=7).leader_has_all("3", KEY, 6, [BEFORE[0], Entry(6, b"other")])


def test_the_newest_leader_has_everything() -> None:
    court = court_of(late_in=7)
    court.leader_has_all("2", KEY, 8, [*BEFORE, LATE, NEXT])
    with pytest.raises(Violation, match="lacks what is committed at 3"):
        court.leader_has_all("2", KEY, 8, [*BEFORE, LATE])


def test_when_all_is_settled_everybody_has_everything() -> None:
    with pytest.raises(Violation, match="lacks what is committed at 2"):
        court_of(late_in=7).has_all("3", KEY, BEFORE)
