"""A rate over Kafka's sampled windows: what came in the last samples, by the time they span.

A quota is held over the whole span, so a client may come in bursts; and a rate that was exceeded says exactly how long
to rest until it fits again.
"""

from __future__ import annotations

from collections import deque

from penstock.core.base.values import frozen

MS_PER_S = 1000


@frozen
class Windows:
    """`quota.window.num` samples of `quota.window.size.seconds`."""

    samples: int
    size_ms: int


class Rate:
    """Values with times, forgotten once their sample is too old."""

    __slots__ = ("_samples", "_windows")

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        # [began, last event, sum]; one more than count, as the newest has only begun.
        self._samples: deque[list[float]] = deque(maxlen=windows.samples + 1)

    def record(self, value: float, now_ms: int) -> None:
        samples = self._samples
        if not samples or now_ms - samples[-1][0] >= self._windows.size_ms:
            samples.append([now_ms, now_ms, value])
        else:
            newest = samples[-1]
            newest[1] = now_ms
            newest[2] += value

    def measure(self, now_ms: int) -> tuple[float, float]:
        """The rate per second, and the milliseconds over which it is one."""
        samples, windows = self._samples, self._windows
        oldest_ms = now_ms - windows.samples * windows.size_ms
        while samples and samples[0][1] <= oldest_ms:
            samples.popleft()
        elapsed_ms = now_ms - samples[0][0] if samples else 0
        # A client that has just begun is not measured by its first milliseconds: time that has not passed yet counts.
        missing = windows.samples - 1 - elapsed_ms // windows.size_ms
        span_ms = max(elapsed_ms + max(missing, 0) * windows.size_ms, 1)
        return sum(each[2] for each in samples) * MS_PER_S / span_ms, span_ms

    def rest_ms(self, limit: float, now_ms: int) -> int:
        """How long until what came fits the limit, if nothing else comes; 0 if it does."""
        rate, span_ms = self.measure(now_ms)
        return round((rate - limit) / limit * span_ms) if rate > limit else 0
