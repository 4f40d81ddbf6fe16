"""Which partition each row goes to: Kafka's default partitioner, a column at a time.

A partition that the row names is obeyed. A key decides by its murmur2 hash, as in Java's client. Rows without either
stay on one partition for a batch's worth of bytes and then move on, which makes few large batches.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.core.base.errors import PenstockError
from penstock.spark.rows.arrays import Binary
from penstock.spark.rows.varints import Flags, Numbers

_SEED: Final = np.uint32(0x9747B28C)
_MULTIPLIER: Final = np.uint32(0x5BD1E995)
_WORD: Final = 4
_SIGN_DROPPED: Final = np.uint32(0x7FFFFFFF)


class Partitioner:
    """For one topic; remembers where rows without a key go at the moment."""

    def __init__(
        self, topic: str, count: int, batch_bytes: int, choose: Callable[[int], int] = random.randrange
    ) -> None:
        self._topic = topic
        self._count = count
        self._batch_bytes = batch_bytes
        self._choose = choose
        self._sticky = choose(count)
        self._sticky_bytes = 0

    def partitions(self, keys: Binary, named: pa.Array | None, row_bytes: Numbers) -> Numbers:
        """The partition of each row."""
        found = (murmur2(keys) & _SIGN_DROPPED).astype(np.int64) % self._count
        free = keys.missing.copy()
        if named is not None:
            is_named = named.is_valid().to_numpy(zero_copy_only=False)
            wanted = named.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
            self._check(wanted[is_named])
            found[is_named] = wanted[is_named]
            free &= ~is_named
        if free.any():
            found[free] = self._stick(row_bytes[free])
        return found

    def _check(self, wanted: Numbers) -> None:
        outside = wanted[(wanted < 0) | (wanted >= self._count)]
        if len(outside):
            raise PenstockError(
                f"a row names partition {outside[0]}, and topic {self._topic} has partitions 0 to {self._count - 1}"
            )

    def _stick(self, row_bytes: Numbers) -> Numbers:
        """A batch's worth of rows to one partition, the next to another."""
        before = np.cumsum(row_bytes) - row_bytes + self._sticky_bytes
        turns = before // self._batch_bytes
        partitions = np.array([self._sticky, *(self._choose(self._count) for _ in range(int(turns[-1])))])
        self._sticky = int(partitions[-1])
        self._sticky_bytes = int(before[-1] + row_bytes[-1] - turns[-1] * self._batch_bytes)
        chosen: Numbers = partitions[turns]
        return chosen


def murmur2(keys: Binary) -> NDArray[np.uint32]:
    """The hash of `core.records.murmur2` for many keys at once: word by word, as long as any key has one more."""
    # Words are read four bytes at a time, also the last ones of the last key.
    data = np.concatenate((keys.data, np.zeros(_WORD, np.uint8)))
    words: NDArray[np.uint32] = np.ndarray((len(data) - _WORD + 1,), "<u4", data.data, strides=(1,))
    lengths, count = keys.ends - keys.starts, (keys.ends - keys.starts) // _WORD
    hashes = _SEED ^ lengths.astype(np.uint32)
    for number in range(int(count.max(initial=0))):
        longer = _or_all(count > number)
        k = words[keys.starts[longer] + _WORD * number] * _MULTIPLIER
        k = (k ^ (k >> np.uint32(24))) * _MULTIPLIER
        hashes[longer] = (hashes[longer] * _MULTIPLIER) ^ k
    rest = lengths - _WORD * count
    tails = _or_all(rest > 0)
    kept = (np.uint32(1) << (8 * rest[tails]).astype(np.uint32)) - np.uint32(1)
    hashes[tails] = (hashes[tails] ^ (words[keys.starts[tails] + _WORD * count[tails]] & kept)) * _MULTIPLIER
    hashes = (hashes ^ (hashes >> np.uint32(13))) * _MULTIPLIER
    return hashes ^ (hashes >> np.uint32(15))


def _or_all(chosen: Flags) -> Flags | slice:
    """A slice where everything is chosen, which numpy need not copy twice."""
    return slice(None) if chosen.all() else chosen
