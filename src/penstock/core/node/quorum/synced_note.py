"""`penstock.synced`: how far the metadata log was synced, so that the next start can tell damage from a torn append.

Whoever finds the log to end below what is noted has found damage: no crash takes back what was synced. Every line is
true once it is there, and stays true, so each that can be read counts. A line is written when a sync has ended, and
nobody waits for it: after a crash of the process the note is exact. It is synced once in a while: after a power loss it
may be that much behind. Before the log is cut on purpose the note is lowered for good.
"""

from __future__ import annotations

import zlib
from typing import Final, NamedTuple

from penstock.core.base.ports import Append, File, FileFailure, Pause, Steps
from penstock.core.log.checkpoints import read_file, replace
from penstock.core.log.durable import SyncFailed, sync_file, sync_folder
from penstock.core.log.log import Log
from penstock.core.node.host import Mortal

FILE: Final = "penstock.synced"
SYNC_INTERVAL_MS: Final = 1_000
LINES_MAX: Final = 500
"""Then the file begins anew, with the last one."""


class Noted(NamedTuple):
    """What the last run left: everything below `offset` was synced; after a clean stop that is all there was."""

    offset: int = 0
    is_clean: bool = False


def _encode(noted: Noted) -> bytes:
    """It begins with a line feed too, so that half a line before it spoils only itself."""
    text = f"{noted.offset} {int(noted.is_clean)}"
    return f"\n{text} {zlib.crc32(text.encode()):08x}\n".encode()


def _decode(line: bytes) -> Noted | None:
    text, _, check = line.rpartition(b" ")
    offset, _, is_clean = text.partition(b" ")
    if not offset.isdigit() or is_clean not in (b"0", b"1") or check != b"%08x" % zlib.crc32(text):
        return None
    return Noted(int(offset), is_clean == b"1")


def read(folder: str) -> Steps[Noted]:
    """The highest offset that can be read; nothing where there is no note, as before there were notes."""
    data = yield from read_file(f"{folder}/{FILE}")
    lines = [_decode(line) for line in (data or b"").split(b"\n") if line]
    offset = max((noted.offset for noted in lines if noted is not None), default=0)
    return Noted(offset, bool(lines) and lines[-1] is not None and lines[-1].is_clean)


def write(folder: str, noted: Noted) -> Steps[None]:
    """Begin the note anew, for good."""
    yield from replace(f"{folder}/{FILE}", _encode(noted))
    yield from sync_folder(folder)


class SyncedNote:
    """Keeps the note of a log at work."""

    def __init__(self, node: Mortal, log: Log, offset: int) -> None:
        """`offset` is what was noted when the log was opened."""
        self._node = node
        self._log = log
        self._file = File(f"{log.dir}/{FILE}")
        self._noted = offset
        self._lines = 1
        self._is_busy = False
        self._is_held = False
        self._is_sync_due = False

    def advance(self) -> None:
        """The log's synced offset has moved."""
        if not (self._is_busy or self._is_held) and self._log.synced_offset > self._noted:
            self._run(self._advance())

    def lower(self, offset: int) -> Steps[None]:
        """The log is about to be cut, or to begin anew, there. Until `release` the note stays as it is then."""
        self._is_held = True
        while self._is_busy:
            yield Pause()
        if offset < self._noted:
            yield from write(self._log.dir, Noted(offset))
            self._noted, self._lines = offset, 1

    def release(self) -> None:
        self._is_held = False

    def close(self) -> Steps[None]:
        """Leave the mark of a clean stop, if all of the log is synced."""
        yield from self.lower(self._noted)
        log = self._log
        if log.failure is None and log.synced_offset >= log.end_offset:
            yield from write(log.dir, Noted(log.synced_offset, is_clean=True))

    def _advance(self) -> Steps[None]:
        while self._noted < (offset := self._log.synced_offset) and not self._is_held:
            if self._lines >= LINES_MAX:
                yield from write(self._log.dir, Noted(offset))
                self._lines = 0
            else:
                yield Append(self._file, _encode(Noted(offset)))
            self._noted, self._lines = offset, self._lines + 1
        if not self._is_sync_due:
            self._is_sync_due = True
            self._node.deadlines.at(self._node.now_ms + SYNC_INTERVAL_MS, self._sync)

    def _sync(self) -> None:
        self._is_sync_due = False
        if self._is_busy or self._is_held:
            return  # What is written now asks for a sync again, or is synced.
        self._run(sync_file(self._file))

    def _run(self, steps: Steps[None]) -> None:
        self._is_busy = True
        self._node.tasks.run(steps, self._done)

    def _done(self, outcome: object) -> None:
        self._is_busy = False
        if isinstance(outcome, SyncFailed) or (isinstance(outcome, Exception) and not isinstance(outcome, FileFailure)):
            self._node.fail(f"the metadata log in {self._log.dir} cannot be used: {outcome}")
        elif outcome is None:
            self.advance()
