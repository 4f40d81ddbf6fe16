"""A sealed file on a disk that is a bytearray, with what the shell does around it."""

from random import Random

from penstock.core.sealing.keys import Key, KeyRing
from penstock.core.sealing.sealed_file import SealedFile, Seals, open_file
from penstock.shell.aes_gcm import AesGcm


class Chance:
    """Entropy that a seed replays."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)


def key(name: str) -> Key:
    return Key(name, name.encode().ljust(32, b"."))


def seals(*names: str, seed: int = 1) -> Seals:
    return Seals(KeyRing(map(key, names or ("k1",))), AesGcm, Chance(seed))


class Kept:
    """One file: appended to, cut, opened again."""

    def __init__(self, given: Seals | None = None) -> None:
        self.seals = given or seals()
        self.disk = bytearray()
        self.file: SealedFile
        self.open()

    def pread(self, position: int, length: int) -> bytes:
        return bytes(self.disk[position : position + length])

    def open(self) -> None:
        file = open_file(self.pread, len(self.disk), self.seals)
        assert file is not None
        self.file = file

    def append(self, data: bytes) -> None:
        del self.disk[self.file.physical_size :]
        self.disk += b"".join(self.file.seal(data))

    def truncate(self, size: int) -> None:
        cut = self.file.cut(self.pread, size, self.seals)
        if cut is not None:
            del self.disk[cut.physical_size :]
            self.disk += b"".join(cut.tail)
            self.file = cut.file

    def read(self, position: int = 0, length: int = 1 << 40) -> bytes:
        return self.file.read(self.pread, position, length)
