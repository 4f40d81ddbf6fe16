"""Java's default partitioner: murmur2 of the key, so that every client puts a key into the same partition."""

from __future__ import annotations

from struct import unpack_from
from typing import Final

_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


def murmur2(key: bytes) -> int:
    """The 32-bit hash, unsigned (Java prints the same bits as a signed number)."""
    length = len(key)
    words = length >> 2
    h = _SEED ^ length
    for k in unpack_from(f"<{words}I", key):
        k = k * _MULTIPLIER & _MASK
        k = (k ^ k >> 24) * _MULTIPLIER & _MASK
        h = (h * _MULTIPLIER & _MASK) ^ k
    tail = key[words << 2 :]
    if tail:
        h = (h ^ int.from_bytes(tail, "little")) * _MULTIPLIER & _MASK
    h = (h ^ h >> 13) * _MULTIPLIER & _MASK
    return h ^ h >> 15


def partition_for(key: bytes, partition_count: int) -> int:
    """The partition of a keyed record; the sign bit is dropped, as Java does."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count
