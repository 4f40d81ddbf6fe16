"""Zigzag varints by whole columns: where a number stands in each of many records, and the bytes of many numbers.

The same numbers as in `core.records.varint`, which reads one at a time.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.records.errors import CorruptBatch
from penstock.core.records.varint import encode

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

BYTES_MAX_32: Final = 5
BYTES_MAX_64: Final = 10


def read_column(data: Bytes, positions: Numbers, bytes_max: int = BYTES_MAX_32) -> tuple[Numbers, Numbers]:
    """The number at each position, and the positions behind them. IndexError past the end of the data."""
    byte = data[positions]
    raw = (byte & 0x7F).astype(np.uint64)
    after = positions + 1
    longer = np.flatnonzero(byte > 0x7F)
    length = 1
    while len(longer):
        if length == bytes_max:
            raise CorruptBatch(f"a varint has more than {bytes_max} bytes")
        # Often it is all of them, as with the sizes of large records; they need not be picked out.
        chosen = slice(None) if len(longer) == len(raw) else longer
        byte = data[after[chosen]]
        if length == BYTES_MAX_64 - 1 and (byte > 1).any():
            raise CorruptBatch("a varint has more than 64 bits")
        raw[chosen] |= (byte & 0x7F).astype(np.uint64) << np.uint64(7 * length)
        after[chosen] += 1
        longer = longer[byte > 0x7F]
        length += 1
    return _zigzag(raw), after


def _zigzag(raw: NDArray[np.uint64]) -> Numbers:
    half = (raw >> np.uint64(1)).view(np.int64)
    sign = (raw & np.uint64(1)).view(np.int64)
    return half ^ -sign


def lengths(numbers: Numbers) -> Numbers:
    """How many bytes each number takes."""
    if _is_uniform(numbers):
        return np.full(len(numbers), len(encode(int(numbers[0]))), np.int64)
    raw = _raw(numbers)
    found = np.ones(len(raw), np.int64)
    limit = 1 << 7
    while (longer := raw >= np.uint64(limit)).any():
        found += longer
        if limit == 1 << 63:
            break
        limit <<= 7
    return found


def _is_uniform(numbers: Numbers) -> bool:
    """Whether all are the same, as times and the sizes of keys often are: one of them then stands for all."""
    return len(numbers) > 0 and bool((numbers == numbers[0]).all())


def _raw(numbers: Numbers) -> NDArray[np.uint64]:
    return ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)


def write_column(out: Bytes, positions: Numbers, numbers: Numbers) -> Numbers:
    """Put each number at its position; gives the positions behind them."""
    if _is_uniform(numbers):
        return _write_same(out, positions, int(numbers[0]))
    raw = _raw(numbers)
    after = positions + 1
    out[positions] = (raw & np.uint64(0x7F)).astype(np.uint8) | ((raw > np.uint64(0x7F)).astype(np.uint8) << 7)
    longer = np.flatnonzero(raw > np.uint64(0x7F))
    while len(longer):
        rest = raw[longer] >> np.uint64(7)
        raw[longer] = rest
        out[after[longer]] = (rest & np.uint64(0x7F)).astype(np.uint8) | (
            (rest > np.uint64(0x7F)).astype(np.uint8) << 7
        )
        after[longer] += 1
        longer = longer[rest > np.uint64(0x7F)]
    return after


def _write_same(out: Bytes, positions: Numbers, number: int) -> Numbers:
    after = positions
    for byte in encode(number):
        out[after] = byte
        after = after + 1
    return after
