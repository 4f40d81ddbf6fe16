"""The values of a chain: each names what it was made from in the first topic, and the transaction that wrote it."""

from __future__ import annotations

from typing import Final

from penstock.sim.chance import Chance

PADDING_BYTES_MAX: Final = 500


def make_value(root: str, label: str, chance: Chance) -> bytes:
    padding = chance.bytes(chance.skewed(0, PADDING_BYTES_MAX)).hex()
    return f"{root}@{label}:{padding}".encode()


def root_of(value: bytes) -> str:
    return value.partition(b"@")[0].decode()


def label_of(value: bytes) -> str:
    return value.partition(b"@")[2].partition(b":")[0].decode()
