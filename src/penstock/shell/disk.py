"""The disk: performs file operations for the core, inline where they cannot block, in a thread where they can.

Appends go to the page cache at once. Reads ask the kernel not to wait (`RWF_NOWAIT`) and move to a thread when the
page is cold; where the kernel or the file system does not know that flag, they are plain reads.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from penstock.core.base import ports
from penstock.core.base.ports import LATER, Buffer, Done, File, FileFailure, FileOp, Slice
from penstock.shell.descriptors import APPEND_FLAGS, FILE_MODE, Descriptors, write_all
from penstock.shell.full_sync import sync_data, sync_path
from penstock.shell.jobs import Workers
from penstock.shell.whole_sync import sync_tree

THREADS_MAX = 4
AWAITED_WORKERS_MAX = 2
"""Processes for jobs that somebody waits for: one client alone does not make all others wait."""
PARTS_MAX = 1024
"""What the system writes at once (IOV_MAX); it refuses more, however small they are."""
PROBE_BYTES = 128 * 1024
"""The system reads ahead at least this much, so that what lies between two warm pages is warm too."""

TAKES_LONG = (ports.Sync, ports.SyncDir, ports.SyncTree, ports.Together, ports.Unlink)

_NOWAIT = getattr(os, "RWF_NOWAIT", 0) if hasattr(os, "preadv") else 0


class WouldBlock(Exception):
    """The page is not in memory: whoever asked must not wait for it here."""


class Reader:
    """Reads that never make the loop wait for a disk, as far as the system lets them."""

    def __init__(self, nowait: int = _NOWAIT) -> None:
        self._nowait = nowait

    def read(self, fd: int, position: int, length: int) -> bytes:
        found = self.view(fd, position, length)
        return found if isinstance(found, bytes) else bytes(found)

    def view(self, fd: int, position: int, length: int) -> Buffer:
        """The same without the last copy, for bytes that are only passed on."""
        if not self._nowait:
            return os.pread(fd, length, position)
        buffer = bytearray(length)
        try:
            count = os.preadv(fd, [buffer], position, self._nowait)
        except BlockingIOError:
            raise WouldBlock from None
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                raise
            self._nowait = 0
            return os.pread(fd, length, position)
        # A short count without an error is the end of the file, or the edge of what is in memory.
        if count < length and position + count < os.fstat(fd).st_size:
            raise WouldBlock
        return memoryview(buffer)[:count]

    def is_warm(self, fd: int, position: int, length: int) -> bool:
        """Whether a range is in memory, as far as a look at every so many pages of it can tell."""
        if not self._nowait:
            return True
        last = position + length - 1
        probe = bytearray(1)
        try:
            for at in (*range(position, last, PROBE_BYTES), last):
                os.preadv(fd, [probe], at, self._nowait)
        except BlockingIOError:
            return False
        except OSError:
            self._nowait = 0
        return True


class Disk:
    """Implements `Files` on the real file system."""

    def __init__(self, turn: Callable[[Callable[[], None]], None], open_files_max: int, reader: Reader) -> None:
        self._turn = turn
        self._descriptors = Descriptors(open_files_max)
        self._reader = reader
        self._threads = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="disk")
        self._workers = Workers()
        self._awaited_workers = Workers(AWAITED_WORKERS_MAX)
        self._paused: deque[Done] = deque()
        # Until the node serves anybody there is nobody to keep waiting, and a thread hop per file costs seconds. Only a
        # node that has asked others for something is waited for: then what takes long must not hold up the loop.
        self.starting = True
        self.has_company = False

    def append(self, file: File, parts: Sequence[Buffer], done: Done) -> bool:
        try:
            fd = file.fd if file.fd >= 0 else self._descriptors.open(file, create=True)
            if len(parts) > PARTS_MAX:
                parts = [b"".join(parts)]
            written = os.write(fd, parts[0]) if len(parts) == 1 else os.writev(fd, parts)
            if written != sum(map(len, parts)):
                write_all(fd, memoryview(b"".join(parts))[written:])
        except OSError as error:
            failure = failure_of(error)
            asyncio.get_running_loop().call_soon(self._turn, lambda: done(failure))
            return False
        return True

    def perform(self, op: FileOp, done: Done) -> object:
        if isinstance(op, ports.Read):
            return self._read(op, done)
        if isinstance(op, ports.Pause):
            self._paused.append(done)
            if len(self._paused) == 1:
                asyncio.get_running_loop().call_soon(self._go_on)
            return LATER
        if isinstance(op, ports.RunJob):
            return self._later((self._awaited_workers if op.is_awaited else self._workers).run(op.job), done)
        is_early = self.starting and not (self.has_company and isinstance(op, TAKES_LONG))
        if is_early or isinstance(op, ports.Append | ports.Size):
            # The page cache and the inode cache answer at once.
            return self._call(op)
        if isinstance(op, ports.Sync):
            return self._sync_later(op, done)
        if isinstance(op, ports.Together):
            return self._perform_all(op.ops, done)
        if isinstance(op, ports.Unlink):
            self._descriptors.forget(op.file)
        return self._later(self._threads.submit(self._call, op), done)

    def _go_on(self) -> None:
        """One long computation for some milliseconds, and then the sockets, however many there are of them."""
        done = self._paused.popleft()
        if self._paused:
            asyncio.get_running_loop().call_soon(self._go_on)
        self._turn(lambda: done(None))

    def pin(self, file: File) -> None:
        """Keep a file open (and so readable, whatever happens to its name) until `unpin`."""
        if file.fd < 0:
            self._descriptors.open(file, create=False)
        self._descriptors.pin(file)

    def unpin(self, file: File) -> None:
        self._descriptors.unpin(file)

    def is_warm(self, file: File, position: int, length: int) -> bool:
        return self._reader.is_warm(file.fd, position, length)

    def weight(self, _: File) -> int:
        """How many bytes of a plain file cost as much as one of this, when it is read to be sent."""
        return 1

    def read_warm(self, piece: Slice) -> Buffer | None:
        """All bytes of a slice, if they can be had without waiting."""
        file = piece.file
        try:
            fd = file.fd if file.fd >= 0 else self._descriptors.open(file, create=False)
            found = self._reader.view(fd, piece.position, piece.length)
        except (WouldBlock, OSError):
            return None
        return found if len(found) == piece.length else None

    def read_pinned(self, file: File, position: int, length: int, done: Callable[[object], None]) -> object:
        """Bytes of a pinned file, or LATER and then `done`; for sending, outside of any turn."""
        try:
            return self._reader.view(file.fd, position, length)
        except WouldBlock:
            future = self._threads.submit(os.pread, file.fd, length, position)
            loop = asyncio.get_running_loop()
            future.add_done_callback(lambda found: loop.call_soon_threadsafe(done, outcome_of(found)))
            return LATER
        except OSError as error:
            return failure_of(error)

    def close(self) -> None:
        self._threads.shutdown(wait=True)
        self._workers.close()
        self._awaited_workers.close()
        self._descriptors.close_all()

    def _read(self, op: ports.Read, done: Done) -> object:
        file = op.file
        try:
            fd = file.fd if file.fd >= 0 else self._descriptors.open(file, create=False)
            return self._reader.read(fd, op.position, op.length)
        except WouldBlock:
            if self.starting and not self.has_company:
                return os.pread(file.fd, op.length, op.position)
            self._descriptors.pin(file)
            return self._later(self._threads.submit(os.pread, file.fd, op.length, op.position), done, file)
        except OSError as error:
            return failure_of(error)

    def _sync_later(self, op: ports.Sync, done: Done) -> object:
        """Threads neither open nor close anything: the file is opened here, and pinned while it is synced."""
        try:
            self.pin(op.file)
        except OSError as error:
            return failure_of(error)
        return self._later(self._threads.submit(self._call, op), done, op.file)

    def _perform_all(self, ops: Sequence[FileOp], done: Done) -> object:
        """A share for each thread. Files that are open are pinned meanwhile; others are opened for this alone, by the
        thread, because to make a file is what takes long."""
        if not ops:
            return []
        held = [op.file for op in ops if isinstance(op, ports.Append | ports.Sync) and op.file.fd >= 0]
        for file in held:
            self._descriptors.pin(file)
        for op in ops:
            if isinstance(op, ports.Unlink):
                self._descriptors.forget(op.file)
        share = -(-len(ops) // THREADS_MAX)
        futures = [self._threads.submit(self._call_aside, ops[at : at + share]) for at in range(0, len(ops), share)]
        arriving = len(futures)
        loop = asyncio.get_running_loop()

        def arrived() -> None:
            nonlocal arriving
            arriving -= 1
            if not arriving:
                for file in held:
                    self._descriptors.unpin(file)
                self._turn(lambda: done([result for future in futures for result in future.result()]))

        for future in futures:
            future.add_done_callback(lambda _: loop.call_soon_threadsafe(arrived))
        return LATER

    def _call_aside(self, ops: Sequence[FileOp]) -> list[object]:
        return [self._call(op, aside=True) for op in ops]

    def _later(self, future: Future[Any], done: Done, file: File | None = None) -> object:
        loop = asyncio.get_running_loop()

        def deliver(finished: Future[Any]) -> None:
            if file is not None:
                self._descriptors.unpin(file)
            self._turn(lambda: done(outcome_of(finished)))

        future.add_done_callback(lambda finished: loop.call_soon_threadsafe(deliver, finished))
        return LATER

    def _call(self, op: FileOp, aside: bool = False) -> object:
        try:
            perform = _PERFORM[type(op)]
            if aside and isinstance(op, ports.Append | ports.Sync) and op.file.fd < 0:
                perform = _PERFORM_CLOSED[type(op)]
            return perform(self, op)
        except OSError as error:
            return failure_of(error)

    # One method per operation. They may run in a thread, where descriptors are neither opened nor closed.

    def _append(self, op: ports.Append) -> None:
        fd = op.file.fd if op.file.fd >= 0 else self._descriptors.open(op.file, create=True)
        write_all(fd, op.data)

    def _size(self, op: ports.Size) -> int | None:
        try:
            return os.stat(op.file.path).st_size
        except FileNotFoundError:
            return None

    def _sync(self, op: ports.Sync) -> None:
        fd = op.file.fd if op.file.fd >= 0 else self._descriptors.open(op.file, create=False)
        sync_data(fd)

    def _truncate(self, op: ports.Truncate) -> None:
        os.truncate(op.file.path, op.size)

    def _rename(self, op: ports.Rename) -> None:
        os.replace(op.file.path, op.path)
        op.file.path = op.path

    def _unlink(self, op: ports.Unlink) -> None:
        if self.starting:
            self._descriptors.forget(op.file)
        try:
            os.unlink(op.file.path)
        except FileNotFoundError:
            return

    def _list(self, op: ports.ListDir) -> list[ports.Entry]:
        with os.scandir(op.path) as entries:
            found = [ports.Entry(each.name, each.stat().st_size, each.is_dir()) for each in entries]
        return sorted(found, key=lambda entry: entry.name)

    def _make_dir(self, op: ports.MakeDir) -> None:
        os.makedirs(op.path, exist_ok=True)

    def _remove_dir(self, op: ports.RemoveDir) -> None:
        try:
            os.rmdir(op.path)
        except FileNotFoundError:
            return

    def _rename_dir(self, op: ports.RenameDir) -> None:
        os.rename(op.path, op.new_path)

    def _sync_dir(self, op: ports.SyncDir) -> None:
        sync_path(op.path)

    def _sync_tree(self, op: ports.SyncTree) -> None:
        sync_tree(op.path)

    def _perform_each(self, op: ports.Together) -> list[object]:
        return [self._call(each) for each in op.ops]

    def _append_closed(self, op: ports.Append) -> None:
        fd = os.open(op.file.path, APPEND_FLAGS | os.O_CREAT, FILE_MODE)
        try:
            write_all(fd, op.data)
        finally:
            os.close(fd)

    def _sync_closed(self, op: ports.Sync) -> None:
        sync_path(op.file.path)

    def _pause(self, op: ports.Pause) -> None:
        """One among others that take long enough."""

    def _free_space(self, op: ports.FreeSpace) -> tuple[int, int]:
        found = os.statvfs(op.path)
        return found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize


_PERFORM: dict[type, Callable[[Disk, Any], object]] = {
    ports.Append: Disk._append,
    ports.Size: Disk._size,
    ports.Sync: Disk._sync,
    ports.Truncate: Disk._truncate,
    ports.Rename: Disk._rename,
    ports.Unlink: Disk._unlink,
    ports.ListDir: Disk._list,
    ports.MakeDir: Disk._make_dir,
    ports.RemoveDir: Disk._remove_dir,
    ports.RenameDir: Disk._rename_dir,
    ports.SyncDir: Disk._sync_dir,
    ports.SyncTree: Disk._sync_tree,
    ports.Together: Disk._perform_each,
    ports.Pause: Disk._pause,
    ports.FreeSpace: Disk._free_space,
}
_PERFORM_CLOSED: dict[type, Callable[[Disk, Any], object]] = {
    ports.Append: Disk._append_closed,
    ports.Sync: Disk._sync_closed,
}


def failure_of(error: OSError) -> FileFailure:
    return FileFailure(error.errno or 0, str(error))


def outcome_of(future: Future[Any]) -> object:
    """The value of a finished future, with its failure as a value."""
    error = future.exception()
    if error is None:
        return future.result()
    return failure_of(error) if isinstance(error, OSError) else FileFailure(0, repr(error))
