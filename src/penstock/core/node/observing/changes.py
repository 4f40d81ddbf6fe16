"""What a change of the metadata means to whoever runs this node: who leads, who is in sync, who belongs to the cluster.

A leader speaks of the in-sync sets of what it leads, the controller of brokers and of partitions that nobody leads: so
one node says each fact. Partitions to which the same has happened share a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from penstock.core.base.ports import Pause, Steps
from penstock.core.metadata.brokers import BrokerImage
from penstock.core.metadata.fold import Delta
from penstock.core.metadata.image import NO_LEADER, Image, TopicImage
from penstock.core.node.observing.event_log import Fact
from penstock.core.node.observing.metrics import Metrics

NAMES_MAX: Final = 5
PARTITIONS_PER_TURN_MAX: Final = 256
"""Changed partitions that are looked at before others get their turn: about a millisecond of work."""


class Watching(NamedTuple):
    """Who looks: which node, whether it is the controller, when; and where it counts what it sees."""

    node_id: int
    controls: bool
    now_us: int
    metrics: Metrics


def changes(before: Image, after: Image, delta: Delta, watching: Watching) -> Steps[list[Fact]]:
    """The facts in the difference between two images, for a node that may be the controller."""
    news = _PartitionNews(watching)
    if delta.removed:
        watching.metrics.forget_topics({topic.id for topic in delta.removed.values()})
    count = 0
    for name in sorted(delta.topics):
        old, new = before.topic(name), after.topic(name)
        if old is None or new is None or old.id != new.id:
            continue
        for index, (was, now) in enumerate(zip(old.partition_epochs, new.partition_epochs, strict=False)):
            if was != now:
                news.look(old, new, index)
                count += 1
                if count % PARTITIONS_PER_TURN_MAX == 0:
                    yield Pause()
    return [*(_about_brokers(before, after, delta) if watching.controls else ()), *news.facts()]


class _PartitionNews:
    """Collects partitions by what has happened to them."""

    def __init__(self, watching: Watching) -> None:
        self._node_id, self._controls, self._now_us, self._metrics = watching
        # (level, component, the words before the partitions' names)
        self._happened: dict[tuple[str, str, str], list[str]] = {}

    def look(self, old: TopicImage, new: TopicImage, index: int) -> None:
        leader, led = new.leaders[index], old.leaders[index]
        name = f"{new.name}-{index}"
        if leader == self._node_id:
            if led != leader:
                self._add("info", "replication", f"this node leads now, {_instead_of(led)}:", name)
            isr, was = set(new.isrs[index]), set(old.isrs[index])
            for node in was - isr:
                self._add("info", "replication", f"node {node} left the in-sync set of", name)
                self._metrics.isr_shrinks += 1
            for node in isr - was:
                self._add("info", "replication", f"node {node} joined the in-sync set of", name)
                self._metrics.isr_expands += 1
        if self._controls and leader != led:
            self._count_election(old, new, index)
        if self._controls and (leader == NO_LEADER) != (led == NO_LEADER):
            if leader == NO_LEADER:
                self._add("warning", "controller", "nobody leads, because no replica in sync is there:", name)
            else:
                self._add("info", "controller", "led again:", name)

    def _count_election(self, old: TopicImage, new: TopicImage, index: int) -> None:
        metrics, leader, key = self._metrics, new.leaders[index], (new.id, index)
        if leader == NO_LEADER:
            metrics.leaderless_since_us[key] = self._now_us
            return
        metrics.leader_elections += 1
        before = old.partition(index)
        if leader not in before.isr and leader not in before.standing.elr:
            metrics.unclean_elections += 1
        since_us = metrics.leaderless_since_us.pop(key, None)
        if since_us is not None:
            metrics.leaderless_ms.observe((self._now_us - since_us) // 1000)

    def facts(self) -> Iterator[Fact]:
        for (level, component, words), names in self._happened.items():
            shown = ", ".join(names[:NAMES_MAX])
            more = f", and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
            yield Fact(level, component, f"{words} {shown}{more}")

    def _add(self, level: str, component: str, words: str, name: str) -> None:
        self._happened.setdefault((level, component, words), []).append(name)


def _instead_of(led: int) -> str:
    return "which nobody led" if led == NO_LEADER else f"instead of node {led}"


def _about_brokers(before: Image, after: Image, delta: Delta) -> Iterator[Fact]:
    for number in sorted(delta.brokers):
        for text in _about_broker(before.brokers.get(number), after.brokers.get(number)):
            yield Fact("info", "controller", f"broker {number} {text}")


def _about_broker(old: BrokerImage | None, new: BrokerImage | None) -> Iterator[str]:
    """That it is fenced is said by whoever decides so, with the reason."""
    if new is None:
        yield "is unregistered: it does not belong to the cluster any more"
    elif old is None or old.epoch != new.epoch:
        yield f"is registered, with epoch {new.epoch}"
    elif old.fenced and not new.fenced:
        yield "is let in: it may lead and be in sync"
    elif new.in_controlled_shutdown and not old.in_controlled_shutdown:
        yield "is going: what it leads is handed over"
