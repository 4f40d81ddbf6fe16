"""How far a group is, whatever its kind: what consumers have committed, or where a share group begins."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.groups import SHARE, Groups
from penstock.client.metadata import TopicPartition
from penstock.client.share_groups import ShareGroups

Offsets = dict[TopicPartition, int]


def offsets_of(client: Client, group: str, kind: str) -> Offsets:
    """Of a group whose offsets nobody may see, or that keeps none, nothing is known."""
    try:
        return exact_offsets(client, group, kind)
    except ClientError as failure:
        if failure.is_absence:
            raise
        return {}


def exact_offsets(client: Client, group: str, kind: str) -> Offsets:
    return ShareGroups(client).starts(group) if is_share(kind) else Groups(client).offsets(group)


def put(client: Client, group: str, kind: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Where it goes on; it must have no members."""
    if is_share(kind):
        ShareGroups(client).alter(group, offsets)
    else:
        Groups(client).commit(group, offsets)


def forget(client: Client, group: str, kind: str, topic: str) -> int:
    """How far it is in a topic; gives the number of partitions."""
    places = [where for where in exact_offsets(client, group, kind) if where.topic == topic]
    if is_share(kind):
        ShareGroups(client).delete_offsets(group, [topic])
    else:
        Groups(client).delete_offsets(group, places)
    return len(places)


def lags_told(client: Client, group: str, kind: str) -> dict[TopicPartition, int]:
    """What a share group says itself: records that were done out of order lie behind where it begins."""
    if not is_share(kind):
        return {}
    try:
        standings = ShareGroups(client).standings(group)
    except ClientError as failure:
        if failure.is_absence:
            raise
        return {}
    return {where: each.lag for where, each in standings.items() if each.lag is not None}


def is_share(kind: str) -> bool:
    return kind.lower() == SHARE
