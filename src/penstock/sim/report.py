"""What a run came to: its identity, its counts, and how it failed if it did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from penstock.sim.scheduler import Scheduler
from penstock.sim.trace import Trace


@dataclass(frozen=True, slots=True)
class Report:
    """What one seed came to."""

    seed: int
    trace_hash: str
    counts: Counter[str]
    events: int
    failure: Exception | None
    tail: tuple[str, ...]
    simulated_us: int


def reported(seed: int, scheduler: Scheduler, trace: Trace, play: Callable[[], None]) -> Report:
    """Play to the end or to the first failure, whatever it is."""
    failure: Exception | None = None
    try:
        play()
    except Exception as error:
        failure = error
    tail = tuple(trace.tail)
    return Report(seed, trace.digest, trace.counts, scheduler.events_run, failure, tail, scheduler.now_us)
