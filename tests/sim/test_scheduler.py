"""Virtual time: order, ties, cancelling, and chance that only a seed decides."""

from functools import partial

import pytest

from penstock.sim.chance import Chance
from penstock.sim.scheduler import Scheduler, StandsStill
from penstock.sim.trace import Trace


def test_events_run_by_time_and_ties_by_order_of_asking() -> None:
    scheduler, seen = Scheduler(), list[str]()
    scheduler.at(20, lambda: seen.append("late"))
    scheduler.at(10, lambda: seen.append("first"))
    scheduler.at(10, lambda: seen.append("second"))
    scheduler.run_until(30)
    assert seen == ["first", "second", "late"]
    assert scheduler.now_us == 30


def test_an_event_asked_for_inside_an_event_runs_after_it() -> None:
    scheduler, seen = Scheduler(), list[str]()

    def outer() -> None:
        scheduler.after(0, lambda: seen.append("inner"))
        seen.append("outer")

    scheduler.after(0, outer)
    while scheduler.step():
        pass
    assert seen == ["outer", "inner"]


def test_a_cancelled_event_neither_runs_nor_moves_time() -> None:
    scheduler, seen = Scheduler(), list[str]()
    scheduler.at(10, lambda: seen.append("cancelled")).cancel()
    scheduler.at(50, lambda: seen.append("beyond"))
    scheduler.run_until(20)
    assert seen == []
    assert scheduler.now_us == 20


def test_run_while_says_whether_the_wait_ended() -> None:
    scheduler, seen = Scheduler(), list[int]()
    for at_us in (10, 20, 30):
        scheduler.at(at_us, partial(seen.append, at_us))
    assert scheduler.run_while(lambda: len(seen) < 2, until_us=100)
    assert scheduler.now_us == 20
    assert not scheduler.run_while(lambda: len(seen) < 9, until_us=100)


def test_chance_is_a_function_of_seed_and_name() -> None:
    assert Chance(7).fork("disk").bytes(8) == Chance(7).fork("disk").bytes(8)
    assert Chance(7).fork("disk").bytes(8) != Chance(7).fork("network").bytes(8)
    assert Chance(7).fork("disk").bytes(8) != Chance(8).fork("disk").bytes(8)


def test_a_fork_does_not_depend_on_what_its_parent_rolled() -> None:
    parent = Chance(1)
    before = parent.fork("child").bytes(8)
    parent.between(0, 100)
    assert parent.fork("child").bytes(8) == before


def test_the_trace_hash_covers_lines_that_are_no_longer_kept() -> None:
    one, other = Trace(lines_kept_max=1), Trace(lines_kept_max=1)
    for trace, first in ((one, "a"), (other, "b")):
        trace.note(1, "event", first)
        trace.note(2, "event", "same")
    assert list(one.tail) == list(other.tail)
    assert one.digest != other.digest
    assert one.counts["event"] == 2


def test_whoever_never_waits_is_found_out() -> None:
    scheduler = Scheduler()

    def again() -> None:
        scheduler.after(0, again)

    again()
    with pytest.raises(StandsStill):
        scheduler.run_until(1)
