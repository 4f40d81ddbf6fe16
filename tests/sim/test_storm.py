"""Storms as text: what is written is read back, what says nothing is refused, and overlapping faults end one by one."""

from __future__ import annotations

import pytest

from penstock.sim import storm as storm_module
from penstock.sim.chance import Chance
from penstock.sim.paths import Paths
from penstock.sim.scheduler import MS, SECOND
from penstock.sim.storm import KINDS, BadStorm, Fault, draw_storm, parse_storm, write_storm

LINES = """
at 10 s cut 1-2 for 3 s             # nothing passes
at 10.5 s cut 1>2 for 3 s
at 12 s slow 1-3 by 200 ms for 5 s

at 15 s reset 2-3 by 100 bytes
at 15 s half-open 2>0
at 250 ms skew 2 by -600 ms for 9 s
at 30 s restart 1
"""


def test_lines_are_faults() -> None:
    assert parse_storm(LINES) == (
        Fault(10 * SECOND, "cut", 1, 2, for_us=3 * SECOND),
        Fault(10_500 * MS, "cut", 1, 2, is_directed=True, for_us=3 * SECOND),
        Fault(12 * SECOND, "slow", 1, 3, by=200, for_us=5 * SECOND),
        Fault(15 * SECOND, "reset", 2, 3, by=100),
        Fault(15 * SECOND, "half-open", 2, 0, is_directed=True),
        Fault(250 * MS, "skew", 2, by=-600, for_us=9 * SECOND),
        Fault(30 * SECOND, "restart", 1),
    )


def test_the_lines_in_the_module_s_own_words_are_faults() -> None:
    assert storm_module.__doc__ is not None
    examples = [line.strip().partition("   ")[0] for line in storm_module.__doc__.splitlines() if "    at " in line]
    assert {parse_storm(line)[0].kind for line in examples} == set(KINDS)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("at 10 s flood 1", "not a fault"),
        ("cut 1-2 for 3 s", "not a fault"),
        ("at ten s cut 1-2 for 3 s", "not a time"),
        ("at 10 s cut 1 for 3 s", "needs two machines"),
        ("at 10 s crash 1-2 for 3 s", "is about one machine"),
        ("at 10 s cut 1-2", "lasts for some time"),
        ("at 10 s restart 1 for 3 s", "does not last"),
        ("at 10 s half-open 1-2", "has one direction"),
        ("at 10 s reset 1>2 by 5 bytes", "has no direction"),
        ("at 10 s slow 1-2 for 3 s", "says by how many ms"),
        ("at 10 s slow 1-2 by 3 bytes for 3 s", "says by how many ms"),
        ("at 10 s crash 1 by 3 ms for 3 s", "has no measure"),
    ],
)
def test_a_line_that_says_nothing_is_refused(line: str, why: str) -> None:
    with pytest.raises(BadStorm, match=why):
        parse_storm(line)


def test_drawn_storms_are_lines_too_and_have_everything_in_them() -> None:
    kinds, pairs = set[str](), set[tuple[int, int | None]]()
    for seed in range(50):
        drawn = draw_storm(Chance(seed), 3, 60 * SECOND, 10)
        assert len(drawn) >= 10
        assert parse_storm(write_storm(drawn)) == drawn
        assert all(0 <= fault.at_us <= 60 * SECOND and fault.one != fault.other for fault in drawn)
        kinds |= {fault.kind for fault in drawn}
        pairs |= {(fault.one, fault.other) for fault in drawn if fault.kind == "cut"}
    assert kinds == {name for name, kind in KINDS.items() if kind.often}
    assert pairs == {(one, other) for one in (1, 2, 3) for other in (0, 1, 2, 3) if one != other}


def test_a_direction_is_open_again_when_all_that_closed_it_has_ended() -> None:
    paths, gone = Paths(), list[str]()
    paths.close((1, 2), (2, 1))
    paths.close((1, 2))
    paths.darken(2)
    paths.hold((1, 2), lambda: gone.append("held"))
    assert [paths.is_open(way) for way in ((1, 2), (2, 1), (2, 3), (1, 3), (2, 2))] == [False, False, False, True, True]
    assert paths.reopen((1, 2), (2, 1)) == []
    assert paths.relight(2) == []
    assert paths.is_open((2, 1))
    assert not paths.is_open((1, 2))
    for action in paths.reopen((1, 2)):
        action()
    assert gone == ["held"]


def test_what_slows_adds_up() -> None:
    paths = Paths()
    paths.slow(5, (1, 2))
    paths.slow(7, (1, 2), (2, 1))
    assert (paths.slow_us((1, 2)), paths.slow_us((2, 1))) == (12, 7)
    paths.unslow(7, (1, 2), (2, 1))
    assert (paths.slow_us((1, 2)), paths.slow_us((2, 1))) == (5, 0)
