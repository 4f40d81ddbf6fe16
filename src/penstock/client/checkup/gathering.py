"""The facts of a cluster, asked over the protocol alone, each within bounds: nobody notices who is examined."""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from penstock.client.admin import Admin, LogDir
from penstock.client.blocking import Client
from penstock.client.checkup.facts import Facts, GroupLook, Sample
from penstock.client.checkup.sampling import Sampler
from penstock.client.errors import ClientError
from penstock.client.groups import Groups
from penstock.client.health import Health
from penstock.client.metadata import NO_NODE, TopicPartition, TopicView
from penstock.client.node_metrics import ahead_ms
from penstock.client.offsets import known_edges
from penstock.client.quorum import Registered, known_quorum

SAMPLED_TOPICS_MAX: Final = 20
SAMPLED_PARTITIONS_MAX: Final = 8
SAMPLED_RECORDS_MAX: Final = 500
"""Of each partition, the newest."""
GROUPS_MAX: Final = 100
LOOKS: Final = 4
CONNECT_SECONDS_MAX: Final = 2.0


def gather(
    client: Client,
    health: Health,
    topics: Sequence[TopicView],
    brokers: Sequence[Registered],
    node_clocks_ms: Mapping[str, int],
    rest: Callable[[], None],
) -> Facts:
    """`rest` passes the time between two looks at what moves."""
    own = [topic for topic in topics if not topic.is_internal and not topic.name.startswith("_")]
    admin = Admin(client)
    log_dirs = admin.known_log_dirs()
    settings = admin.settings_of([topic.name for topic in own])
    now_ms = time.time_ns() // 1_000_000
    return Facts(
        now_ms,
        health,
        own,
        brokers,
        {name: {each.name: each for each in found} for name, found in settings.items()},
        log_dirs,
        _samples(client, own, log_dirs),
        _looks(client, rest),
        node_clocks_ms or _controller_clock_ms(client),
        dict(_unreachable(brokers)),
    )


def _controller_clock_ms(client: Client) -> dict[str, int]:
    """Its description of the quorum has its time, which is all that Kafka's nodes tell of their clocks."""
    before = time.time()
    quorum = known_quorum(client)
    if quorum.now_ms <= 0:
        return {}
    return {f"controller {quorum.leader}": ahead_ms(quorum.now_ms / 1000, before, time.time())}


def _samples(client: Client, topics: Sequence[TopicView], log_dirs: Sequence[LogDir]) -> dict[str, Sample]:
    sizes: Counter[str] = Counter()
    for folder in log_dirs:
        for where, size in folder.sizes.items():
            sizes[where.topic] += size
    largest = sorted(topics, key=lambda topic: -sizes[topic.name])[:SAMPLED_TOPICS_MAX]
    found = {}
    for topic in largest:
        places = [TopicPartition(topic.name, each.number) for each in topic.partitions if each.leader != NO_NODE]
        try:
            found[topic.name] = _sample(client, places[:SAMPLED_PARTITIONS_MAX])
        except ClientError as failure:
            # Whoever may look at topics need not be allowed to read them.
            if failure.is_absence:
                raise
    return found


def _sample(client: Client, places: Sequence[TopicPartition]) -> Sample:
    edges = known_edges(client, places)
    begins = {where: max(first, end - SAMPLED_RECORDS_MAX) for where, (first, end) in edges.items() if end > first}
    reader = Sampler(client, begins, until={where: edges[where][1] for where in begins}, wait_ms=0)
    keys: Counter[bytes] = Counter()
    records, newest_ms = 0, -1
    if begins:
        for chunk in reader.poll():
            records += len(chunk.records)
            keys.update(record.key for record in chunk.records if record.key is not None)
            newest_ms = max([newest_ms, *(record.timestamp for record in chunk.records)])
    return Sample(records, keys, reader.batches, reader.careless_batches, newest_ms)


def _looks(client: Client, rest: Callable[[], None]) -> dict[str, list[GroupLook]]:
    names = [group.group_id for group in Groups(client).known()[0]][:GROUPS_MAX]
    found: dict[str, list[GroupLook]] = {name: [] for name in names}
    for number in range(LOOKS if names else 0):
        if number:
            rest()
        for name, look in _look(client, names):
            found[name].append(look)
    return {name: looks for name, looks in found.items() if looks}


def _look(client: Client, names: Iterable[str]) -> Iterator[tuple[str, GroupLook]]:
    groups = Groups(client)
    for name in names:
        try:
            group, offsets = groups.describe(name), groups.offsets(name)
            ends = {where: end for where, (_, end) in known_edges(client, offsets).items()}
        except ClientError:
            # Share groups and those that have just ended have no offsets of this kind.
            continue
        lag = sum(max(0, ends[where] - at) for where, at in offsets.items() if where in ends) if ends else None
        members = frozenset(member.member_id for member in group.members)
        yield name, GroupLook(group.state, members, sum(offsets.values()), lag)


def _unreachable(brokers: Sequence[Registered]) -> Iterator[tuple[int, str]]:
    for broker in brokers:
        if broker.is_fenced:
            continue
        try:
            socket.create_connection((broker.host, broker.port), CONNECT_SECONDS_MAX).close()
        except OSError as failure:
            yield broker.node_id, failure.strerror or str(failure)
