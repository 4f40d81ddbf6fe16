"""When a set of keys is fetched again: now and then, sooner after a failure, and soon when a key is not known.

It has no clock: whoever fetches says what the time is.
"""

from __future__ import annotations

from typing import Final

EXPEDITED_MS_MIN: Final = 5_000
"""Between a fetch and the next one that an unknown key asks for, whoever shows such keys."""
MISSED_MS: Final = 60_000
"""For so long the same unknown key asks for nothing more."""
MISSED_MAX: Final = 16
"""Unknown keys that are remembered."""
KEY_ID_CHARS_MAX: Final = 1000


class Schedule:
    """Of one place that keys come from."""

    def __init__(self, refresh_ms: int, backoff_ms: int, backoff_ms_max: int) -> None:
        self._refresh_ms = refresh_ms
        self._backoff_ms = backoff_ms
        self._backoff_ms_max = backoff_ms_max
        self._failures = 0
        self._fetched_ms = 0
        self._missed: dict[str, int] = {}
        self.due_ms = 0
        """When to fetch."""

    def loaded(self, now_ms: int) -> None:
        self._failures = 0
        self._fetched_ms = now_ms
        self.due_ms = now_ms + self._refresh_ms

    def failed(self, now_ms: int) -> None:
        """Waits that double."""
        wait_ms = min(self._backoff_ms << min(self._failures, 30), self._backoff_ms_max)
        self._failures += 1
        self._fetched_ms = now_ms
        self.due_ms = now_ms + wait_ms

    def missed(self, key_id: str, now_ms: int) -> bool:
        """A token was signed with a key that is not there; gives whether that changes when to fetch."""
        if len(key_id) > KEY_ID_CHARS_MAX or now_ms < self._missed.get(key_id, 0):
            return False
        self._missed.pop(key_id, None)
        while len(self._missed) >= MISSED_MAX:
            del self._missed[next(iter(self._missed))]
        self._missed[key_id] = now_ms + MISSED_MS
        sooner_ms = max(now_ms, self._fetched_ms + EXPEDITED_MS_MIN)
        if sooner_ms >= self.due_ms:
            return False
        self.due_ms = sooner_ms
        return True
