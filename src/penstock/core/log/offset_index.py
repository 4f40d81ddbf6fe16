"""The sparse offset index: (relative last offset of a batch, position of that batch), 8 bytes an entry."""

from __future__ import annotations

from bisect import bisect_left
from struct import Struct
from typing import Final, NamedTuple

from penstock.core.base.ports import Buffer, Steps
from penstock.core.log.index_file import IndexCache, IndexFile

ENTRY: Final = Struct(">ii")
ENTRY_BYTES: Final = ENTRY.size
_unpack: Final = ENTRY.unpack_from
_pack: Final = ENTRY.pack


class OffsetEntry(NamedTuple):
    """A batch that ends with `last_offset`, or the first of several of which the last one does, begins there."""

    last_offset: int
    position: int


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
        entry = yield from self.find(offset)
        return 0 if entry is None else entry.position

    def find(self, offset: int) -> Steps[OffsetEntry | None]:
        """The last entry that is not behind `offset`. The file is not to be believed: it carries no checksum."""
        relative = offset - self.base_offset
        entries: Buffer = self.pending
        if not entries or _unpack(entries)[0] > relative:
            entries = yield from self.load()
        # A search by halves, as `bisect_right` is one: its key would cost two calls for each entry that is looked at.
        slot, behind = 0, len(entries) // ENTRY_BYTES
        while slot < behind:
            middle = (slot + behind) // 2
            if relative < _unpack(entries, middle * ENTRY_BYTES)[0]:
                behind = middle
            else:
                slot = middle + 1
        if not slot:
            return None
        last, position = _unpack(entries, (slot - 1) * ENTRY_BYTES)
        return OffsetEntry(last + self.base_offset, position)

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
