"""The node's clocks. The steady one goes on while the machine sleeps: a broker that has slept past its lease must know
so before it serves anybody, because others may lead by then what it led."""

from __future__ import annotations

import time
from typing import Final

STEADY_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Where there is none that counts sleep (Linux has one), a machine that serves must not be put to sleep."""


def steady_us() -> int:
    """Microseconds since some moment; nobody sets this clock."""
    return time.clock_gettime_ns(STEADY_CLOCK) // 1000


def wall_ms() -> int:
    """Milliseconds since 1970, as far as this machine knows."""
    return time.time_ns() // 1_000_000
