"""What clients are told of brokers that go, a little sooner and a little later than the image has it.

A process that dies closes its connections, to other brokers and to clients, at the same moment. A client then asks who
leads instead, sooner than anybody can decide that; told of the dead leader once more, it would come back much later
than if it is told that there is no leader now.

And a broker that is fenced is named for some time. librdkafka, told at once that a partition has another leader and
that the last one is no longer there, forgets the new one together with the old one, and asks again a second later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from penstock.core.metadata.brokers import BrokerImage
from penstock.core.metadata.image import Image
from penstock.core.node.links.link import Address

ABSENT_MS_MAX: Final = 2_000
"""After this time the controller has decided, or the suspicion was wrong."""
LINGERING_MS: Final = 30_000
"""Longer than clients take to learn of new leaders, if they do not wait for nodes that hang much longer than that."""
NOBODY: Final[frozenset[int]] = frozenset()


class _Absence(NamedTuple):
    epoch: int
    until_ms: int


class Absences:
    """Suspicions, by the id of a broker, each of one of its lives."""

    def __init__(self, image: Callable[[], Image], steady_ms: Callable[[], int]) -> None:
        self._image = image
        self._steady_ms = steady_ms
        self._absent: dict[int, _Absence] = {}
        self._brokers: Mapping[int, BrokerImage] = {}
        self._left_ms: dict[int, int] = {}

    def image_changed(self) -> None:
        """Remember when brokers are fenced."""
        before, after = self._brokers, self._image().brokers
        if after is before:
            return
        self._brokers, now_ms = after, self._steady_ms()
        for broker in after.values():
            if not broker.fenced:
                self._left_ms.pop(broker.id, None)
            elif broker.id in before and not before[broker.id].fenced:
                self._left_ms[broker.id] = now_ms

    def lingers(self, broker_id: int) -> bool:
        """Whether a broker was fenced a short time ago."""
        return self._steady_ms() - self._left_ms.get(broker_id, -LINGERING_MS) < LINGERING_MS

    def lost(self, address: Address) -> None:
        """Whoever listens there has hung up, or does not listen any more."""
        until_ms = self._steady_ms() + ABSENT_MS_MAX
        for broker in self._image().brokers.values():
            if not broker.fenced and any((point.host, point.port) == address for point in broker.endpoints):
                self._absent[broker.id] = _Absence(broker.epoch, until_ms)

    def found(self, address: Address) -> None:
        """Somebody answers there. That a dial is taken says little: a process that dies closes its ears last."""
        if not self._absent:
            return
        for broker in self._image().brokers.values():
            if any((point.host, point.port) == address for point in broker.endpoints):
                self._absent.pop(broker.id, None)

    def now(self) -> frozenset[int]:
        """The brokers that seem to be gone."""
        if not self._absent:
            return NOBODY
        brokers, now_ms = self._image().brokers, self._steady_ms()
        self._absent = {
            broker_id: absence
            for broker_id, absence in self._absent.items()
            if absence.until_ms > now_ms and broker_id in brokers and brokers[broker_id].epoch == absence.epoch
        }
        return frozenset(self._absent)
