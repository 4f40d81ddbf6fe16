"""All that a cluster holds and a backup must keep, as values to compare."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from penstock.client.admin import TOPIC, Admin
from penstock.client.blocking import Client
from penstock.client.groups import Commit, Groups
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import edges
from penstock.client.ranges import RangeReader

WAIT_S_MAX = 60.0


class Raw(NamedTuple):
    """A partition's bytes: where they begin and end, and a hash over every batch as it is stored."""

    first: int
    end: int
    sha256: str


def raw(client: Client, where: TopicPartition, end: int | None = None) -> Raw:
    first, last = edges(client, [where])[where]
    last = last if end is None else end
    total = hashlib.sha256()
    for fetched in RangeReader(client, where, first, last, fetch_bytes=1 << 20, stall_seconds_max=WAIT_S_MAX):
        for at, header in fetched.batches:
            if header.next_offset <= last:
                total.update(fetched.blob[at : at + header.size])
    return Raw(first, last, total.hexdigest())


def settings(client: Client, topic: str) -> dict[str, str | None]:
    """What was set for a topic itself."""
    return {each.name: each.value for each in Admin(client).describe_configs(TOPIC, topic) if each.source == "topic"}


def commits(client: Client) -> dict[str, dict[TopicPartition, Commit]]:
    groups = Groups(client)
    return {each.group_id: groups.commits(each.group_id) for each in groups.list()}
