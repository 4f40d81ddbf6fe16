"""What one look at the cluster finds, for one page each; all of it blocks, and is bounded by the time of its page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, NamedTuple, TypeVar

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError, check
from penstock.client.everybody import ask_everybody
from penstock.client.health import Health, assess
from penstock.client.metadata import NO_NODE, TopicPartition, TopicView
from penstock.client.moving import Mover, Moving
from penstock.client.offsets import by_topic, known_edges
from penstock.client.quorum import Quorum, Registered, known_quorum, registered_brokers
from penstock.core.wire.api.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from penstock.services.console.cluster import Picture, tell

MIN_INSYNC: Final = "min.insync.replicas"
PLACES_MAX: Final = 5_000
"""Partitions of one page whose offsets and bytes are asked for."""
NOBODY: Final = Quorum(NO_NODE, 0, 0, (), ())
T = TypeVar("T")


class Disk(NamedTuple):
    broker: int
    path: str
    total_bytes: int
    usable_bytes: int

    @property
    def share(self) -> float | None:
        """How much of it is used; brokers may not say."""
        return None if self.total_bytes <= 0 else 1 - self.usable_bytes / self.total_bytes


class Look(NamedTuple):
    """For the overview."""

    health: Health
    brokers: tuple[Registered, ...]
    quorum: Quorum | None
    disks: tuple[Disk, ...]
    silent: tuple[int, ...]


class Sizes(NamedTuple):
    """Of the partitions that a page shows: first and last offset, and the bytes of the largest copy."""

    edges: Mapping[TopicPartition, tuple[int, int]]
    bytes: Mapping[TopicPartition, int]

    def records_of(self, topic: TopicView) -> int | None:
        found = [self.edges.get(TopicPartition(topic.name, each.number)) for each in topic.partitions]
        return sum(end - first for first, end in filter(None, found)) if all(found) else None

    def bytes_of(self, topic: TopicView) -> int | None:
        """Of one copy of each partition."""
        found = [self.bytes.get(TopicPartition(topic.name, each.number)) for each in topic.partitions]
        return None if None in found else sum(each for each in found if each is not None)


def allowed(do: Callable[[], T], otherwise: T) -> T:
    """What a user may not see, or an older broker does not know, is left out."""
    try:
        return do()
    except ClientError as failure:
        if failure.is_absence:
            raise
        return otherwise


def look(client: Client, picture: Picture) -> Look:
    """How the cluster is."""
    topics = list(picture.topics.values())
    brokers = tuple(registered_brokers(client))
    quorum = _quorum(client)
    is_led = picture.controller != NO_NODE
    moving: dict[TopicPartition, Moving] = allowed(lambda: Mover(client).under_way(), {}) if is_led else {}
    adding = {where: each.adding for where, each in moving.items()}
    found = assess(topics, brokers, quorum or NOBODY, _min_insync(client, topics), adding, ())
    if quorum is None:
        # Who may not ask the controllers still hears who leads them.
        found = found._replace(controller=picture.controller if is_led else None)
    folders, silent = known_disks(client)
    return Look(found, brokers, quorum, folders, silent)


def _quorum(client: Client) -> Quorum | None:
    try:
        return known_quorum(client)
    except ClientError:
        return None


def _min_insync(client: Client, topics: Collection[TopicView]) -> dict[str, int]:
    """Only of topics that lack a copy: no other one can lack too many."""
    lacking = [
        topic.name for topic in topics if any(len(each.in_sync) < len(each.replicas) for each in topic.partitions)
    ]
    found: dict[str, str | None] = allowed(lambda: Admin(client).topic_setting(lacking, MIN_INSYNC), {})
    return {name: int(value) for name, value in found.items() if value and value.isdecimal()}


def known_disks(client: Client) -> tuple[tuple[Disk, ...], tuple[int, ...]]:
    """Of all brokers that answer and may be asked, and who does not answer."""
    none: tuple[tuple[Disk, ...], tuple[int, ...]] = ((), ())
    return allowed(lambda: _disks(client), none)


def _disks(client: Client) -> tuple[tuple[Disk, ...], tuple[int, ...]]:
    answers, silent = ask_everybody(client, lambda node: _folders(client, node, ()))
    found = (
        Disk(node, folder.log_dir, folder.total_bytes, folder.usable_bytes)
        for node, answer in answers.items()
        for folder in answer.results
    )
    return tuple(found), silent.brokers


def _folders(client: Client, node: int, places: Iterable[TopicPartition]) -> DescribeLogDirsResponse:
    topics = [DescribableLogDirTopic(topic=name, partitions=each) for name, each in by_topic(places).items()]
    answer = client.ask(DescribeLogDirsRequest(topics=topics), DescribeLogDirsResponse, node=node)
    check(answer.error_code, f"the data folders of broker {node}")
    return answer


def sizes(client: Client, topics: Collection[TopicView]) -> Sizes:
    places = [TopicPartition(topic.name, each.number) for topic in topics for each in topic.partitions]
    if not places or len(places) > PLACES_MAX:
        return Sizes({}, {})
    tell(client, topics)
    edges: dict[TopicPartition, tuple[int, int]] = allowed(lambda: known_edges(client, places), {})
    stored: dict[TopicPartition, int] = allowed(lambda: _bytes(client, places), {})
    return Sizes(edges, stored)


def _bytes(client: Client, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
    answers, _ = ask_everybody(client, lambda node: _folders(client, node, places))
    largest: dict[TopicPartition, int] = {}
    for answer in answers.values():
        for folder in answer.results:
            for topic in folder.topics:
                for each in topic.partitions:
                    where = TopicPartition(topic.name, each.partition_index)
                    largest[where] = max(largest.get(where, 0), each.partition_size)
    return largest
