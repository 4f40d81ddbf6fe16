"""A sealed file that looks like a plain one: positions and sizes are those of the plain bytes.

What is damaged reads as zeros, and the file keeps its length: whoever reads a log compares checksums anyway, and
decides by them what a crash can have torn and what it cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from penstock.core.base.errors import PenstockError
from penstock.core.base.ports import Buffer, Entropy
from penstock.core.sealing import finding
from penstock.core.sealing.finding import Pread, room_at
from penstock.core.sealing.frames import (
    HEAD_BYTES,
    MAGIC,
    OVERHEAD_BYTES,
    PAGE_BYTES,
    SALT_BYTES,
    Aead,
    Frame,
    decode_head,
    encode_frame,
    encode_head,
    open_frame,
)
from penstock.core.sealing.keys import Key, KeyFault, KeyRing, file_secret
from penstock.core.sealing.nonces import Nonces

PLACES_MAX: Final = 16


class Seals(NamedTuple):
    """What it takes to seal and to open."""

    ring: KeyRing
    cipher: Callable[[bytes], Aead]
    entropy: Entropy


class Cut(NamedTuple):
    """How a sealed file becomes shorter: it is cut on the disk, and then something is appended, or nothing."""

    physical_size: int
    tail: list[Buffer]
    file: SealedFile


class HeadDamaged(PenstockError):
    """Nothing can be added to such a file: the salt of its key is lost."""

    def __init__(self) -> None:
        super().__init__("the head of this sealed file is damaged")


class SealedFile:
    """What is known of one open file; a few numbers, however large it is."""

    __slots__ = ("_aead", "_head", "_is_damaged", "_nonces", "_places", "end", "physical_end")

    def __init__(self, aead: Aead | None, head: bytes, extent: finding.Extent, nonces: Nonces) -> None:
        self._aead = aead
        self._head = head
        self._nonces = nonces
        self._is_damaged = extent.is_damaged
        self._places: dict[int, int] = {}
        self.end = extent.end
        self.physical_end = extent.physical_end
        """Where the next frame begins."""

    @property
    def physical_size(self) -> int:
        """How long the file is on the disk if nothing is torn. What is behind it goes before the next append."""
        return 0 if self._head else self.physical_end

    @property
    def frame_bytes(self) -> int:
        """How much of the plain file a frame holds, on the average: what it costs to open them goes by their number."""
        frames = max((self.physical_end - HEAD_BYTES - self.end) // OVERHEAD_BYTES, 1)
        return max(self.end // frames, 1)

    def seal(self, data: Buffer) -> list[Buffer]:
        """What an append of these bytes writes. If that fails, this value is of no more use."""
        if self._aead is None:
            raise HeadDamaged
        parts: list[Buffer] = []
        if self._head:
            parts.append(self._head)
            self._head = b""
        rest = memoryview(data)
        while rest:
            room = self._make_room(parts)
            self._frame(parts, rest[: room - OVERHEAD_BYTES])
            rest = rest[room - OVERHEAD_BYTES :]
        return parts

    def read(self, pread: Pread, position: int, length: int) -> bytes:
        """Bytes of the plain file, fewer where it ends."""
        end = min(position + length, self.end)
        if end <= position:
            return b""
        found: list[Buffer] = []
        size = 0
        for page, begin, frame in self._frames_from(pread, position):
            if frame.position >= end:
                break
            if size != max(frame.position - position, 0):
                found, size = _go_on_at(found, max(frame.position - position, 0))
            if frame.end > position:
                data = memoryview(self._open(page, frame))[max(position - frame.position, 0) : end - frame.position]
                found.append(data)
                size += len(data)
            if frame.end == end:
                self._remember(end, begin + frame.stop)
        if size != end - position:
            found, size = _go_on_at(found, end - position)
        return b"".join(found)

    def cut(self, pread: Pread, size: int, seals: Seals) -> Cut | None:
        """Make the plain file end earlier; None if it does. What of a frame is to stay is not sealed again: that would
        be gone for a moment, or half of it after a loss of power. A frame without bytes says where it ends."""
        if size >= self.end:
            return None
        if size == 0:
            return Cut(0, [], new_file(seals))
        if self._aead is None:
            raise HeadDamaged
        physical_size = self._cut_at(pread, size)
        extent = finding.extent_of(pread, physical_size)
        file = SealedFile(self._aead, b"", extent, Nonces(seals.entropy))
        tail = file._end_at(size) if extent.end != size or extent.is_damaged else []
        return Cut(extent.physical_end, tail, file)

    # ---- writing

    def _make_room(self, parts: list[Buffer]) -> int:
        """So that a frame has a place: how much the page has left, or the next one."""
        room = room_at(self.physical_end)
        if room > OVERHEAD_BYTES and not self._is_damaged:
            return room
        if room < PAGE_BYTES:
            parts.append(bytes(room))
            self.physical_end += room
        self._is_damaged = False
        return PAGE_BYTES

    def _frame(self, parts: list[Buffer], data: memoryview) -> None:
        assert self._aead is not None
        parts += encode_frame(self._aead, self.end, data, self._nonces.next())
        self.end += len(data)
        self.physical_end += OVERHEAD_BYTES + len(data)

    def _end_at(self, size: int) -> list[Buffer]:
        parts: list[Buffer] = []
        self._make_room(parts)
        self.end = size
        self._frame(parts, memoryview(b""))
        return parts

    def _cut_at(self, pread: Pread, size: int) -> int:
        """How long the file must stay on the disk, at least, to hold so much of the plain one."""
        begin = finding.begin_of(self._page_of(pread, size))
        _, walked = finding.walk_from(pread, begin, self.physical_end)
        return begin + next((frame.at for frame in walked.frames if frame.position >= size), walked.stop)

    # ---- reading

    def _page_of(self, pread: Pread, position: int) -> int:
        return finding.page_of(pread, position, self.end, self.physical_end)

    def _frames_from(self, pread: Pread, position: int) -> Iterator[tuple[Buffer, int, Frame]]:
        """Pages, where they begin, and their frames, from the one on in which a position is."""
        if self._aead is None:
            return
        begin = self._places.get(position)
        if begin is None:
            begin = finding.begin_of(self._page_of(pread, position))
        while begin < self.physical_end:
            page, walked = finding.walk_from(pread, begin, self.physical_end)
            for frame in walked.frames:
                yield page, begin, frame
            begin = finding.begin_of(begin // PAGE_BYTES + 1)

    def _remember(self, position: int, place: int) -> None:
        """Who has read up to here mostly goes on from here: consumers, and followers at the end of a log."""
        if len(self._places) >= PLACES_MAX:
            self._places.clear()
        self._places[position] = place

    def _open(self, page: Buffer, frame: Frame) -> bytes:
        assert self._aead is not None
        data = open_frame(self._aead, page, frame)
        return bytes(frame.length) if data is None else data


def _go_on_at(found: list[Buffer], at: int) -> tuple[list[Buffer], int]:
    """Behind a cut what was there before no longer counts; what is missing is damage."""
    return [b"".join(found)[:at].ljust(at, b"\0")], at


def open_file(pread: Pread, size: int, seals: Seals) -> SealedFile | None:
    """A file as it is found, of so many bytes on the disk; None for one that is not sealed, and stays so. Raises
    KeyFault where its key is missing or another one."""
    magic = bytes(pread(0, min(size, len(MAGIC))))
    if magic != MAGIC[: len(magic)]:
        return None
    if size < HEAD_BYTES:
        # Not even its head was written: nothing of it.
        return new_file(seals)
    head = decode_head(pread(0, HEAD_BYTES))
    if not head.is_whole:
        return SealedFile(None, b"", finding.Extent(size - HEAD_BYTES, size, is_damaged=True), Nonces(seals.entropy))
    secret = file_secret(key_of(seals.ring, head.key_id), head.salt)
    if not head.is_of(secret):
        raise KeyFault(f"it is encrypted under another key {head.key_id} than the one given")
    return SealedFile(seals.cipher(secret), b"", finding.extent_of(pread, size), Nonces(seals.entropy))


def new_file(seals: Seals) -> SealedFile:
    """An empty one, under the newest key."""
    key, salt = seals.ring.newest, seals.entropy.bytes(SALT_BYTES)
    secret = file_secret(key, salt)
    extent = finding.Extent(0, HEAD_BYTES, is_damaged=False)
    return SealedFile(seals.cipher(secret), encode_head(key, salt, secret), extent, Nonces(seals.entropy))


def key_of(ring: KeyRing, key_id: str) -> Key:
    key = ring.find(key_id)
    if key is None:
        raise KeyFault(f"it is encrypted under the key {key_id}, which is not given")
    return key
