"""Deadlines: who waits for some time waits that time, whatever the clock is set to meanwhile."""

from __future__ import annotations

import pytest

from penstock.core.node.deadlines import Deadlines

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
