"""The sparse time index: (largest timestamp so far, relative last offset of its batch), 12 bytes an entry."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from struct import Struct
from typing import Final

from penstock.core.base.ports import Buffer, Steps
from penstock.core.log.index_file import IndexCache, IndexFile
from penstock.core.records.batch import NO_TIMESTAMP

ENTRY: Final = Struct(">qi")
ENTRY_BYTES: Final = ENTRY.size
_unpack: Final = ENTRY.unpack_from
_pack: Final = ENTRY.pack


class TimeIndex(IndexFile):
    """Finds the offset from which to look for a time. Timestamps rise strictly from entry to entry."""

    __slots__ = ("base_offset", "last_timestamp")

    def __init__(self, path: str, base_offset: int, cache: IndexCache, stored_bytes: int = 0) -> None:
        super().__init__(path, ENTRY_BYTES, cache, stored_bytes)
        self.base_offset = base_offset
        # Known only where this process wrote the entries or has read the last one.
        self.last_timestamp = NO_TIMESTAMP

    def append(self, timestamp: int, last_offset: int) -> None:
        """Add an entry unless the timestamp is no news."""
        if timestamp > self.last_timestamp:
            self.pending += _pack(timestamp, last_offset - self.base_offset)
            self.last_timestamp = timestamp

    def last_entry(self) -> Steps[tuple[int, int]]:
        """(timestamp, offset) of the last entry, which a sealed segment's largest timestamp is."""
        entries = self.pending or (yield from self.load())
        if len(entries) < ENTRY_BYTES:
            return NO_TIMESTAMP, self.base_offset
        timestamp, relative = _unpack(entries, len(entries) - ENTRY_BYTES)
        self.last_timestamp = timestamp
        return timestamp, self.base_offset + relative

    def lookup(self, timestamp: int) -> Steps[tuple[int, int] | None]:
        """(timestamp, offset) of the last entry that is not newer than `timestamp`: every record before the batch that
        holds this offset is older."""
        pending = self.pending
        entries: Buffer = pending
        if not pending or _unpack(pending)[0] > timestamp:
            entries = yield from self.load()
        slot = bisect_right(range(len(entries) // ENTRY_BYTES), timestamp, key=lambda at: _entry(entries, at)[0]) - 1
        if slot < 0:
            return None
        found, relative = _entry(entries, slot)
        return found, self.base_offset + relative

    def truncate(self, offset: int) -> Steps[None]:
        """Drop the entries of batches that end at `offset` or after it."""
        relative = offset - self.base_offset
        entries = (yield from self.load()) + bytes(self.pending)
        kept = bisect_left(range(len(entries) // ENTRY_BYTES), relative, key=lambda slot: _entry(entries, slot)[1])
        yield from self.cut(kept * ENTRY_BYTES)
        self.last_timestamp = NO_TIMESTAMP if kept == 0 else _entry(entries, kept - 1)[0]


def _entry(entries: Buffer, slot: int) -> tuple[int, int]:
    timestamp, relative = _unpack(entries, slot * ENTRY_BYTES)
    return timestamp, relative
