"""Which partitions a query reads: some topics, the topics that match a pattern, or partitions by number."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.client.metadata import TopicPartition
from penstock.spark.source.errors import OptionError
from penstock.spark.source.places import parse_partitions

WAYS = ("subscribe", "subscribePattern", "assign")


@dataclass(frozen=True)
class Subscribe:
    topics: tuple[str, ...]

    def takes(self, where: TopicPartition) -> bool:
        return where.topic in self.topics


@dataclass(frozen=True)
class SubscribePattern:
    """The pattern may match anywhere in the name, as it does in Spark; new topics are found while the query runs."""

    pattern: str
    topics: None = None

    def takes(self, where: TopicPartition) -> bool:
        return re.search(self.pattern, where.topic) is not None


@dataclass(frozen=True)
class Assign:
    places: frozenset[TopicPartition]

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(sorted({where.topic for where in self.places}))

    def takes(self, where: TopicPartition) -> bool:
        return where in self.places


Subscription = Subscribe | SubscribePattern | Assign


def subscription_of(options: Mapping[str, str]) -> Subscription:
    """Exactly one of the three ways must be given."""
    given = [way for way in WAYS if way in options]
    if len(given) != 1:
        problem = "one of the options {} must be given" if not given else "only one of the options {} can be given"
        raise OptionError(problem.format(", ".join(WAYS)))
    text = options[given[0]].strip()
    if given == ["assign"]:
        return Assign(_assigned(text))
    if given == ["subscribePattern"]:
        return SubscribePattern(_pattern(text))
    topics = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not topics:
        raise OptionError(f"subscribe names no topic: {text!r}")
    return Subscribe(topics)


def _assigned(text: str) -> frozenset[TopicPartition]:
    places = parse_partitions("assign", text)
    if not places:
        raise OptionError(f"assign names no partition: {text}")
    return places


def _pattern(text: str) -> str:
    if not text:
        raise OptionError("subscribePattern is empty")
    try:
        re.compile(text)
    except re.error as failure:
        raise OptionError(f"subscribePattern {text!r} is not a regular expression: {failure}") from None
    return text
