"""Which dead letters have gone back into their topics: a fold over the records of `_penstock_redrives`.

A record says of some letters of one partition that they are back, and is written in the transaction that brings them
back. So a letter is on record if and only if it is back, wherever a redrive was ended, and each goes back once. The
topic is compacted: a record stays until its letters are purged.
"""

from __future__ import annotations

import json
from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

TOPIC: Final = "_penstock_redrives"

Range = tuple[int, int]
"""The first offset, and the one behind the last."""


class Where(NamedTuple):
    """A partition of a topic of dead letters, by its id: a topic of the same name that comes later is another one."""

    topic: str
    topic_id: str
    partition: int


class Entry(NamedTuple):
    """A record, by the first offset that it is about."""

    where: Where
    first: int

    def encode(self) -> bytes:
        topic, topic_id, partition = self.where
        return json.dumps({"topic": topic, "id": topic_id, "partition": partition, "first": self.first}).encode()


def encode_offsets(offsets: Iterable[int]) -> bytes:
    """The value of a record about these letters, in the order of their offsets."""
    return json.dumps({"redriven": ranges_of(offsets)}).encode()


def ranges_of(offsets: Iterable[int]) -> list[Range]:
    ranges: list[Range] = []
    for offset in offsets:
        if ranges and ranges[-1][1] == offset:
            ranges[-1] = (ranges[-1][0], offset + 1)
        else:
            ranges.append((offset, offset + 1))
    return ranges


class Redriven:
    """What the topic says. Ranges of different records never overlap: a letter goes back once."""

    def __init__(self) -> None:
        self._entries: dict[Entry, list[Range]] = {}
        self._ranges: defaultdict[Where, list[Range]] = defaultdict(list)

    def replay(self, key: bytes | None, value: bytes | None) -> None:
        """Take in one record; what is not ours, or of a later format, is left alone."""
        entry = _decode_key(key)
        if entry is None:
            return
        for gone in self._entries.pop(entry, ()):
            self._ranges[entry.where].remove(gone)
        ranges = _decode_ranges(value)
        if ranges:
            self._entries[entry] = ranges
            for each in ranges:
                insort(self._ranges[entry.where], each)

    def has(self, where: Where, offset: int) -> bool:
        ranges = self._ranges.get(where, [])
        at = bisect_right(ranges, (offset, _BEHIND_ALL)) - 1
        return at >= 0 and offset < ranges[at][1]

    def below(self, where: Where, offset: int) -> list[Entry]:
        """The records that are only about letters below an offset."""
        return [entry for entry, ranges in self._entries.items() if entry.where == where and ranges[-1][1] <= offset]


_BEHIND_ALL: Final = 1 << 63


def _decode_key(key: bytes | None) -> Entry | None:
    try:
        known = json.loads(key or b"")
        return Entry(Where(str(known["topic"]), str(known["id"]), int(known["partition"])), int(known["first"]))
    except (ValueError, KeyError, TypeError):
        return None


def _decode_ranges(value: bytes | None) -> list[Range]:
    try:
        return [(int(first), int(end)) for first, end in json.loads(value or b"{}").get("redriven", ())]
    except (ValueError, TypeError, AttributeError):
        return []
