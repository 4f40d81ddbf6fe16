"""Chance: every die of a run, grown from one seed.

Each part of the world rolls its own dice, forked by name, so that a change in one part does not reshuffle all the
others and a shrunk scenario stays close to the one that failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """A named stream of dice; also the `Entropy` that a node is given."""

    __slots__ = ("_random", "name")

    def __init__(self, seed: int | str) -> None:
        self.name = str(seed)
        self._random = Random(self.name)  # A string seed goes through SHA-512, never through hash().

    def fork(self, name: str) -> Chance:
        """Give an independent stream; the same name gives the same stream."""
        return Chance(f"{self.name}/{name}")

    def happens(self, probability: float) -> bool:
        """Toss a coin that falls on its good side this often."""
        return self._random.random() < probability

    def between(self, low: int, high: int) -> int:
        """Give a whole number, both ends included."""
        return low + self._below(high - low + 1)

    def skewed(self, low: int, high: int) -> int:
        """Give a number that is mostly near `low` and rarely near `high`, as delays are."""
        return low + int((high - low) * self._random.random() ** 4)

    def pick(self, options: Sequence[T]) -> T:
        """Give one of the options."""
        return options[self._below(len(options))]

    def bytes(self, count: int) -> bytes:
        """Give random bytes."""
        return self._random.randbytes(count)

    def _below(self, count: int) -> int:
        """What `randrange` gives, without its checks: dice are rolled for every chunk that travels."""
        assert count > 0, "nothing to choose from"
        bits, roll = count.bit_length(), self._random.getrandbits
        while (number := roll(bits)) >= count:
            pass
        return number
