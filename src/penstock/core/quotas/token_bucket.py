"""A token bucket that may run into debt: what is asked is done or refused as a whole, and paid for afterwards."""

from __future__ import annotations

from penstock.core.quotas.rate import MS_PER_S


class TokenBucket:
    """Full at first; it holds what comes in `burst_s` seconds."""

    __slots__ = ("_burst_s", "_filled_ms", "_tokens", "limit")

    def __init__(self, limit: float, burst_s: float, now_ms: int) -> None:
        self.limit = limit
        self._burst_s = burst_s
        self._tokens = limit * burst_s
        self._filled_ms = now_ms

    def rest_ms(self, now_ms: int) -> int:
        """How long until a debt is paid; 0 if there is none."""
        self._refill(now_ms)
        return round(-self._tokens / self.limit * MS_PER_S) if self._tokens < 0 else 0

    def take(self, tokens: float, now_ms: int) -> None:
        self._refill(now_ms)
        self._tokens -= tokens

    def _refill(self, now_ms: int) -> None:
        earned = self.limit * (now_ms - self._filled_ms) / MS_PER_S
        self._tokens = min(self.limit * self._burst_s, self._tokens + earned)
        self._filled_ms = now_ms
