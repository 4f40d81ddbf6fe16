"""Which transactions are open for too long, also where the clock was set back since they began.

When one began is on record by the wall clock of that moment, as in Kafka's records. Where that is in the future, the
clock says nothing of how long it is open, and would keep its partitions' readers waiting for as long as it was ahead:
then its time begins when that is seen.
"""

from __future__ import annotations

from collections.abc import Container

from penstock.core.transactions.metadata import NOT_STARTED, TransactionMetadata


class Overdue:
    """Asked about each transaction again and again."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}
        """By id, those that had begun in the future: when, and when that was seen first."""

    def has_ended(self, name: str, known: TransactionMetadata, now_ms: int) -> bool:
        """Whether the time is over that its producer gave it."""
        since_ms = known.open_since_ms
        if since_ms is None:
            return False
        began_ms, seen_ms = self._seen.get(name, (NOT_STARTED, NOT_STARTED))
        if began_ms != since_ms or seen_ms > now_ms:
            seen_ms = min(since_ms, now_ms)
            if since_ms > now_ms:
                self._seen[name] = since_ms, seen_ms
        return seen_ms + known.timeout_ms < now_ms

    def keep(self, open_now: Container[str]) -> None:
        """Forget all others."""
        self._seen = {name: seen for name, seen in self._seen.items() if name in open_now}

    def clear(self) -> None:
        self._seen.clear()
