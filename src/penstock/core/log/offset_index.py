"""The sparse offset index: (relative last offset of a batch, position of that batch), 8 bytes an entry."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from struct import Struct
from typing import Final

from penstock.core.base.ports import Buffer, Steps
from penstock.core.log.index_file import IndexCache, IndexFile

ENTRY: Final = Struct(">ii")
ENTRY_BYTES: Final = ENTRY.size
_unpack: Final = ENTRY.unpack_from
_pack: Final = ENTRY.pack


class OffsetIndex(IndexFile):
    """Finds where in a segment to begin looking for an offset."""

    __slots__ = ("base_offset",)

    def __init__(self, path: str, base_offset: int, cache: IndexCache, stored_bytes: int = 0) -> None:
        super().__init__(path, ENTRY_BYTES, cache, stored_bytes)
        self.base_offset = base_offset

    def append(self, last_offset: int, position: int) -> None:
        self.pending += _pack(last_offset - self.base_offset, position)

    def lookup(self, offset: int) -> Steps[int]:
        """The position of a batch at or before the one that holds `offset`."""
        relative = offset - self.base_offset
        pending = self.pending
        if pending and _unpack(pending)[0] <= relative:
            return _position(pending, relative)
        return _position((yield from self.load()), relative)

    def truncate(self, offset: int) -> Steps[None]:
        """Drop the entries of batches that end at `offset` or after it."""
        relative = offset - self.base_offset
        entries = (yield from self.load()) + bytes(self.pending)
        kept = bisect_left(range(len(entries) // ENTRY_BYTES), relative, key=lambda slot: _offset(entries, slot))
        yield from self.cut(kept * ENTRY_BYTES)

    def last_position(self) -> Steps[int]:
        """Where the last indexed batch begins; 0 without entries."""
        entries = self.pending or (yield from self.load())
        return _unpack(entries, len(entries) - ENTRY_BYTES)[1] if len(entries) >= ENTRY_BYTES else 0


def _offset(entries: Buffer, slot: int) -> int:
    relative: int = _unpack(entries, slot * ENTRY_BYTES)[0]
    return relative


def _position(entries: Buffer, relative: int) -> int:
    slot = bisect_right(range(len(entries) // ENTRY_BYTES), relative, key=lambda at: _offset(entries, at)) - 1
    position: int = _unpack(entries, slot * ENTRY_BYTES)[1] if slot >= 0 else 0
    return position
