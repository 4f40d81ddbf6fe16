"""The transaction index: which transactions were aborted in a segment, 34 bytes each; no file while there are none."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from penstock.core.base.ports import Buffer, Steps
from penstock.core.log.index_file import IndexCache, IndexFile

ENTRY: Final = Struct(">hqqqq")
ENTRY_BYTES: Final = ENTRY.size
_VERSION: Final = 0


class AbortedTransaction(NamedTuple):
    """From a transaction's first offset to its abort marker, and the last stable offset once that was written."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex(IndexFile):
    """The aborted transactions whose markers lie in one segment, in the order of their markers."""

    __slots__ = ()

    def __init__(self, path: str, cache: IndexCache, stored_bytes: int = 0) -> None:
        super().__init__(path, ENTRY_BYTES, cache, stored_bytes)

    def append(self, aborted: AbortedTransaction) -> None:
        self.pending += encode(aborted)

    def all(self) -> Steps[list[AbortedTransaction]]:
        return list(decode((yield from self.load()) + bytes(self.pending)))

    def truncate(self, offset: int) -> Steps[None]:
        """Drop the transactions whose marker is at `offset` or after it."""
        kept = sum(1 for aborted in (yield from self.all()) if aborted.last_offset < offset)
        yield from self.cut(kept * ENTRY_BYTES)

    def rewrite(self, entries: bytes) -> Steps[None]:
        """Hold these entries and no others."""
        if entries:
            yield from self.replace(entries)
        elif self.stored_bytes:
            yield from self.cut(0)

    def sync(self) -> Steps[None]:
        """Unlike the others, this one has no file until there is something in it."""
        if self.size_bytes:
            yield from super().sync()


def encode(aborted: AbortedTransaction) -> bytes:
    return ENTRY.pack(_VERSION, *aborted)


def decode(entries: Buffer) -> Iterator[AbortedTransaction]:
    for position in range(0, len(entries) - ENTRY_BYTES + 1, ENTRY_BYTES):
        yield AbortedTransaction._make(ENTRY.unpack_from(entries, position)[1:])
