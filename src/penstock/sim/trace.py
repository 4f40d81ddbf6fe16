"""The trace: what happened, in order, as a hash of all lines and the text of the last ones.

Two runs are the same run when their hashes are equal. Lines hold only values that a seed decides: no identity, no
wall clock, no set order.
"""

from __future__ import annotations

from collections import Counter, deque
from hashlib import blake2b

LINES_KEPT_MAX = 400
LINE_CHARACTERS_MAX = 200
LINES_HASHED_AT_ONCE = 1_000


class Trace:
    """Collects lines and counts of what happened."""

    def __init__(self, lines_kept_max: int = LINES_KEPT_MAX) -> None:
        self.counts: Counter[str] = Counter()
        self.tail: deque[str] = deque(maxlen=lines_kept_max)
        self._hash = blake2b(digest_size=16)
        self._unhashed: list[str] = []

    def note(self, at_us: int, what: str, detail: str = "") -> None:
        """Write one line and count it under `what`."""
        self.counts[what] += 1
        self.tail.append(f"{at_us / 1_000_000:12.6f} {what} {detail}"[:LINE_CHARACTERS_MAX])
        self.fold(at_us, what, detail)

    def fold(self, at_us: int, what: str, detail: str) -> None:
        """Let something count for the hash only: it happens too often to be read."""
        self._unhashed.append(f"{at_us} {what} {detail}\n")
        if len(self._unhashed) == LINES_HASHED_AT_ONCE:
            self._catch_up()

    @property
    def digest(self) -> str:
        """The hash of everything so far."""
        self._catch_up()
        return self._hash.hexdigest()

    def _catch_up(self) -> None:
        self._hash.update("".join(self._unhashed).encode())
        self._unhashed.clear()
