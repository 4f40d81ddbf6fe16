"""Waiting for a condition, the only way a test may wait."""

import time
from collections.abc import Callable

POLL_INTERVAL_S = 0.01


def wait_until(condition: Callable[[], bool], *, timeout_s: float = 10.0, what: str = "the condition") -> None:
    """Returns as soon as the condition holds; fails by name when it never does."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come true within {timeout_s} s"
        time.sleep(POLL_INTERVAL_S)
