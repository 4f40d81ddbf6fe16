"""How long the requests of one API take: as a whole, and in each phase.

Most requests are answered in the turn in which they are handled. Then the turn is all the time they take, and all of it
is local: they are counted once, in `at_once`, and what is told of them is put together when somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.core.base.histogram import Histogram

LOCAL = "local"


class RequestTimes:
    """Of one API, since the node started."""

    __slots__ = ("at_once", "later", "phases")

    def __init__(self) -> None:
        self.at_once = Histogram()
        self.later = Histogram()
        """Of those that had to wait for something."""
        self.phases: dict[str, Histogram] = {}
        """Without what `at_once` says: queue, local, remote, response."""

    def spend(self, phase: str, elapsed_us: int, times: int) -> None:
        """Requests were so long in a phase."""
        histogram = self.phases.get(phase)
        if histogram is None:
            histogram = self.phases[phase] = Histogram()
        histogram.observe(elapsed_us, times)

    def whole(self) -> Histogram:
        return self.at_once + self.later

    def by_phase(self) -> Iterator[tuple[str, Histogram]]:
        """What any request was in."""
        local = self.at_once + self.phases.get(LOCAL, Histogram())
        phases = self.phases | {LOCAL: local}
        return ((phase, phases[phase]) for phase in sorted(phases) if phases[phase].count)
