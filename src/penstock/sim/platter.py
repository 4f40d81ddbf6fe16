"""The platter: what is on the disk, and what would be left of it if the power went now.

A file has the bytes that were written and the bytes that were synced. A directory has the names that are seen and
the names that are durable; between the two stands a list of changes that no `SyncDir` has covered yet. A power cut
keeps any subset of the unsynced sectors and, for each file, any prefix of its changes of name: data and names reach
the platter independently, so a rename may be durable before the bytes it was meant to publish, and the reverse.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass

from penstock.core.base.ports import Entry, FileFailure
from penstock.sim.chance import Chance

SECTOR_BYTES = 512


class FileNode:
    """One file's content, whatever its name is at the moment."""

    __slots__ = ("number", "sync_order", "synced", "written")

    def __init__(self, number: int) -> None:
        self.number = number
        self.written = bytearray()
        self.synced = b""
        self.sync_order = 0  # Syncs may end in another order than they began; an older one must not undo a newer one.


class DirectoryNode:
    """One directory: the names that are seen and those that survive power loss."""

    __slots__ = ("durable", "names", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.names: dict[str, Node] = {}
        self.durable: dict[str, Node] = {}


Node = FileNode | DirectoryNode
Place = tuple[DirectoryNode, str]


@dataclass(frozen=True, slots=True)
class NameChange:
    """A node got a name (`to`), lost one (`gone`), or both at once: a rename is atomic."""

    order: int
    node: Node
    gone: Place | None
    to: Place | None

    @property
    def directory(self) -> DirectoryNode:
        """The directory whose sync makes this durable."""
        place = self.to or self.gone
        assert place is not None
        return place[0]

    def apply(self) -> None:
        """Carry it into the durable names."""
        if self.gone is not None and self.gone[0].durable.get(self.gone[1]) is self.node:
            del self.gone[0].durable[self.gone[1]]
        if self.to is not None:
            self.to[0].durable[self.to[1]] = self.node


class Platter:
    """A tree of files and directories that knows which part of itself is safe."""

    def __init__(self) -> None:
        self._numbers = 0
        self._orders = 0
        self.changes: list[NameChange] = []
        self.root = DirectoryNode(self._number())

    # ---- names

    def find(self, path: str) -> Node | None:
        """Give what stands at a path."""
        node: Node | None = self.root
        for part in _parts(path):
            if not isinstance(node, DirectoryNode):
                return None
            node = node.names.get(part)
        return node

    def file(self, path: str) -> FileNode:
        """Give the file at a path; ENOENT when there is none."""
        node = self.find(path)
        if not isinstance(node, FileNode):
            raise FileFailure(errno.ENOENT, f"no such file: {path}")
        return node

    def directory(self, path: str) -> DirectoryNode:
        """Give the directory at a path; ENOENT when there is none."""
        node = self.find(path)
        if not isinstance(node, DirectoryNode):
            raise FileFailure(errno.ENOENT, f"no such directory: {path}")
        return node

    def create(self, path: str) -> FileNode:
        """Give the file at a path, made empty when missing; its directory must exist."""
        directory, name = self._place(path)
        node = directory.names.get(name)
        if node is None:
            node = FileNode(self._number())
            self._change(node, None, (directory, name))
        if not isinstance(node, FileNode):
            raise FileFailure(errno.EISDIR, f"is a directory: {path}")
        return node

    def make_directory(self, path: str) -> None:
        """Make a directory and its parents."""
        here = self.root
        for part in _parts(path):
            node = here.names.get(part)
            if node is None:
                node = DirectoryNode(self._number())
                self._change(node, None, (here, part))
            if not isinstance(node, DirectoryNode):
                raise FileFailure(errno.ENOTDIR, f"not a directory: {path}")
            here = node

    def remove(self, path: str) -> None:
        """Take the name of a file or of an empty directory away; a missing one is fine."""
        node = self.find(path)
        if node is None:
            return
        if isinstance(node, DirectoryNode) and node.names:
            raise FileFailure(errno.ENOTEMPTY, f"directory not empty: {path}")
        self._change(node, self._place(path), None)

    def rename(self, path: str, new_path: str) -> None:
        """Move a file or a directory, replacing a file that is in the way."""
        node = self.find(path)
        if node is None:
            raise FileFailure(errno.ENOENT, f"no such file or directory: {path}")
        target = self.find(new_path)
        if isinstance(target, DirectoryNode) and (target.names or isinstance(node, FileNode)):
            raise FileFailure(errno.ENOTEMPTY, f"directory in the way: {new_path}")
        self._change(node, self._place(path), self._place(new_path))

    def entries(self, path: str) -> list[Entry]:
        """List a directory by name."""
        return [
            Entry(name, 0, True) if isinstance(node, DirectoryNode) else Entry(name, len(node.written), False)
            for name, node in sorted(self.directory(path).names.items())
        ]

    def below(self, path: str) -> list[Node]:
        """Give everything at and below a path."""
        found: list[Node] = [self.directory(path)]
        for node in found:
            if isinstance(node, DirectoryNode):
                found += node.names.values()
        return found

    def sync_directory(self, directory: DirectoryNode, upto_order: int) -> None:
        """Make the changes of this directory's names up to `upto_order` durable."""
        kept = []
        for change in self.changes:
            if change.directory is directory and change.order <= upto_order:
                change.apply()
            else:
                kept.append(change)
        self.changes = kept

    @property
    def change_order(self) -> int:
        """The number of the latest change of a name."""
        return self._orders

    # ---- power

    def power_loss(self, chance: Chance) -> int:
        """Become what the power cut leaves; gives the number of files that came back torn."""
        survive = chance.pick((0.0, 0.5, 0.9, 1.0))
        lost: set[int] = set()
        for change in self.changes:
            if change.node.number in lost or not chance.happens(survive):
                lost.add(change.node.number)
            else:
                change.apply()
        self.changes = []
        return _settle(self.root, chance)

    # ---- inside

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _place(self, path: str) -> Place:
        parts = _parts(path)
        if not parts:
            raise FileFailure(errno.EBUSY, "the root has no name")
        return self.directory("/".join(parts[:-1])), parts[-1]

    def _change(self, node: Node, gone: Place | None, to: Place | None) -> None:
        if gone is not None:
            del gone[0].names[gone[1]]
        if to is not None:
            to[0].names[to[1]] = node
        self._orders += 1
        self.changes.append(NameChange(self._orders, node, gone, to))


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _settle(directory: DirectoryNode, chance: Chance) -> int:
    directory.names = dict(directory.durable)
    torn = 0
    for _, node in sorted(directory.names.items()):
        torn += _settle(node, chance) if isinstance(node, DirectoryNode) else _settle_file(node, chance)
    return torn


def _settle_file(node: FileNode, chance: Chance) -> bool:
    synced, written = node.synced, bytes(node.written)
    left = synced if synced == written else _left_over(synced, written, chance)
    node.written, node.synced = bytearray(left), left
    return left not in (synced, written)


def _left_over(synced: bytes, written: bytes, chance: Chance) -> bytes:
    """Mix what was safe and what was only written: nothing of it, all, a prefix, or any sectors."""
    how = chance.pick(("synced", "written", "prefix", "sectors"))
    if how == "synced":
        return synced
    if how == "written":
        return written
    shorter, longer = sorted((len(synced), len(written)))
    if how == "prefix":
        size = chance.between(shorter, longer)
        return (written + synced[len(written) :])[:size]
    old, new = synced.ljust(longer, b"\0"), written.ljust(longer, b"\0")
    sectors = range(0, longer, SECTOR_BYTES)
    return b"".join((new if chance.happens(0.5) else old)[at : at + SECTOR_BYTES] for at in sectors)
