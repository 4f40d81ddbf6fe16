"""One look at a cluster: what its nodes tell over HTTP where they do, and what the protocol tells of any broker."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.groups import Groups
from penstock.client.metadata import NO_NODE, TopicPartition, TopicView
from penstock.client.node_metrics import Told, metrics_url, read_metrics
from penstock.client.offsets import known_edges
from penstock.client.quorum import Registered, registered_brokers

GROUPS_MAX: Final = 100


class GroupMark(NamedTuple):
    """How far a group is: all its offsets, and all that it has yet to read."""

    state: str
    committed: int
    lag: int


class Look(NamedTuple):
    at: float
    cluster_id: str
    controller: int
    brokers: Sequence[Registered]
    topics: Sequence[TopicView]
    told: Mapping[int, Told]
    """By node. Brokers of Kafka tell nothing, and those that are away."""
    ends: Mapping[str, int]
    """By topic, the sum of the ends of its partitions, as far as somebody leads them."""
    groups: Mapping[str, GroupMark]


class Watcher:
    """Looks again and again; remembers where nodes tell their metrics."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._urls: dict[int, str] = {}

    def look(self) -> Look:
        client = self._client
        brokers, topics = registered_brokers(client), client.topics()
        told = self._told(brokers)
        places = [
            TopicPartition(topic.name, each.number)
            for topic in topics
            for each in topic.partitions
            if each.leader != NO_NODE and not topic.is_internal
        ]
        ends = {where: end for where, (_, end) in known_edges(client, places).items()}
        sums: dict[str, int] = {}
        for where, end in ends.items():
            sums[where.topic] = sums.get(where.topic, 0) + end
        return Look(
            time.monotonic(),
            client.cluster.cluster_id or "",
            client.cluster.controller,
            brokers,
            topics,
            told,
            sums,
            self._groups(ends),
        )

    def _told(self, brokers: Iterable[Registered]) -> dict[int, Told]:
        found = {}
        for broker in brokers:
            if broker.is_fenced:
                continue
            url = self._urls.get(broker.node_id) or metrics_url(self._client, broker)
            if url is not None and (told := read_metrics(url)) is not None:
                self._urls[broker.node_id] = url
                found[broker.node_id] = told
        return found

    def _groups(self, ends: Mapping[TopicPartition, int]) -> dict[str, GroupMark]:
        groups, found = Groups(self._client), {}
        for listed in groups.known()[0][:GROUPS_MAX]:
            try:
                offsets = groups.offsets(listed.group_id)
            except ClientError:
                # Share groups have offsets of another kind; a coordinator may be away.
                continue
            lag = sum(max(0, ends[where] - at) for where, at in offsets.items() if where in ends)
            found[listed.group_id] = GroupMark(listed.group_state, sum(offsets.values()), lag)
        return found
