"""Waiting for a condition, the only way a test may wait."""

import time
from collections.abc import Callable

POLL_INTERVAL_S = 0.01
TIMEOUT_S = 30.0
"""Long enough for a machine that does much else; who waits in vain is in no hurry."""


def wait_until(condition: Callable[[], bool], *, timeout_s: float = TIMEOUT_S, what: str = "the condition") -> None:
    """Returns as soon as the condition holds; fails by name when it never does."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come true within {timeout_s} s"
        time.sleep(POLL_INTERVAL_S)
