"""The volume: what each file operation does to the platter, at the moment it happens.

`effect(op)` binds an operation to what it must remember of the moment it was asked for (a sync covers what was
written by then, and not a byte more) and gives a function that performs it. A failure is a value.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from functools import partial

from penstock.core.base import ports
from penstock.core.base.ports import File, FileFailure, FileOp
from penstock.core.base.steps import CHANGES as CHANGES_OF_STEPS
from penstock.sim.chance import Chance
from penstock.sim.platter import DirectoryNode, FileNode, Platter

TOTAL_BYTES = 1 << 30
NAME_BYTES = 64
"""What a new name in a directory needs. Where there is less, neither a file nor a folder can be made, and no file gets
a longer name."""
CHANGES = (*CHANGES_OF_STEPS, ports.SyncDir)
"""What a disk that can only be read refuses; a file in it can be synced, or fails to be."""
OPENING = (ports.Append, ports.Read, ports.Sync, ports.SyncDir, ports.SyncTree, ports.ListDir)
"""What needs a descriptor, unless it finds its file open; and a process may close any to open another."""
Effect = Callable[[], object]


class Volume:
    """A mounted platter: open files, free space, and the faults that an operation can meet."""

    def __init__(self, chance: Chance, note: Callable[[str, str], None]) -> None:
        self.platter = Platter()
        self.free_bytes: int | None = None  # None: plenty.
        self.syncs_to_fail = 0
        self.lacks_descriptors = False
        self.has_failed = False
        self.on_folder_renamed: Callable[[str, str], None] = lambda path, new_path: None
        self.is_failing = False  # The next sync fails, and from then on nothing is written.
        self.is_read_only = False
        self.has_told = False  # Whether a process knows of it.
        self._chance = chance
        self._note = note
        self._syncs = 0
        self._open: dict[int, FileNode] = {}

    def effect(self, op: FileOp) -> Effect:
        """Give the function that performs an operation and returns its result or its failure."""
        if isinstance(op, ports.Sync):
            action = self._sync_effect(op.file)
        elif isinstance(op, ports.SyncDir):
            action = self._sync_directory_effect(op.path)
        elif isinstance(op, ports.SyncTree):
            action = self._sync_tree_effect(op.path)
        else:
            action = self._plain_effect(op)
        if isinstance(op, OPENING):
            action = partial(self._open_for, action)
        if isinstance(op, CHANGES):
            return lambda: guarded(self._refuse if self.is_read_only else action)
        return lambda: guarded(action)

    # ---- files

    def node(self, file: File, create: bool = False) -> FileNode:
        """Give the file's content, opening it first where it is closed; an open file keeps its content by any name."""
        if file.fd in self._open:
            return self._open[file.fd]
        node = self.create(file.path) if create else self.platter.file(file.path)
        file.fd = node.number
        self._open[node.number] = node
        return node

    def create(self, path: str) -> FileNode:
        """Give the file at a path, made empty when missing and when there is room for its name."""
        self._need_room_for(path)
        return self.platter.create(path)

    def close(self, file: File) -> None:
        """Close a file that nobody pins, as the shell does to stay within its bound."""
        if file.pins <= 0:
            file.fd = -1

    def close_all(self) -> None:
        """The process is gone, and with it every open file."""
        self._open.clear()

    def recover(self) -> None:
        """Somebody has looked after the disk, and mounted it again."""
        self.is_failing = self.is_read_only = self.has_told = False

    def read(self, file: File, position: int, length: int) -> bytes:
        """Read a range, shorter where the file ends."""
        return bytes(self.node(file).written[position : position + length])

    def write(self, node: FileNode, data: bytes) -> None:
        """Write at the end; on a full disk only a part of it, and ENOSPC."""
        self._need_writable()
        if self.fits(len(data)):
            node.written += data
            self._take(len(data))
            return
        assert self.free_bytes is not None
        part = data[: self._chance.between(0, self.free_bytes)]
        node.written += part
        self._take(len(part))
        self._note("disk-full", f"{len(part)}/{len(data)}")
        raise FileFailure(errno.ENOSPC, "no space left on device")

    def tear(self, path: str, part: bytes) -> None:
        """An append that a crash has interrupted: a part of it, made at once."""
        self.write(self.platter.create(path), part)

    def size_at(self, path: str) -> int:
        """What a job is told that has just opened the file."""
        return len(self.platter.file(path).written)

    def read_at(self, path: str, position: int, length: int) -> bytes:
        """The same for a range, shorter at the end of the file."""
        return bytes(self.platter.file(path).written[position : position + length])

    def entries(self, path: str) -> list[ports.Entry]:
        """List a directory."""
        return self.platter.entries(path)

    def sync(self, node: FileNode, content: bytes, order: int) -> None:
        """Make `content`, as it was when the sync with this number was asked for, survive power loss."""
        if self.syncs_to_fail > 0 or self.is_failing:
            self.is_read_only = self.is_failing
            self.syncs_to_fail -= self.syncs_to_fail > 0
            self.has_failed = True
            self._note("failed-sync", str(node.number))
            raise FileFailure(errno.EIO, "input/output error")
        if order > node.sync_order:
            node.synced, node.sync_order = content, order

    def sync_now(self, node: FileNode) -> None:
        """Ask and perform at once, as a job does."""
        self.sync(node, bytes(node.written), self._next_sync())

    def remove(self, path: str) -> None:
        """Unlink a path; its bytes become free."""
        self._need_writable()
        node = self.platter.find(path)
        if isinstance(node, DirectoryNode):
            raise FileFailure(errno.EISDIR, f"is a directory: {path}")
        self.platter.remove(path)
        if node is not None:
            self._take(-len(node.written))

    def takes(self, file: File, size: int) -> bool:
        """Say whether so many bytes more of a file find room, and its name, if it is new."""
        if self.is_read_only or self.lacks_descriptors:
            return False
        return self.fits(size) and (file.fd in self._open or self._has_room_for(file.path))

    def fits(self, size: int) -> bool:
        """Say whether so many bytes more find room."""
        return self.free_bytes is None or size <= self.free_bytes

    def _open_for(self, action: Effect) -> object:
        if self.lacks_descriptors and self._chance.happens(0.5):
            self._note("no-descriptor", "")
            raise FileFailure(errno.EMFILE, "too many open files")
        return action()

    def _need_writable(self) -> None:
        if self.is_read_only:
            self._refuse()

    def _refuse(self) -> None:
        raise FileFailure(errno.EROFS, "read-only file system")

    def _has_room_for(self, path: str) -> bool:
        return self.fits(NAME_BYTES) or self.platter.find(path) is not None

    def _need_room_for(self, path: str) -> None:
        if not self._has_room_for(path):
            self._note("disk-full", path)
            raise FileFailure(errno.ENOSPC, "no space left on device")

    def _take(self, size: int) -> None:
        if self.free_bytes is not None:
            self.free_bytes -= size

    # ---- operations

    def _plain_effect(self, op: FileOp) -> Effect:
        platter = self.platter
        match op:
            case ports.Append(file, data):
                copied = bytes(data)
                return lambda: self.write(self.node(file, create=True), copied)
            case ports.Read(file, position, length):
                return lambda: self.read(file, position, length)
            case ports.Size(file):
                return lambda: self._size(file)
            case ports.Truncate(file, size):
                return lambda: self._truncate(file, size)
            case ports.Rename(file, path):
                return lambda: self._rename(file, path)
            case ports.Unlink(file):
                return lambda: self._unlink(file)
            case ports.ListDir(path):
                return lambda: self.entries(path)
            case ports.MakeDir(path):
                return lambda: self._make_directory(path)
            case ports.RemoveDir(path):
                return lambda: platter.remove(path)
            case ports.RenameDir(path, new_path):
                return lambda: self._rename_folder(path, new_path)
            case ports.FreeSpace():
                return lambda: (TOTAL_BYTES if self.free_bytes is None else self.free_bytes, TOTAL_BYTES)
            case ports.Pause():
                return lambda: None
        raise AssertionError(f"not an operation on files: {op!r}")

    def _sync_effect(self, file: File) -> Effect:
        try:
            node = self.node(file)
        except FileFailure as failure:
            return _raiser(failure)
        content, order = bytes(node.written), self._next_sync()
        return lambda: self.sync(node, content, order)

    def _sync_directory_effect(self, path: str) -> Effect:
        upto_order = self.platter.change_order
        return lambda: self.platter.sync_directory(self.platter.directory(path), upto_order)

    def _sync_tree_effect(self, path: str) -> Effect:
        try:
            nodes, upto_order = self.platter.below(path), self.platter.change_order
        except FileFailure as failure:
            return _raiser(failure)
        files = [(node, bytes(node.written), self._next_sync()) for node in nodes if isinstance(node, FileNode)]

        def sync_all() -> None:
            for file in files:
                self.sync(*file)
            for node in nodes:
                if isinstance(node, DirectoryNode):
                    self.platter.sync_directory(node, upto_order)

        return sync_all

    def _size(self, file: File) -> int | None:
        node = self.platter.find(file.path)
        return len(node.written) if isinstance(node, FileNode) else None

    def _truncate(self, file: File, size: int) -> None:
        node = self.platter.file(file.path)
        if size < len(node.written):
            self._take(size - len(node.written))
            del node.written[size:]

    def _make_directory(self, path: str) -> None:
        self._need_room_for(path)
        self.platter.make_directory(path)

    def _rename(self, file: File, path: str) -> None:
        if len(path) > len(file.path):
            self._need_room_for(path)
        replaced = self.platter.find(path)
        self.platter.rename(file.path, path)
        file.path = path
        if isinstance(replaced, FileNode):
            self._take(-len(replaced.written))

    def _rename_folder(self, path: str, new_path: str) -> None:
        self.on_folder_renamed(path, new_path)
        self.platter.rename(path, new_path)

    def _unlink(self, file: File) -> None:
        self.remove(file.path)
        self.close(file)

    def tells(self, result: object) -> None:
        """A process that goes on has got this."""
        self.has_told |= isinstance(result, FileFailure) and result.is_disks_end

    def _next_sync(self) -> int:
        self._syncs += 1
        return self._syncs


def guarded(action: Effect) -> object:
    """Perform; a failure of the disk is a value."""
    try:
        return action()
    except FileFailure as failure:
        return failure


def _raiser(failure: FileFailure) -> Effect:
    def fail() -> object:
        raise failure

    return fail
