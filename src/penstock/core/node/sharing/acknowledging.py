"""Acknowledgements, which come by themselves or with a fetch: whether they make sense, and what becomes of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, Protocol

from penstock.core.base.errors import ErrorCode
from penstock.core.node.sharing.share_sessions import Place
from penstock.core.sharing.asked import Acknowledgement
from penstock.core.sharing.states import REJECT, RENEW

RENEWS_SINCE: Final = 2
"""The version of both APIs that knows how to prolong a lock (KIP-1222)."""

Codes = dict[Place, ErrorCode]


class Batch(Protocol):
    """What both APIs say of offsets."""

    @property
    def first_offset(self) -> int: ...

    @property
    def last_offset(self) -> int: ...

    @property
    def acknowledge_types(self) -> Sequence[int]: ...


class Partition(Protocol):
    """What both APIs say of a partition."""

    @property
    def partition_index(self) -> int: ...

    @property
    def acknowledgement_batches(self) -> Sequence[Batch]: ...


class Topic(Protocol):
    """And of a topic."""

    @property
    def topic_id(self) -> bytes: ...

    @property
    def partitions(self) -> Iterable[Partition]: ...


def said_in(topics: Iterable[Topic]) -> dict[Place, list[Acknowledgement]]:
    """What a request says, by partition."""
    return {
        Place(topic.topic_id, each.partition_index): [
            Acknowledgement(batch.first_offset, batch.last_offset, batch.acknowledge_types)
            for batch in each.acknowledgement_batches
        ]
        for topic in topics
        for each in topic.partitions
    }


def makes_sense(said: Iterable[Acknowledgement], *, knows_renew: bool, renews: bool) -> bool:
    """Batches in order, with one type or one for each offset, and types that the version has."""
    before = -1
    highest = RENEW if knows_renew else REJECT
    for first, last, types in said:
        if first > last or first < before or not types or (len(types) > 1 and len(types) != last - first + 1):
            return False
        if min(types) < 0 or max(types) > highest or (RENEW in types and not renews):
            return False
        before = last
    return True


class Gathering:
    """Waits until each of several partitions has its code."""

    __slots__ = ("_left", "_then", "codes")

    def __init__(self, places: Iterable[Place], then: Callable[[Codes], None]) -> None:
        self._left = set(places)
        self._then = then
        self.codes: Codes = {}

    def of(self, place: Place) -> Callable[[ErrorCode], None]:
        return partial(self._heard, place)

    def _heard(self, place: Place, code: ErrorCode) -> None:
        self.codes[place] = code
        self._left.discard(place)
        if not self._left:
            self._then(self.codes)
