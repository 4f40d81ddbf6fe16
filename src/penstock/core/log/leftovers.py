"""What a crash leaves in a partition's folder: files on their way in or out. Each either gets there or goes."""

from __future__ import annotations

from penstock.core.base.ports import Entry, File, ListDir, Pause, Rename, Steps, Unlink
from penstock.core.log.durable import sync_folder
from penstock.core.log.names import CLEANED, DELETED, LOG, SEGMENT_KINDS, SWAP, TEMPORARY, parse_file, path_of
from penstock.core.log.scan import read_chunk
from penstock.core.records.batch import iterate_headers

Sizes = dict[int, int]


class Listing:
    """The files of a folder by stage and kind: base offset to size."""

    __slots__ = ("_sizes", "strangers")

    def __init__(self, entries: list[Entry]) -> None:
        self._sizes: dict[tuple[str, str], Sizes] = {}
        self.strangers: list[str] = []
        for entry in entries:
            name = parse_file(entry.name)
            if name is not None:
                self._sizes.setdefault((name.kind, name.stage), {})[name.offset] = entry.size
            else:
                self.strangers.append(entry.name)

    def of(self, kind: str, stage: str = "") -> Sizes:
        return self._sizes.setdefault((kind, stage), {})

    def staged(self, *stages: str) -> list[tuple[int, str, str]]:
        """(offset, kind, stage) of the files at these stages."""
        return [(offset, *key) for key, sizes in self._sizes.items() if key[1].endswith(stages) for offset in sizes]


def tidy(folder: str) -> Steps[Listing]:
    """Finish a swap that has begun for good, undo everything else that was under way; gives what is there then."""
    listing = Listing((yield ListDir(folder)))
    swaps = listing.of(LOG, SWAP)
    for base_offset, size_bytes in swaps.items():
        yield from _finish_swap(folder, base_offset, size_bytes, listing)
    gone = [leftover for leftover in listing.staged(CLEANED, SWAP, DELETED) if leftover[0] not in swaps]
    gone += [leftover for leftover in listing.staged(CLEANED, DELETED) if leftover[0] in swaps]
    for offset, kind, stage in gone:
        yield Unlink(File(path_of(folder, offset, kind, stage)))
    for name in listing.strangers:
        if name.endswith(TEMPORARY):
            yield Unlink(File(f"{folder}/{name}"))
    if swaps:
        listing = Listing((yield ListDir(folder)))
    yield from _drop_orphans(folder, listing)
    return listing


def _finish_swap(folder: str, base_offset: int, size_bytes: int, listing: Listing) -> Steps[None]:
    """The swapped log is whole and synced, or it would not have this name: what it replaces goes, it takes its place.
    Indexes that have no `.swap` file any more are in place already or are made anew when the segment is opened."""
    end_offset = yield from _end_offset(File(path_of(folder, base_offset, LOG, SWAP)), size_bytes, base_offset)
    for kind in SEGMENT_KINDS:
        for offset in listing.of(kind):
            if base_offset < offset < end_offset or (offset == base_offset and kind != LOG):
                yield Unlink(File(path_of(folder, offset, kind)))
    yield from sync_folder(folder)
    for kind in reversed(SEGMENT_KINDS):
        if base_offset in listing.of(kind, SWAP):
            yield Rename(File(path_of(folder, base_offset, kind, SWAP)), path_of(folder, base_offset, kind))
            yield from sync_folder(folder)


def _end_offset(file: File, size_bytes: int, base_offset: int) -> Steps[int]:
    """The offset after a log file's last batch."""
    position, end_offset = 0, base_offset
    while position < size_bytes:
        data = yield from read_chunk(file, position, size_bytes)
        before = position
        for _, header in iterate_headers(data, partial_tail=True):
            position, end_offset = position + header.size, header.next_offset
        if position == before:
            break
        yield Pause()
    return end_offset


def _drop_orphans(folder: str, listing: Listing) -> Steps[None]:
    """Indexes whose log is gone."""
    for kind in SEGMENT_KINDS:
        for offset in [offset for offset in listing.of(kind) if offset not in listing.of(LOG)]:
            yield Unlink(File(path_of(folder, offset, kind)))
            del listing.of(kind)[offset]
