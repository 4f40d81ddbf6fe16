"""What lies on the disk: a head, then frames, in pages of 64 KiB that no frame crosses.

    file   = head frame*                        page = frame* padding
    head   = magic 8 | key id 20 | salt 16 | check 16 | crc 4
    frame  = position and length 8 | nonce 12 | crc 4 | ciphertext | tag 16

An append is one frame, or several where it does not fit into its page; less room than a frame needs is padding. A frame
says at which position of the plain file it begins, so the page of any position is found by looking at the heads of a
few pages, and whoever comes upon damage goes on with the next page. The tag covers position and length; the checksum
only says, without a key, whether a frame's head is one.

A frame without bytes is a cut: what an earlier frame says of its position, or of what follows, no longer counts.
"""

from __future__ import annotations

import hmac
from struct import Struct
from typing import Final, NamedTuple, Protocol

from penstock.core.base.crc32c import crc32c
from penstock.core.base.ports import Buffer
from penstock.core.sealing.keys import ID_BYTES_MAX, Key

MAGIC: Final = b"PENSEAL1"
PAGE_BYTES: Final = 1 << 16
SALT_BYTES: Final = 16
TAG_BYTES: Final = 16
_CHECK_BYTES: Final = 16
_HEAD: Final = Struct(f">8s{ID_BYTES_MAX}s{SALT_BYTES}s{_CHECK_BYTES}sI")
HEAD_BYTES: Final = _HEAD.size
_HEAD_CRC_AT: Final = HEAD_BYTES - 4
_CHECKED_BYTES: Final = _HEAD_CRC_AT - _CHECK_BYTES

_WORDS: Final = Struct(">Q12s")
_CRC: Final = Struct(">I")
_FRAME: Final = Struct(">Q12sI")
_LENGTH_BITS: Final = 16
_LENGTH_MASK: Final = (1 << _LENGTH_BITS) - 1
_BOUND_BYTES: Final = 8
"""Position and length: what a tag covers beside the bytes."""
FRAME_HEAD_BYTES: Final = _FRAME.size
OVERHEAD_BYTES: Final = FRAME_HEAD_BYTES + TAG_BYTES


class Aead(Protocol):
    """AES-GCM under the key of one file."""

    def seal(self, nonce: bytes, data: Buffer, bound: Buffer, /) -> bytes: ...
    def open(self, nonce: bytes, data: Buffer, bound: Buffer, /) -> bytes | None:
        """None where the tag is wrong."""
        ...


class Head(NamedTuple):
    """Under which key a file is sealed. `is_whole`: its checksum is right."""

    key_id: str
    salt: bytes
    is_whole: bool
    checked: bytes
    check: bytes

    def is_of(self, secret: bytes) -> bool:
        """Whether the file was encrypted under this file's key, and not under another of the same name."""
        return hmac.compare_digest(_check(secret, self.checked), self.check)


def encode_head(key: Key, salt: bytes, secret: bytes) -> bytes:
    checked = MAGIC + key.id.encode().ljust(ID_BYTES_MAX, b"\0") + salt
    data = checked + _check(secret, checked)
    return data + _CRC.pack(crc32c(data))


def decode_head(data: Buffer) -> Head:
    """Of a file that begins with the magic bytes."""
    _, key_id, salt, check, crc = _HEAD.unpack_from(data)
    whole = bytes(data[:_HEAD_CRC_AT])
    name = key_id.rstrip(b"\0").decode("ascii", "replace")
    return Head(name, salt, crc32c(whole) == crc, whole[:_CHECKED_BYTES], check)


def _check(secret: bytes, checked: bytes) -> bytes:
    return hmac.digest(secret, checked, "sha256")[:_CHECK_BYTES]


def encode_frame(aead: Aead, position: int, data: Buffer, nonce: bytes) -> tuple[bytes, bytes]:
    """Its head, and what follows it."""
    words = _WORDS.pack(position << _LENGTH_BITS | len(data), nonce)
    return words + _CRC.pack(crc32c(words)), aead.seal(nonce, data, words[:_BOUND_BYTES])


class Frame(NamedTuple):
    """Where in the bytes that were looked at a frame begins, and which ones of the plain file it holds."""

    at: int
    position: int
    length: int

    @property
    def end(self) -> int:
        return self.position + self.length

    @property
    def stop(self) -> int:
        return self.at + OVERHEAD_BYTES + self.length


def open_frame(aead: Aead, page: Buffer, frame: Frame) -> bytes | None:
    """The plain bytes; None where they are not what was sealed."""
    view = memoryview(page)[frame.at : frame.stop]
    nonce = bytes(view[_BOUND_BYTES : _WORDS.size])
    return aead.open(nonce, view[FRAME_HEAD_BYTES:], view[:_BOUND_BYTES])


class Walked(NamedTuple):
    """The frames of a page; where the first byte is that belongs to none, and whether that is damage: neither padding,
    nor the begin of a frame that was never written to its end."""

    frames: list[Frame]
    stop: int
    is_damaged: bool


def first_at(page_number: int) -> int:
    """Where in a page its first frame begins."""
    return HEAD_BYTES if page_number == 0 else 0


def walk(page: Buffer, skipped: int) -> Walked:
    """Go from head to head through a page, or through as much of it as there is. A frame begins with the first byte
    given, which stands behind so many others of the page."""
    frames: list[Frame] = []
    at, size, last, page_bytes = 0, len(page), 0, PAGE_BYTES - skipped
    view = memoryview(page)
    while at + FRAME_HEAD_BYTES <= size and page_bytes - at > OVERHEAD_BYTES:
        frame = frame_at(view, at)
        if frame is None or frame.position < last:
            return Walked(frames, at, is_damaged=True)
        end = at + OVERHEAD_BYTES + frame.length
        if end > page_bytes:
            return Walked(frames, at, is_damaged=True)
        if end > size:
            break
        frames.append(frame)
        at, last = end, frame.position
    return Walked(frames, at, is_damaged=False)


def frame_at(data: memoryview, at: int) -> Frame | None:
    """The frame that begins here; None where none does."""
    word, _, crc = _FRAME.unpack_from(data, at)
    if crc32c(data[at : at + _WORDS.size]) != crc:
        return None
    return Frame(at, word >> _LENGTH_BITS, word & _LENGTH_MASK)
