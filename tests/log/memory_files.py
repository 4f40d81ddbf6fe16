"""A disk in memory for tests: it finishes operations at once or later, fills up, dies at a chosen operation, and after
a power loss keeps exactly what was synced, plus whatever chance leaves of the rest."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from penstock.core.base import ports
from penstock.core.base.ports import LATER, Buffer, Done, Entry, File, FileFailure, FileOp, Steps
from penstock.core.base.steps import Tasks, perform_each

SECTOR_BYTES = 512


class Crashed(BaseException):
    """The process died here. Not an Exception, so that nobody handles it."""


class Inode:
    def __init__(self, content: bytes = b"") -> None:
        self.live = bytearray(content)
        self.synced = bytes(content)

    def after_power_loss(self, chance: Random) -> None:
        """Any subset of the sectors written since the last sync may remain; the size may be any in between."""
        size = chance.choice((len(self.synced), len(self.live), chance.randint(0, len(self.live))))
        size = max(size, min(len(self.synced), len(self.live)))
        content = bytearray(size)
        for start in range(0, size, SECTOR_BYTES):
            source = self.live if chance.random() < 0.7 else self.synced
            piece = source[start : min(start + SECTOR_BYTES, size)]
            content[start : start + len(piece)] = piece
            # What did not change since the sync is on the disk whatever happens.
            for at in range(start, min(start + SECTOR_BYTES, size, len(self.live), len(self.synced))):
                if self.live[at] == self.synced[at]:
                    content[at] = self.live[at]
        self.live, self.synced = content, bytes(content)


class Disk:
    """What survives: directories of names of inodes, and the changes of names that are not synced yet."""

    def __init__(self) -> None:
        self.names: dict[str, Inode] = {}
        self.folders: set[str] = {"/"}
        self.synced_names: dict[str, Inode] = {}
        self.synced_folders: set[str] = {"/"}
        self.journal: list[tuple[str, Callable[[dict[str, Inode], set[str]], None]]] = []

    def change(self, folder: str, apply: Callable[[dict[str, Inode], set[str]], None]) -> None:
        apply(self.names, self.folders)
        self.journal.append((folder, apply))

    def sync_folder(self, folder: str) -> None:
        for _, apply in [entry for entry in self.journal if entry[0] == folder]:
            apply(self.synced_names, self.synced_folders)
        self.journal = [entry for entry in self.journal if entry[0] != folder]

    def lose_power(self, chance: Random) -> None:
        for _, apply in self.journal:
            if chance.random() < 0.5:
                apply(self.synced_names, self.synced_folders)
        self.journal = []
        # A name in a folder that is gone is gone too.
        kept = {path: inode for path, inode in self.synced_names.items() if parent(path) in self.synced_folders}
        self.names, self.synced_names = dict(kept), dict(kept)
        self.folders = set(self.synced_folders)
        for inode in dict.fromkeys(self.names.values()):
            inode.after_power_loss(chance)


def discard(names: dict[str, Inode], path: str) -> None:
    names.pop(path, None)


def parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"


class MemoryFiles:
    """The `Files` port over a `Disk`. `delay` of None: everything finishes at once."""

    def __init__(self, disk: Disk | None = None, delay: Random | None = None) -> None:
        self.disk = disk or Disk()
        self.delay = delay
        self.pending: list[tuple[object, FileOp, Done]] = []
        self.space_bytes: int | None = None
        self.sync_failure: FileFailure | None = None
        self.rename_failure: FileFailure | None = None
        self.operations_left: int | None = None
        self.operations = 0
        self.history: list[str] = []
        self.longest_name = 0

    # The port

    def append(self, file: File, parts: Sequence[Buffer], done: Done) -> bool:
        op = ports.Append(file, b"".join(parts))
        if self.delay is not None or any(key is file for key, _, _ in self.pending):
            self.pending.append((file, op, done))
            return False
        result = self._do(op)
        if isinstance(result, FileFailure):
            self.pending.append((file, ports.Pause(), lambda _: done(result)))
            return False
        return True

    def perform(self, op: FileOp, done: Done) -> object:
        if isinstance(op, ports.Together):
            return perform_each(self.perform, op.ops, done)
        if self.delay is None and not isinstance(op, ports.Pause):
            return self._do(op)
        # Only appends keep their order by themselves; who needs another order waits for it.
        self.pending.append((op.file if isinstance(op, ports.Append) else op, op, done))
        return LATER

    # The test's side

    def finish_one(self) -> bool:
        """Finish one of the operations that are under way: any that is the oldest of its file; without a delay, the
        oldest of all."""
        if not self.pending:
            return False
        oldest: dict[int, int] = {}
        for number, (key, _, _) in enumerate(self.pending):
            oldest.setdefault(id(key), number)
        ready = sorted(oldest.values())
        key, op, done = self.pending.pop(ready[0] if self.delay is None else self.delay.choice(ready))
        done(self._do(op))
        return True

    def finish_all(self) -> None:
        while self.finish_one():
            pass

    def paths(self) -> list[str]:
        return sorted(self.disk.names)

    def content(self, path: str) -> bytes:
        return bytes(self.disk.names[path].live)

    # What operations do

    def _do(self, op: FileOp) -> object:
        self.operations += 1
        if self.operations_left is not None:
            if self.operations_left == 0:
                raise Crashed
            self.operations_left -= 1
        self.history.append(describe(op))
        try:
            return getattr(self, "_" + type(op).__name__.lower())(op)
        except FileFailure as failure:
            return failure

    def _inode(self, file: File) -> Inode:
        inode = self.disk.names.get(file.path)
        if inode is None:
            raise FileFailure(errno.ENOENT, file.path)
        return inode

    def _append(self, op: ports.Append) -> None:
        path = op.file.path
        inode = self.disk.names.get(path)
        if inode is None:
            if parent(path) not in self.disk.folders:
                raise FileFailure(errno.ENOENT, path)
            inode = Inode()
            made = inode
            self.disk.change(parent(path), lambda names, _: names.__setitem__(path, made))
        data = bytes(op.data)
        if self.space_bytes is not None and len(data) > self.space_bytes:
            inode.live += data[: self.space_bytes]
            self.space_bytes = 0
            raise FileFailure(errno.ENOSPC, "no space left")
        if self.space_bytes is not None:
            self.space_bytes -= len(data)
        inode.live += data

    def _read(self, op: ports.Read) -> bytes:
        return bytes(self._inode(op.file).live[op.position : op.position + op.length])

    def _size(self, op: ports.Size) -> int | None:
        inode = self.disk.names.get(op.file.path)
        return None if inode is None else len(inode.live)

    def _sync(self, op: ports.Sync) -> None:
        inode = self._inode(op.file)
        if self.sync_failure is not None:
            raise self.sync_failure
        inode.synced = bytes(inode.live)

    def _truncate(self, op: ports.Truncate) -> None:
        del self._inode(op.file).live[op.size :]

    def _rename(self, op: ports.Rename) -> None:
        self._inode(op.file)
        if self.rename_failure is not None:
            raise self.rename_failure
        old, new = op.file.path, op.path

        def apply(names: dict[str, Inode], _: set[str]) -> None:
            if old in names:
                names[new] = names.pop(old)

        self.disk.change(parent(old), apply)
        op.file.path = new

    def _unlink(self, op: ports.Unlink) -> None:
        path = op.file.path
        if path in self.disk.names:
            self.disk.change(parent(path), lambda names, _: discard(names, path))

    def _listdir(self, op: ports.ListDir) -> list[Entry]:
        if op.path not in self.disk.folders:
            raise FileFailure(errno.ENOENT, op.path)
        files = [
            Entry(p.rpartition("/")[2], len(i.live), False) for p, i in self.disk.names.items() if parent(p) == op.path
        ]
        folders = [Entry(p.rpartition("/")[2], 0, True) for p in self.disk.folders if p != "/" and parent(p) == op.path]
        return sorted(files + folders, key=lambda entry: entry.name)

    def _makedir(self, op: ports.MakeDir) -> None:
        if op.path not in self.disk.folders:
            self.disk.change(parent(op.path), lambda _, folders: folders.add(op.path))

    def _removedir(self, op: ports.RemoveDir) -> None:
        self.disk.change(parent(op.path), lambda _, folders: folders.discard(op.path))

    def _renamedir(self, op: ports.RenameDir) -> None:
        self.longest_name = max(self.longest_name, len(op.new_path.rpartition("/")[2]))

        def apply(names: dict[str, Inode], folders: set[str]) -> None:
            if op.path in folders:
                folders.discard(op.path)
                folders.add(op.new_path)
                for path in [path for path in names if parent(path) == op.path]:
                    names[op.new_path + path[len(op.path) :]] = names.pop(path)

        self.disk.change(parent(op.path), apply)

    def _syncdir(self, op: ports.SyncDir) -> None:
        self.disk.sync_folder(op.path)

    def _synctree(self, op: ports.SyncTree) -> None:
        if self.sync_failure is not None:
            raise self.sync_failure
        for path, inode in self.disk.names.items():
            if path.startswith(f"{op.path}/"):
                inode.synced = bytes(inode.live)
        for folder in sorted(self.disk.folders):
            if f"{folder}/".startswith(f"{op.path}/"):
                self.disk.sync_folder(folder)

    def _pause(self, op: ports.Pause) -> None:
        pass

    def _runjob(self, op: ports.RunJob) -> object:
        return op.job.function(MemoryJobFiles(self), *op.job.args)


class MemoryJobFiles:
    """The same disk as a job sees it; each call is an operation at which the process may die."""

    def __init__(self, files: MemoryFiles) -> None:
        self._files = files

    def _do(self, op: FileOp) -> Any:
        result = self._files._do(op)
        if isinstance(result, FileFailure):
            raise result
        return result

    def size(self, path: str) -> int:
        size: int = self._do(ports.Size(File(path)))
        return size

    def read(self, path: str, position: int, length: int) -> bytes:
        data: bytes = self._do(ports.Read(File(path), position, length))
        return data

    def append(self, path: str, data: Buffer) -> None:
        self._do(ports.Append(File(path), data))

    def sync(self, path: str) -> None:
        self._do(ports.Sync(File(path)))

    def unlink(self, path: str) -> None:
        self._do(ports.Unlink(File(path)))


def describe(op: FileOp) -> str:
    """An operation as one word and a path, for transcripts."""
    file = getattr(op, "file", None)
    path = file.path if isinstance(file, File) else getattr(op, "path", "")
    return f"{type(op).__name__} {path}"


def drive(files: MemoryFiles, steps: Steps[Any]) -> Any:
    """Run steps to their end, finishing whatever is under way; gives their value or raises their error."""
    results: list[Any] = []
    Tasks(files).run(steps, results.append)
    while not results and files.finish_one():
        pass
    assert results, "the steps wait for something that never comes"
    if isinstance(results[0], Exception):
        raise results[0]
    return results[0]
