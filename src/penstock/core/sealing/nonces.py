"""Nonces that never repeat under one key: eight bytes of chance for whoever writes, and a counter.

Nothing is read back from the file for that: a counter that goes on from what lies there would give the same nonce again
after a cut, for other bytes.
"""

from __future__ import annotations

from typing import Final

from penstock.core.base.ports import Entropy

_CHANCE_BYTES: Final = 8
_COUNTER_BYTES: Final = 4
_COUNT_MAX: Final = (1 << 8 * _COUNTER_BYTES) - 1


class Nonces:
    """One for each opening of a file to write."""

    __slots__ = ("_begin", "_count", "_entropy")

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._begin = b""
        self._count = _COUNT_MAX

    def next(self) -> bytes:
        if self._count == _COUNT_MAX:
            self._begin, self._count = self._entropy.bytes(_CHANCE_BYTES), -1
        self._count += 1
        return self._begin + self._count.to_bytes(_COUNTER_BYTES)
