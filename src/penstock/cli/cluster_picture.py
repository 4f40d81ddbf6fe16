"""What commands that judge or move replicas know of a cluster, and how they speak of brokers, partitions and rates."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import typer

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition, TopicView
from penstock.client.moving import Mover
from penstock.client.quorum import Registered, registered_brokers
from penstock.core.metadata.balancing import Layout, Site

NAMES_SHOWN_MAX: Final = 10
LOOKS_MAX: Final = 20
LOOK_SECONDS: Final = 0.1
_RATE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kmg]?)(?:i?b)?(?:/s)?", re.IGNORECASE)
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class Picture(NamedTuple):
    """Brokers, topics, and how many bytes each partition has."""

    brokers: list[Registered]
    topics: list[TopicView]
    sizes: dict[TopicPartition, int]

    @property
    def alive(self) -> list[int]:
        return [broker.node_id for broker in self.brokers if not broker.is_fenced]

    def sites(self) -> list[Site]:
        """Brokers that are reached by the same host name share a machine, as far as anybody can tell from outside."""
        return [Site(broker.node_id, broker.rack, broker.host, takes=not broker.is_fenced) for broker in self.brokers]

    def layouts(self, topics: Iterable[TopicView] | None = None) -> list[Layout]:
        """Small partitions come first: if it does not matter which one moves, let it be a cheap one."""
        chosen = self.topics if topics is None else list(topics)
        return [
            Layout(
                topic.name,
                [partition.replicas for partition in topic.partitions],
                sorted(range(len(topic.partitions)), key=lambda index, topic=topic: self.size(topic.name, index)),  # type: ignore[misc]  # bound now
            )
            for topic in sorted(chosen, key=lambda topic: self._mean_size(topic))
        ]

    def size(self, topic: str, number: int) -> int:
        return self.sizes.get(TopicPartition(topic, number), 0)

    def _mean_size(self, topic: TopicView) -> float:
        total = sum(self.size(topic.name, partition.number) for partition in topic.partitions)
        return total / max(len(topic.partitions), 1)


def take_picture(client: Client) -> Picture:
    """Partitions that move count as being where they go. Who tells of topics may be some moments behind who tells of
    moves, so it is asked between two answers that are the same."""
    brokers, mover = registered_brokers(client), Mover(client)
    moving = mover.under_way()
    for _ in range(LOOKS_MAX):
        topics, before = fresh_topics(client), moving
        moving = mover.under_way()
        if moving == before:
            break
        time.sleep(LOOK_SECONDS)
    leaving = {where: each.removing for where, each in moving.items()}
    return Picture(brokers, [_arrived(topic, leaving) for topic in topics], sizes_of(client))


def _arrived(topic: TopicView, leaving: Mapping[TopicPartition, Sequence[int]]) -> TopicView:
    partitions = (
        each._replace(
            replicas=tuple(
                replica
                for replica in each.replicas
                if replica not in leaving.get(TopicPartition(topic.name, each.number), ())
            )
        )
        for each in topic.partitions
    )
    return topic._replace(partitions=tuple(partitions)) if leaving else topic


def fresh_topics(client: Client) -> list[TopicView]:
    """As they are now, without those that are gone."""
    client.cluster.topics.clear()
    return client.topics()


def sizes_of(client: Client) -> dict[TopicPartition, int]:
    """The largest copy of each partition; a broker that does not answer is left out."""
    sizes: dict[TopicPartition, int] = {}
    for folder in Admin(client).known_log_dirs():
        for where, size in folder.sizes.items():
            sizes[where] = max(sizes.get(where, 0), size)
    return sizes


def numbers_text(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))


def names_text(places: Sequence[object]) -> str:
    """The first names of a long list."""
    shown = ", ".join(map(str, places[:NAMES_SHOWN_MAX]))
    left = len(places) - NAMES_SHOWN_MAX
    return f"{shown} and {left} more" if left > 0 else shown


def own_last(where: TopicPartition) -> tuple[bool, TopicPartition]:
    """The order in which partitions are named: what the cluster keeps for itself comes after what people made."""
    return where.topic.startswith("__"), where


def parse_rate(text: str | None) -> str | None:
    """Refuse what is no rate, while the command is read."""
    if text is not None and _RATE.fullmatch(text.strip()) is None:
        raise typer.BadParameter(f"{text!r} is not a rate: bytes per second, such as 10485760, 512K or 10M")
    return text


def rate_bytes(text: str | None) -> int | None:
    """Bytes per second; none at all for 0."""
    match = _RATE.fullmatch((text or "").strip())
    if match is None:
        return None
    return int(float(match[1]) * _UNITS[match[2].lower()]) or None


def parse_brokers(text: str, known: Collection[int], option: str) -> list[int]:
    """`1,2,3`, each of them registered."""
    chosen = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in chosen):
        raise typer.BadParameter(f"{text!r} is not a list of brokers, such as 1,2,3", param_hint=option)
    numbers = list(dict.fromkeys(map(int, chosen)))
    if unknown := [number for number in numbers if number not in known]:
        raise typer.BadParameter(
            f"there is no broker {numbers_text(unknown)}: there are {numbers_text(sorted(known))}", param_hint=option
        )
    return numbers
