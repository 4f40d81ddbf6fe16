"""A persistent map: a new version shares all but one bucket with the old one.

The image of a large cluster changes one topic at a time. Copying a dictionary of 100,000 topics for each change would
stall the loop; copying one of 256 buckets does not, and readers of the old version keep a consistent view.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar
from zlib import crc32

BUCKETS = 256

K = TypeVar("K", str, bytes)
V = TypeVar("V")


def _bucket(key: str | bytes) -> int:
    return crc32(key.encode() if isinstance(key, str) else key) % BUCKETS


class ShardedMap(Generic[K, V]):
    """An immutable mapping; `edit` gives a copy with changes, sharing what did not change."""

    __slots__ = ("_buckets", "_size")

    def __init__(self, buckets: tuple[dict[K, V], ...] | None = None, size: int = 0) -> None:
        # All buckets of an empty map are one empty dictionary: nobody ever writes into a bucket that is in a map.
        self._buckets: tuple[dict[K, V], ...] = buckets or ({},) * BUCKETS
        self._size = size

    def get(self, key: K) -> V | None:
        return self._buckets[_bucket(key)].get(key)

    def __contains__(self, key: K) -> bool:
        return key in self._buckets[_bucket(key)]

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[K]:
        for bucket in self._buckets:
            yield from bucket

    def values(self) -> Iterator[V]:
        for bucket in self._buckets:
            yield from bucket.values()

    def items(self) -> Iterator[tuple[K, V]]:
        for bucket in self._buckets:
            yield from bucket.items()

    def edit(self, changes: dict[K, V | None]) -> ShardedMap[K, V]:
        """Give a version in which each key has its new value, or is gone where that is None."""
        buckets: list[dict[K, V]] = list(self._buckets)
        copied: set[int] = set()
        size = self._size
        for key, value in changes.items():
            index = _bucket(key)
            if index not in copied:
                buckets[index] = dict(buckets[index])
                copied.add(index)
            size -= buckets[index].pop(key, None) is not None
            if value is not None:
                buckets[index][key] = value
                size += 1
        return ShardedMap(tuple(buckets), size)
