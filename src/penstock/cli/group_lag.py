"""How far groups are behind: the ends of what they read, as far as somebody knows them, and the lag of each group."""

from collections.abc import Iterable, Mapping

from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.groups import SHARE, Groups
from penstock.client.metadata import NO_NODE, TopicPartition
from penstock.client.offsets import edges
from penstock.client.share_groups import ShareGroups
from penstock.core.wire.api.list_groups import ListedGroup


def known_ends(client: Client, places: Iterable[TopicPartition]) -> dict[TopicPartition, int | None]:
    """The end of each partition; None where the topic is gone but the group's offset is not, or nobody leads it."""
    wanted = list(places)
    led = {
        TopicPartition(topic.name, partition.number)
        for topic in client.topics()
        for partition in topic.partitions
        if partition.leader != NO_NODE
    }
    found = {where: end for where, (_, end) in edges(client, [where for where in wanted if where in led]).items()}
    return {where: found.get(where) for where in wanted}


def lag_of(committed: int | None, end: int | None) -> int | None:
    return None if committed is None or end is None else max(0, end - committed)


def group_lags(client: Client, groups: Iterable[ListedGroup]) -> dict[str, int | None]:
    """The records that each group has yet to read; None where it has committed nothing, or nobody tells."""
    kinds = {group.group_id: group.group_type.lower() for group in groups}
    committed = {name: _committed(client, name) for name, kind in kinds.items() if kind != SHARE}
    ends = known_ends(client, sorted({where for offsets in committed.values() for where in offsets}))
    lags = {name: _sum(offsets, ends) for name, offsets in committed.items()}
    return lags | {name: _share_lag(client, name) for name, kind in kinds.items() if kind == SHARE}


def _share_lag(client: Client, name: str) -> int | None:
    try:
        lags = [each.lag for each in ShareGroups(client).standings(name).values() if each.lag is not None]
    except ClientError:
        return None
    return sum(lags) if lags else None


def _committed(client: Client, name: str) -> Mapping[TopicPartition, int]:
    try:
        return Groups(client).offsets(name)
    except ClientError:
        return {}


def _sum(offsets: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int | None]) -> int | None:
    lags = [lag for where, offset in offsets.items() if (lag := lag_of(offset, ends[where])) is not None]
    return sum(lags) if lags else None
