"""Values: each names its producer and its number, so that no two are alike, and its key where it has one.

A tombstone has no value; it carries its name in a header instead, and ends in `~` wherever it is spoken of.
"""

from __future__ import annotations

from typing import Final

from penstock.sim.chance import Chance

PADDING_BYTES_MAX: Final = 2_000
TOMBSTONES: Final = 0.1
KEY_END: Final = b"|"
TOMBSTONE_END: Final = b"~"


def make_value(producer: str, number: int, chance: Chance, keys: int = 0) -> bytes:
    """A value that is mostly short and sometimes spans several sectors; of one of `keys` keys, or of none."""
    name = f"{producer}#{number}:".encode()
    padding = chance.bytes(chance.skewed(0, PADDING_BYTES_MAX)).hex().encode()
    if not keys:
        return name + padding
    key = f"key-{chance.between(1, keys)}".encode()
    return key + KEY_END + name + (TOMBSTONE_END if chance.happens(TOMBSTONES) else padding)


def key_of(value: bytes) -> bytes | None:
    """The key of a value; None where it has none."""
    key, separator, _ = value.partition(KEY_END)
    return key if separator else None


def is_tombstone(value: bytes) -> bool:
    """Whether this value stands for a deletion of its key."""
    return value.endswith(TOMBSTONE_END)
