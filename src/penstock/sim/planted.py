"""Planted bugs: each a named mistake that somebody could make, switched on for a run.

A simulator that finds nothing proves nothing. With any of these switched on, some seed among a few must fail; the
tests hold it to that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from penstock.core.base.ports import Steps
from penstock.core.log import flushing, reader, recovery, replay, snapshots
from penstock.core.log.index_file import IndexFile
from penstock.core.log.log import Log
from penstock.core.log.producers import Producers
from penstock.core.log.scan import Located, walk_to
from penstock.core.log.segment import Segment
from penstock.core.node.views import Interest
from penstock.core.records.batch import BatchHeader

Patch = tuple[object, str, Any]


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Let a bug be there for a while."""
    patches = BUGS[name]()
    before = [(owner, attribute, getattr(owner, attribute)) for owner, attribute, _ in patches]
    for owner, attribute, value in patches:
        setattr(owner, attribute, value)
    try:
        yield
    finally:
        for owner, attribute, value in before:
            setattr(owner, attribute, value)


def _index_not_truncated() -> list[Patch]:
    """A log that was cut keeps the index entries of what was cut off, and readers believe them."""

    def cut(self: IndexFile, size_bytes: int) -> Steps[None]:
        yield from self.settle()

    honest_replace = IndexFile.replace

    def replace(self: IndexFile, entries: bytes) -> Steps[None]:
        if self.stored_bytes <= len(entries):
            yield from honest_replace(self, entries)

    def locate(log: Log, segment: Segment, offset: int) -> Steps[Located | None]:
        position = yield from segment.offsets.lookup(offset)
        return (yield from walk_to(segment.log, position, segment.size_bytes, offset))

    return [(IndexFile, "cut", cut), (IndexFile, "replace", replace), (reader, "locate", locate)]


def _sequence_check_off() -> list[Patch]:
    """Nobody looks at sequence numbers."""

    def check(self: Producers, header: BatchHeader) -> None:
        return None

    return [(Producers, "check", check)]


def _ack_before_write() -> list[Patch]:
    """What was handed to the disk counts as Written."""
    honest = Log._await_write

    def await_write(self: Log, *arguments: Any) -> None:
        honest(self, *arguments)
        self.written_offset = self.end_offset

    return [(Log, "_await_write", await_write)]


def _ack_before_sync() -> list[Patch]:
    """A flush moves the recovery point without having synced anything."""

    def sync_segments(log: Log, end_offset: int, in_flight: bool) -> Steps[bool]:
        yield from ()
        return True

    return [(flushing, "_sync_segments", sync_segments)]


def _snapshot_ahead_of_log() -> list[Patch]:
    """Producer snapshots are stored before the records they count, and believed wherever the log ends."""
    honest_roll = Log.roll

    def roll(self: Log, now_ms: int) -> Segment:
        segment = honest_roll(self, now_ms)
        offset = segment.base_offset
        data = self.pending_snapshots.pop(offset)
        self.snapshot_offsets.append(offset)
        self.context.tasks.run(snapshots.write(self.dir, offset, data), lambda _: None)
        return segment

    def drop_snapshots(log: Log, above_offset: int) -> Steps[None]:
        yield from ()

    def newest_snapshot(folder: str, offsets: list[int], upto_offset: int) -> Steps[tuple[Producers, int]]:
        for offset in sorted(offsets, reverse=True):
            producers = yield from snapshots.read(folder, offset)
            if producers is not None:
                return producers, offset
        return Producers(), 0

    return [
        (Log, "roll", roll),
        (recovery, "_drop_snapshots", drop_snapshots),
        (replay, "_newest_snapshot", newest_snapshot),
    ]


def _stale_session() -> list[Patch]:
    """A session misses what happens between two of its fetches."""
    honest = Interest.news

    def news(self: Interest, size: int) -> None:
        if self.view.parked is not None:
            honest(self, size)

    return [(Interest, "news", news)]


BUGS: dict[str, Callable[[], list[Patch]]] = {
    "index not truncated": _index_not_truncated,
    "sequence check off": _sequence_check_off,
    "ack before write": _ack_before_write,
    "ack before sync": _ack_before_sync,
    "snapshot ahead of log": _snapshot_ahead_of_log,
    "stale session": _stale_session,
}
"""Every bug by its name."""

LOG_BUGS = tuple(name for name in BUGS if name != "stale session")
"""Those that the log alone can show."""

NODE_BUGS = ("sequence check off", "ack before write", "ack before sync", "stale session")
"""Those that show through the whole node."""
