"""How many bytes of replication may pass per second: a bucket that fills with time and is emptied by bytes."""

from __future__ import annotations

from typing import Final

UNLIMITED: Final = 2**63 - 1
WINDOW_MS: Final = 1_000
"""Up to so much time's worth of bytes may be saved up."""


class Throttle:
    """Bytes that have passed are taken out afterwards, so that one answer may overdraw and the next one waits longer:
    a batch that is larger than a second's worth still passes."""

    __slots__ = ("_bytes", "_filled_ms", "rate_bytes")

    def __init__(self, rate_bytes: int = UNLIMITED, now_ms: int = 0) -> None:
        self.rate_bytes = rate_bytes
        self._bytes = float(rate_bytes)
        self._filled_ms = now_ms

    def set_rate(self, rate_bytes: int, now_ms: int) -> None:
        self._fill(now_ms)
        self.rate_bytes = rate_bytes
        self._bytes = min(self._bytes, float(rate_bytes))

    def passed(self, size: int, now_ms: int) -> None:
        self._fill(now_ms)
        self._bytes -= size

    def is_open(self, now_ms: int) -> bool:
        self._fill(now_ms)
        return self._bytes > 0

    def opens_ms(self, now_ms: int) -> int:
        """When something may pass again."""
        self._fill(now_ms)
        return now_ms if self._bytes > 0 else now_ms + 1 + int(-self._bytes * WINDOW_MS / max(self.rate_bytes, 1))

    def _fill(self, now_ms: int) -> None:
        elapsed_ms, self._filled_ms = now_ms - self._filled_ms, max(now_ms, self._filled_ms)
        if elapsed_ms > 0:
            self._bytes = min(float(self.rate_bytes), self._bytes + self.rate_bytes * elapsed_ms / WINDOW_MS)
