"""A file of fixed-size entries that grows at its end, its newest entries still in memory.

Entries reach the file in bunches: when `PENDING_BYTES_MAX` have gathered, when the segment is sealed, on close. One
write per entry would cost as much as the batches themselves, and a crash loses nothing by it, because recovery scans
every segment above the recovery point and writes its indexes anew; the recovery point passes a segment's end only
after its indexes are whole and synced.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from penstock.core.base.ports import Append, File, FileFailure, Pause, Read, Rename, Steps, Truncate, Unlink
from penstock.core.log.durable import sync_file
from penstock.core.log.names import TEMPORARY

PENDING_BYTES_MAX: Final = 16 * 1024
INDEX_CACHE_BYTES_MAX: Final = 32 * 1024 * 1024


class IndexCache:
    """Stored parts of indexes, least recently used first to go; one for all logs of a node."""

    __slots__ = ("_bytes_max", "_content", "size_bytes")

    def __init__(self, bytes_max: int = INDEX_CACHE_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._content: OrderedDict[IndexFile, bytes] = OrderedDict()
        self.size_bytes = 0

    def get(self, index: IndexFile) -> bytes:
        content = self._content.get(index)
        if content is None:
            return b""
        self._content.move_to_end(index)
        return content

    def put(self, index: IndexFile, content: bytes) -> None:
        self.drop(index)
        self._content[index] = content
        self.size_bytes += len(content)
        while self.size_bytes > self._bytes_max:
            _, oldest = self._content.popitem(last=False)
            self.size_bytes -= len(oldest)

    def drop(self, index: IndexFile) -> None:
        content = self._content.pop(index, None)
        if content is not None:
            self.size_bytes -= len(content)


class IndexFile:
    """Entries on disk (`stored_bytes` of them) followed by `pending` ones in memory."""

    __slots__ = ("cache", "entry_bytes", "file", "pending", "stored_bytes", "synced", "torn", "writing")

    def __init__(self, path: str, entry_bytes: int, cache: IndexCache, stored_bytes: int = 0) -> None:
        self.file = File(path)
        self.entry_bytes = entry_bytes
        self.cache = cache
        self.stored_bytes = stored_bytes
        self.pending = bytearray()
        self.synced = False
        # Set when a write failed: part of it may be in the file behind the entries that count.
        self.torn = False
        self.writing = False

    @property
    def size_bytes(self) -> int:
        return self.stored_bytes + len(self.pending)

    def load(self) -> Steps[bytes]:
        """The stored entries, from the cache as far as it has them."""
        content = self.cache.get(self)
        missing = self.stored_bytes - len(content)
        if missing > 0:
            more: bytes = yield Read(self.file, len(content), missing)
            content += more
            self.cache.put(self, content)
        return content

    def spill(self) -> Steps[None]:
        """Write what is pending; entries that come meanwhile wait for the next time."""
        yield from self.settle()
        if not self.pending and not self.torn:
            return
        self.writing = True
        data = bytes(self.pending)
        try:
            if self.torn:
                # A write that failed early may not even have left a file to truncate.
                yield Truncate(self.file, self.stored_bytes) if self.stored_bytes else Unlink(self.file)
                self.torn = False
            yield Append(self.file, data)
        except FileFailure:
            self.torn = True
            raise
        finally:
            self.writing = False
        self.synced = False
        del self.pending[: len(data)]
        self.stored_bytes += len(data)

    def sync(self) -> Steps[None]:
        """Bring every entry to the disk for good. An index without entries still gets its file, as in Kafka."""
        yield from self.spill()
        if not self.synced:
            if self.stored_bytes == 0:
                yield Append(self.file, b"")
            yield from sync_file(self.file)
            self.synced = True

    def settle(self) -> Steps[None]:
        """Wait until no write is under way."""
        while self.writing:
            yield Pause()

    def cut(self, size_bytes: int) -> Steps[None]:
        """Keep only the first `size_bytes` of entries."""
        yield from self.settle()
        if size_bytes >= self.stored_bytes:
            del self.pending[size_bytes - self.stored_bytes :]
            return
        self.pending.clear()
        self.cache.drop(self)
        self.synced = False
        self.stored_bytes = size_bytes
        yield Truncate(self.file, size_bytes)

    def replace(self, entries: bytes) -> Steps[None]:
        """Put other entries in the place of all there are, leaving either the old file or the new one. Those that come
        meanwhile stay behind them."""
        yield from self.settle()
        replaced = len(self.pending)
        self.writing = True
        try:
            path = self.file.path
            fresh = File(path + TEMPORARY)
            yield Unlink(fresh)
            yield Append(fresh, entries)
            yield Rename(fresh, path)
        finally:
            self.writing = False
        self.file = fresh
        self.cache.drop(self)
        del self.pending[:replaced]
        self.stored_bytes = len(entries)
        self.synced = self.torn = False
