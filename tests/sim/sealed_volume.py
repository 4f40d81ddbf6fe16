"""The simulator's disks with files that are sealed, as the shell's are: everybody above believes in plain ones."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.base import ports
from penstock.core.base.ports import File
from penstock.core.sealing.frames import HEAD_BYTES, OVERHEAD_BYTES, PAGE_BYTES
from penstock.core.sealing.names import holds_records
from penstock.core.sealing.sealed_file import SealedFile, Seals, open_file
from penstock.sim.chance import Chance
from penstock.sim.platter import FileNode
from penstock.sim.volume import Volume
from tests.sealing.kept import seals


class SealedVolume(Volume):
    """What is known of a file is the process's: a crash takes it away."""

    def __init__(self, chance: Chance, note: Callable[[str, str], None]) -> None:
        super().__init__(chance, note)
        self._seals: Seals = seals()._replace(entropy=chance.fork("seals"))
        self._sealable: dict[int, bool] = {}
        self._known: dict[int, SealedFile | None] = {}
        self.tears = 0

    def node(self, file: File, create: bool = False) -> FileNode:
        node = super().node(file, create)
        self._sealable.setdefault(node.number, holds_records(file.path))
        return node

    def create(self, path: str) -> FileNode:
        node = super().create(path)
        self._sealable.setdefault(node.number, holds_records(path))
        return node

    def close_all(self) -> None:
        super().close_all()
        self._known.clear()

    def takes(self, file: File, size: int) -> bool:
        # With all that a sealed append needs beside its bytes, a padded page included.
        return super().takes(file, size + HEAD_BYTES + OVERHEAD_BYTES * (size // (PAGE_BYTES // 2) + 3))

    def read(self, file: File, position: int, length: int) -> bytes:
        return self._read(self.node(file), position, length)

    def read_at(self, path: str, position: int, length: int) -> bytes:
        return self._read(self._at(path), position, length)

    def size_at(self, path: str) -> int:
        return self._size_of(self._at(path))

    def entries(self, path: str) -> list[ports.Entry]:
        return [
            each if each.is_dir else ports.Entry(each.name, self.size_at(f"{path}/{each.name}"), is_dir=False)
            for each in super().entries(path)
        ]

    def write(self, node: FileNode, data: bytes) -> None:
        sealed = self._sealed(node)
        if sealed is None:
            super().write(node, data)
            return
        self._need_writable()
        del node.written[sealed.physical_size :]
        try:
            super().write(node, b"".join(sealed.seal(data)))
        except BaseException:
            del self._known[node.number]
            raise

    def tear(self, path: str, part: bytes) -> None:
        """Anywhere, also within a frame."""
        node = self.platter.create(path)
        self._sealable.setdefault(node.number, holds_records(path))
        before = len(node.written)
        self.write(node, part)
        del node.written[self._chance.between(min(before, len(node.written)), len(node.written)) :]
        self._known.pop(node.number, None)
        self.tears += 1

    def _size(self, file: File) -> int | None:
        node = self.platter.find(file.path)
        return self._size_of(self._at(file.path)) if isinstance(node, FileNode) else None

    def _truncate(self, file: File, size: int) -> None:
        node = self._at(file.path)
        sealed = self._sealed(node)
        if sealed is None:
            super()._truncate(file, size)
            self._known.pop(node.number, None)
            return
        cut = sealed.cut(_pread(node), size, self._seals)
        if cut is not None:
            self._take(cut.physical_size - len(node.written))
            del node.written[cut.physical_size :]
            node.written += b"".join(cut.tail)
            self._known[node.number] = cut.file

    def _at(self, path: str) -> FileNode:
        node = self.platter.file(path)
        self._sealable.setdefault(node.number, holds_records(path))
        return node

    def _read(self, node: FileNode, position: int, length: int) -> bytes:
        sealed = self._sealed(node)
        if sealed is None:
            return bytes(node.written[position : position + length])
        return sealed.read(_pread(node), position, length)

    def _size_of(self, node: FileNode) -> int:
        sealed = self._sealed(node)
        return len(node.written) if sealed is None else sealed.end

    def _sealed(self, node: FileNode) -> SealedFile | None:
        if not self._sealable.get(node.number, False):
            return None
        if node.number not in self._known:
            self._known[node.number] = open_file(_pread(node), len(node.written), self._seals)
        return self._known[node.number]


def _pread(node: FileNode) -> Callable[[int, int], bytes]:
    return lambda position, length: bytes(node.written[position : position + length])
