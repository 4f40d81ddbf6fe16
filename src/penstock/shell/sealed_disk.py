"""The disk of a node that encrypts what it writes: logs and snapshots of the metadata are sealed below the port.

Everybody above speaks of positions in plain files. What a reply carries of a sealed file is read and opened here, and
never goes past this process.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary

from penstock.core.base import ports
from penstock.core.base.ports import LATER, Buffer, Done, File, FileOp, Slice
from penstock.core.sealing.finding import Pread
from penstock.core.sealing.names import holds_records
from penstock.core.sealing.sealed_file import SealedFile
from penstock.shell import sealed_paths
from penstock.shell.disk import Disk, Reader, WouldBlock, failure_of, outcome_of
from penstock.shell.sealed_jobs import with_keys
from penstock.shell.sealed_paths import Sealing, pread_of

FRAMES_MAX: Final = 400
"""Opened at once for a reply, in about a millisecond."""
LIGHT_BYTES: Final = 4096
"""A frame of so many costs twice what its bytes alone do."""


class Known:
    """What is known of an open file; `sealed` is None for one that is plain."""

    __slots__ = ("inode", "is_torn", "sealed")

    def __init__(self, sealed: SealedFile | None, found: os.stat_result) -> None:
        self.sealed = sealed
        self.inode = found.st_ino
        self.is_torn = sealed is not None and found.st_size != sealed.physical_size

    def is_of(self, found: os.stat_result) -> bool:
        """Whether the file that was opened anew is still as it was."""
        return found.st_ino == self.inode and (self.sealed is None or found.st_size == self.sealed.physical_size)


class SealedDisk(Disk):
    """Implements `Files`, with keys."""

    def __init__(
        self, turn: Callable[[Callable[[], None]], None], open_files_max: int, reader: Reader, sealing: Sealing
    ) -> None:
        super().__init__(turn, open_files_max, reader)
        self.sealing = sealing
        self._known: WeakKeyDictionary[File, Known] = WeakKeyDictionary()

    def append(self, file: File, parts: Sequence[Buffer], done: Done) -> bool:
        try:
            known = self._look(file, create=True)
            if known.sealed is None:
                return super().append(file, parts, done)
            self._write(file, known, parts[0] if len(parts) == 1 else b"".join(parts))
        except OSError as error:
            failure = failure_of(error)
            asyncio.get_running_loop().call_soon(self._turn, lambda: done(failure))
            return False
        return True

    def perform(self, op: FileOp, done: Done) -> object:
        if isinstance(op, ports.RunJob):
            job = ports.Job(with_keys, (self.sealing().ring, op.job.function, op.job.args))
            return super().perform(ports.RunJob(job, op.is_awaited), done)
        if isinstance(op, ports.Size) and not self.starting and holds_records(op.file.path):
            return self._later(self._threads.submit(self._call, op), done)
        return super().perform(op, done)

    def pin(self, file: File) -> None:
        self._open(file)
        super().pin(file)

    def is_warm(self, file: File, position: int, length: int) -> bool:
        known = self._known.get(file)
        # One of which nothing is known is looked at by whoever reads it.
        return known is not None and known.sealed is None and super().is_warm(file, position, length)

    def read_warm(self, piece: Slice) -> Buffer | None:
        try:
            sealed = self._look(piece.file).sealed
            if sealed is None:
                return super().read_warm(piece)
            found = sealed.read(partial(self._reader.view, piece.file.fd), piece.position, piece.length)
        except (WouldBlock, OSError):
            return None
        return found if len(found) == piece.length else None

    def weight(self, file: File) -> int:
        known = self._known.get(file)
        return 1 if known is None or known.sealed is None else 1 + LIGHT_BYTES // known.sealed.frame_bytes

    def read_pinned(self, file: File, position: int, length: int, done: Callable[[object], None]) -> object:
        """Perhaps fewer bytes than asked for, so that nobody else waits long for them."""
        known = self._known.get(file)
        if known is not None and known.sealed is not None:
            length = min(length, FRAMES_MAX * known.sealed.frame_bytes)
        try:
            return self._read_by(partial(self._reader.view, file.fd), file, position, length)
        except WouldBlock:
            future = self._threads.submit(self._read_by, pread_of(file.fd), file, position, length)
            loop = asyncio.get_running_loop()
            future.add_done_callback(lambda found: loop.call_soon_threadsafe(done, outcome_of(found)))
            return LATER
        except OSError as error:
            return failure_of(error)

    def _read(self, op: ports.Read, done: Done) -> object:
        file = op.file
        try:
            self._open(file)
            try:
                return self._read_by(partial(self._reader.view, file.fd), file, op.position, op.length)
            except WouldBlock:
                if self.starting and not self.has_company:
                    return self._read_by(pread_of(file.fd), file, op.position, op.length)
            self._descriptors.pin(file)
            future = self._threads.submit(self._read_by, pread_of(file.fd), file, op.position, op.length)
            return self._later(future, done, file)
        except OSError as error:
            return failure_of(error)

    def _read_by(self, pread: Pread, file: File, position: int, length: int) -> bytes:
        """Of a file that is open, and stays so meanwhile; perhaps in a thread."""
        known = self._known.get(file)
        if known is None:
            # If the loop has learned it meanwhile, and perhaps appended, then what it knows is what counts.
            known = self._known.setdefault(file, self._learn(file, pread))
        if known.sealed is None:
            return bytes(pread(position, length))
        return known.sealed.read(pread, position, length)

    def _open(self, file: File, create: bool = False) -> Known | None:
        """Open a file; gives what is known of it, if it is still true."""
        known = self._known.get(file)
        if file.fd < 0:
            found = os.fstat(self._descriptors.open(file, create))
            if known is not None and not known.is_of(found):
                del self._known[file]
                return None
        return known

    def _look(self, file: File, create: bool = False) -> Known:
        """What is known of a file, which is opened for that. To look at its head and its end, which were just
        written or are about to be, is not worth a thread."""
        known = self._open(file, create)
        if known is None:
            known = self._known[file] = self._learn(file, pread_of(file.fd))
        return known

    def _learn(self, file: File, pread: Pread) -> Known:
        sealed = sealed_paths.look(file.path, file.fd, pread, self.sealing())
        return Known(sealed, os.fstat(file.fd))

    def _write(self, file: File, known: Known, data: Buffer) -> None:
        assert known.sealed is not None
        try:
            if known.is_torn:
                sealed_paths.write(file.path, file.fd, known.sealed, data)
                known.is_torn = False
            else:
                sealed_paths.write_on(file.path, file.fd, known.sealed, data)
        except BaseException:
            # A part of it may be there: who comes next looks again.
            del self._known[file]
            raise

    def _call(self, op: FileOp, aside: bool = False) -> object:
        perform = _PERFORM.get(type(op))
        if perform is None:
            return super()._call(op, aside)
        try:
            return perform(self, op, aside)
        except OSError as error:
            return failure_of(error)

    # One method per operation that is another one here. They may run in a thread.

    def _append_data(self, op: ports.Append, aside: bool) -> None:
        file = op.file
        if aside and file.fd < 0:
            self._known.pop(file, None)
            sealed_paths.append(file.path, op.data, self.sealing())
            return
        known = self._look(file, create=True)
        if known.sealed is None:
            self._append(op)
        else:
            self._write(file, known, op.data)

    def _size_of(self, op: ports.Size, _: bool) -> int | None:
        path = op.file.path
        try:
            found = os.stat(path)
            known = self._known.get(op.file)
            if known is not None and known.sealed is not None and known.is_of(found):
                return known.sealed.end
            return sealed_paths.size_of(path, self.sealing()) if holds_records(path) else found.st_size
        except FileNotFoundError:
            return None

    def _truncate_file(self, op: ports.Truncate, _: bool) -> None:
        file, known = op.file, self._known.get(op.file)
        if known is not None and known.sealed is not None:
            # Whoever reads meanwhile finds the end where it will be.
            known.sealed.end = min(known.sealed.end, op.size)
        sealed = sealed_paths.truncate(file.path, op.size, self.sealing())
        if sealed is None:
            # A plain one that was emptied is sealed from now on.
            self._known.pop(file, None)
        else:
            self._known[file] = Known(sealed, os.stat(file.path))

    def _unlink_file(self, op: ports.Unlink, _: bool) -> None:
        self._known.pop(op.file, None)
        self._unlink(op)

    def _list_folder(self, op: ports.ListDir, _: bool) -> list[ports.Entry]:
        return [self._measured(op.path, entry) for entry in self._list(op)]

    def _measured(self, folder: str, entry: ports.Entry) -> ports.Entry:
        """With the size that everybody else believes in."""
        if entry.is_dir or not entry.size or not holds_records(entry.name):
            return entry
        return ports.Entry(entry.name, sealed_paths.size_of(f"{folder}/{entry.name}", self.sealing()), is_dir=False)


_PERFORM: dict[type, Callable[[SealedDisk, Any, bool], object]] = {
    ports.Append: SealedDisk._append_data,
    ports.Size: SealedDisk._size_of,
    ports.Truncate: SealedDisk._truncate_file,
    ports.Unlink: SealedDisk._unlink_file,
    ports.ListDir: SealedDisk._list_folder,
}
