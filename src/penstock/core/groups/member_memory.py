"""How much all members of a node's groups may say of themselves, and be given.

All of it is kept in memory for as long as their sessions last, which may be half an hour without a word. Who says
little is always let in: ordinary members do not go short because somebody has filled what there is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from weakref import ref

from penstock.core.groups.table import GroupTable

BYTES_MAX: Final = 32 << 20
LITTLE_BYTES: Final = 4_096
COUNTED_ANEW_MS: Final = 1_000
"""To count takes a look at every group, and is done so often at most."""


class MemberMemory:
    """What was added is counted when it comes, and what has gone when there seems to be no room left."""

    __slots__ = ("_counted_ms", "_on_full", "_tables", "bytes_max", "taken_bytes")

    def __init__(self, bytes_max: int = BYTES_MAX, on_full: Callable[[], None] = lambda: None) -> None:
        self.bytes_max = bytes_max
        self.taken_bytes = 0
        """Never less than there is."""
        self._on_full = on_full
        self._counted_ms: int | None = None
        self._tables: list[ref[GroupTable]] = []

    def watch(self, table: GroupTable) -> None:
        """Count the groups of one more shard, for as long as it lives."""
        self._tables.append(ref(table))

    def take(self, size_bytes: int) -> None:
        """So much is there now, whether or not there was room for it."""
        self.taken_bytes += max(size_bytes, 0)

    def admits(self, size_bytes: int, growth_bytes: int, now_ms: int) -> bool:
        """Whether somebody may take so much, and so much more than before."""
        has_room = self.taken_bytes + growth_bytes <= self.bytes_max
        if not has_room and size_bytes > LITTLE_BYTES and growth_bytes > 0:
            self._count(now_ms)
            if self.taken_bytes + growth_bytes > self.bytes_max:
                self._on_full()
                return False
        self.take(growth_bytes)
        return True

    def _count(self, now_ms: int) -> None:
        if self._counted_ms is not None and now_ms - self._counted_ms < COUNTED_ANEW_MS:
            return
        self._counted_ms = now_ms
        tables = [(each, table) for each in self._tables if (table := each()) is not None]
        self._tables = [each for each, _ in tables]
        self.taken_bytes = sum(group.size_bytes for _, table in tables for group in table.values())
