"""Where leader epochs end: whether a partition still has what was read from it before."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.client.blocking import Client
from penstock.client.errors import check_leader
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import by_leader, by_topic
from penstock.core.wire.api.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)


def epoch_ends(client: Client, epochs: Mapping[TopicPartition, int]) -> dict[TopicPartition, tuple[int, int]]:
    """Of each partition the newest epoch up to the one that is asked for, and the offset at which it ends."""

    def attempt() -> dict[TopicPartition, tuple[int, int]]:
        found: dict[TopicPartition, tuple[int, int]] = {}
        for leader, places in by_leader(client, epochs).items():
            found |= _ask(client, leader, {where: epochs[where] for where in places})
        return found

    return client.retry(attempt)


def _ask(client: Client, leader: int, epochs: Mapping[TopicPartition, int]) -> dict[TopicPartition, tuple[int, int]]:
    topics = [
        OffsetForLeaderTopic(
            topic=topic,
            partitions=[
                OffsetForLeaderPartition(partition=number, leader_epoch=epochs[TopicPartition(topic, number)])
                for number in numbers
            ],
        )
        for topic, numbers in by_topic(epochs).items()
    ]
    request = OffsetForLeaderEpochRequest(replica_id=-1, topics=topics)
    found: dict[TopicPartition, tuple[int, int]] = {}
    for topic in client.ask(request, OffsetForLeaderEpochResponse, node=leader).topics:
        for each in topic.partitions:
            where = TopicPartition(topic.topic, each.partition)
            if each.error_code:
                client.forget(topic.topic)
            check_leader(each.error_code, f"the epochs of {where}")
            found[where] = (each.leader_epoch, each.end_offset)
    return found
