"""Deadlines: who waits for some time waits that time, whatever the clock is set to meanwhile."""

from __future__ import annotations

import pytest

from penstock.core.node.deadlines import SWEPT_LENGTH_MIN, Deadlines

HOUR_MS = 3_600_000


@pytest.mark.parametrize("step_ms", [HOUR_MS, -HOUR_MS])
def test_everything_is_due_as_far_from_now_as_it_was(step_ms: int) -> None:
    deadlines, called = Deadlines(), list[str]()
    deadlines.at(10 * HOUR_MS + 500, lambda: called.append("later"))
    deadlines.at(10 * HOUR_MS + 100, lambda: called.append("sooner"))
    deadlines.shift(step_ms)
    now_ms = 10 * HOUR_MS + step_ms
    assert deadlines.next_ms() == now_ms + 100
    deadlines.run_due(now_ms + 99)
    assert called == []
    deadlines.run_due(now_ms + 500)
    assert called == ["sooner", "later"]


def test_what_is_put_off_until_all_were_heard_waits_for_the_next_round_behind_what_was_due() -> None:
    deadlines, called = Deadlines(), list[str]()
    deadlines.now_ms = HOUR_MS
    deadlines.at(HOUR_MS, lambda: called.append("due"))

    def once_more() -> None:
        called.append("soon")
        deadlines.soon(lambda: called.append("after that"))

    deadlines.soon(once_more)
    assert deadlines.next_ms() == HOUR_MS, "the world is to come back in this very moment"
    deadlines.run_due(HOUR_MS)
    assert called == ["due", "soon"]
    deadlines.run_due(HOUR_MS)
    assert called == ["due", "soon", "after that"]


def test_what_is_cancelled_is_not_kept_until_it_would_be_due() -> None:
    """A request that is answered at once may have had a deadline half a minute later."""
    deadlines, called = Deadlines(), list[int]()
    for number in range(10):
        deadlines.at(HOUR_MS + number, lambda number=number: called.append(number))  # type: ignore[misc]
    for _ in range(20 * SWEPT_LENGTH_MIN):
        deadlines.at(2 * HOUR_MS, lambda: called.append(-1)).cancel()
        assert len(deadlines) <= SWEPT_LENGTH_MIN + 1
    assert deadlines.next_ms() == HOUR_MS
    deadlines.run_due(HOUR_MS + 9)
    assert called == list(range(10))


def test_many_that_wait_are_all_kept() -> None:
    deadlines, called = Deadlines(), list[int]()
    count = 5 * SWEPT_LENGTH_MIN
    for number in range(count):
        deadlines.at(HOUR_MS - number, lambda number=number: called.append(number))  # type: ignore[misc]
    deadlines.run_due(HOUR_MS)
    assert called == list(range(count))[::-1]
