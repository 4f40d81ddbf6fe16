"""Where a partition begins and ends, and which offset a moment has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from penstock.client.blocking import SOON_SECONDS, Client
from penstock.client.errors import ClientError, check_leader
from penstock.client.metadata import NO_NODE, TopicPartition
from penstock.core.wire.api.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

EARLIEST: Final = -2
LATEST: Final = -1
MAX_TIMESTAMP: Final = -3
NO_OFFSET: Final = -1
READ_UNCOMMITTED: Final = 0
READ_COMMITTED: Final = 1


class FoundOffset(NamedTuple):
    """An offset, and the time of its record where the question was about time; offset -1: there is none."""

    offset: int
    timestamp: int


def list_offsets(
    client: Client, questions: Mapping[TopicPartition, int], isolation: int = READ_UNCOMMITTED
) -> dict[TopicPartition, FoundOffset]:
    """For each partition, the first offset at or after a timestamp, or what EARLIEST, LATEST, MAX_TIMESTAMP mean."""
    found: dict[TopicPartition, FoundOffset] = {}

    def attempt() -> None:
        open_questions = {where: at for where, at in questions.items() if where not in found}
        for leader, places in by_leader(client, open_questions).items():
            _ask_leader(client, leader, {where: questions[where] for where in places}, isolation, found)

    client.retry(attempt)
    return found


def edges(client: Client, places: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
    """The first offset of each partition and the one after its last."""
    wanted = list(places)
    first = list_offsets(client, dict.fromkeys(wanted, EARLIEST))
    last = list_offsets(client, dict.fromkeys(wanted, LATEST))
    return {where: (first[where].offset, last[where].offset) for where in wanted}


def known_edges(client: Client, places: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
    """The same of those partitions that somebody leads who answers soon: nobody else is waited for."""
    led: defaultdict[int, list[TopicPartition]] = defaultdict(list)
    for where in places:
        led[client.topic(where.topic).partitions[where.partition].leader].append(where)
    led.pop(NO_NODE, None)
    found: dict[TopicPartition, tuple[int, int]] = {}
    for named in led.values():
        try:
            with client.within(SOON_SECONDS):
                found |= edges(client, named)
        except ClientError as failure:
            if not failure.is_absence:
                raise
    return found


def by_leader(client: Client, places: Iterable[TopicPartition]) -> dict[int, list[TopicPartition]]:
    """Partitions by the node that leads them."""
    leaders: defaultdict[int, list[TopicPartition]] = defaultdict(list)
    for where in places:
        leaders[client.leader(where)].append(where)
    return leaders


def by_topic(places: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Partition numbers by topic."""
    topics: defaultdict[str, list[int]] = defaultdict(list)
    for where in places:
        topics[where.topic].append(where.partition)
    return topics


def _ask_leader(
    client: Client,
    leader: int,
    questions: Mapping[TopicPartition, int],
    isolation: int,
    found: dict[TopicPartition, FoundOffset],
) -> None:
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation,
        timeout_ms=int(client.timeout * 1000),
        topics=[
            ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsPartition(partition_index=number, timestamp=questions[TopicPartition(topic, number)])
                    for number in numbers
                ],
            )
            for topic, numbers in by_topic(questions).items()
        ],
    )
    for topic in client.ask(request, ListOffsetsResponse, node=leader).topics:
        for partition in topic.partitions:
            where = TopicPartition(topic.name, partition.partition_index)
            try:
                check_leader(partition.error_code, f"the offsets of {where}")
            except ClientError:
                client.forget(topic.name)
                raise
            found[where] = FoundOffset(partition.offset, partition.timestamp)
