"""The five codecs of a batch body, each bounded: a body says how small it is, never how large it may become.

What clients send differs from what the codec's name suggests: snappy comes raw (librdkafka) or in the chunks of
Java's library, lz4 comes with linked or independent blocks, gzip and zstd as one member or several. All are read.
What is written is what Kafka's own broker would write, so that every client reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from struct import Struct
from typing import Final

import cramjam

from penstock.core.base.ports import Buffer
from penstock.core.records.errors import BodyTooLarge, CorruptBatch

DECOMPRESSED_BYTES_MAX: Final = 128 * 1024 * 1024

_FIRST_GUESS_BYTES: Final = 16 * 1024
_GUESS_RATIO: Final = 4
_GZIP_USUAL: Final = 6
_LZ4_FAST: Final = 1
_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + Struct(">ii").pack(1, 1)
_XERIAL_CHUNK_BYTES: Final = 32 * 1024
_chunk_length = Struct(">I")
# What the Rust library says when the output has no room left; anything else means that the input is broken.
_NO_ROOM: Final = "failed to write whole buffer"


class Codec(IntEnum):
    """Codec ids as stored in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


# Into how many bytes one byte can unpack, at most: a deflate match of 258 bytes takes two bits, a snappy copy of 64
# bytes three bytes, another 255 bytes of an lz4 match one byte, and a zstd block of one repeated byte four bytes.
RATIO_MAX: Final[Mapping[int, int]] = {
    Codec.NONE: 1,
    Codec.GZIP: 1032,
    Codec.SNAPPY: 22,
    Codec.LZ4: 256,
    Codec.ZSTD: 1 << 15,
}

# Kafka's level range and default per codec (`compression.<codec>.level`); the others have no level.
LEVELS: Final = {Codec.GZIP: (1, 9, -1), Codec.LZ4: (1, 17, 9), Codec.ZSTD: (-131072, 22, 3)}


def compress(codec: int, body: Buffer, level: int | None = None) -> Buffer:
    """The body under a codec; without a level, at Kafka's default. Without a codec it is the very body."""
    if codec == Codec.NONE:
        return body
    chosen = Codec(codec)
    default = LEVELS[chosen][2] if chosen in LEVELS else 0
    return _COMPRESS[chosen](body, default if level is None else level)


def decompress(codec: int, packed: Buffer, decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX) -> bytes:
    """The body as it was, or `CorruptBatch`; `BodyTooLarge` past the bound, never having held much more than it."""
    unpack = _DECOMPRESS.get(codec)
    if unpack is None:
        raise CorruptBatch(f"unknown codec {codec}")
    try:
        return unpack(packed, decompressed_bytes_max)
    except cramjam.DecompressionError as failure:
        raise CorruptBatch(f"the body is not {Codec(codec).name.lower()}: {failure}") from None


def _too_large(decompressed_bytes_max: int) -> BodyTooLarge:
    return BodyTooLarge(f"the body unpacks to more than {decompressed_bytes_max} bytes")


def _keep(packed: Buffer, bytes_max: int) -> bytes:
    if len(packed) > bytes_max:
        raise _too_large(bytes_max)
    return bytes(packed)


def _gzip(body: Buffer, level: int) -> bytes:
    return bytes(cramjam.gzip.compress(bytes(body), level=_GZIP_USUAL if level == LEVELS[Codec.GZIP][2] else level))


def _snappy(body: Buffer, _level: int) -> bytes:
    """Java's framing: a header, then chunks that carry their length."""
    view = memoryview(body)
    parts = [_XERIAL_HEADER]
    for start in range(0, len(view), _XERIAL_CHUNK_BYTES):
        chunk = bytes(cramjam.snappy.compress_raw(view[start : start + _XERIAL_CHUNK_BYTES]))
        parts += (_chunk_length.pack(len(chunk)), chunk)
    return b"".join(parts)


def _unsnappy(packed: Buffer, bytes_max: int) -> bytes:
    """A block begins with its unpacked size, so a bomb is refused before any of it is unpacked."""
    view = memoryview(packed)
    if sum(map(cramjam.snappy.decompress_raw_len, _snappy_blocks(view))) > bytes_max:
        raise _too_large(bytes_max)
    return b"".join(bytes(cramjam.snappy.decompress_raw(block)) for block in _snappy_blocks(view))


def _snappy_blocks(view: memoryview) -> Iterator[memoryview]:
    if bytes(view[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        yield view
        return
    position = len(_XERIAL_HEADER)
    while position < len(view):
        start = position + _chunk_length.size
        if start > len(view):
            raise CorruptBatch("a snappy chunk has no length")
        position = start + _chunk_length.unpack_from(view, position)[0]
        if position > len(view):
            raise CorruptBatch("a snappy chunk ends too early")
        yield view[start:position]


def _lz4(body: Buffer, level: int) -> bytes:
    """Independent blocks, because Java reads no others. Kafka's default level means its fast compressor."""
    packer = cramjam.lz4.Compressor(
        level=_LZ4_FAST if level == LEVELS[Codec.LZ4][2] else level, content_checksum=False, block_linked=False
    )
    packer.compress(bytes(body))
    return bytes(packer.finish())


def _zstd(body: Buffer, level: int) -> bytes:
    return bytes(cramjam.zstd.compress(bytes(body), level=level))


def _unpack_growing(into: Callable[[Buffer, bytearray], int], packed: Buffer, bytes_max: int) -> bytes:
    """These formats need not say how large they are: try with more room until it suffices or the bound is met."""
    room = min(bytes_max, max(_FIRST_GUESS_BYTES, _GUESS_RATIO * len(packed)))
    while True:
        out = bytearray(room)
        try:
            return bytes(memoryview(out)[: into(packed, out)])
        except cramjam.DecompressionError as failure:
            # Whoever keeps the error keeps this frame.
            del out
            if str(failure) != _NO_ROOM:
                raise
        if room == bytes_max:
            raise _too_large(bytes_max)
        room = min(bytes_max, _GUESS_RATIO * room)


def _gunzip(packed: Buffer, bytes_max: int) -> bytes:
    return _unpack_growing(cramjam.gzip.decompress_into, packed, bytes_max)


def _unlz4(packed: Buffer, bytes_max: int) -> bytes:
    return _unpack_growing(cramjam.lz4.decompress_into, packed, bytes_max)


def _unzstd(packed: Buffer, bytes_max: int) -> bytes:
    return _unpack_growing(cramjam.zstd.decompress_into, packed, bytes_max)


_COMPRESS: Final = {Codec.GZIP: _gzip, Codec.SNAPPY: _snappy, Codec.LZ4: _lz4, Codec.ZSTD: _zstd}
_DECOMPRESS: Final[dict[int, Callable[[Buffer, int], bytes]]] = {
    Codec.NONE: _keep,
    Codec.GZIP: _gunzip,
    Codec.SNAPPY: _unsnappy,
    Codec.LZ4: _unlz4,
    Codec.ZSTD: _unzstd,
}
