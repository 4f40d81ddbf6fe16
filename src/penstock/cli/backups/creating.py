"""Taking a backup of a cluster that goes on working.

First the metadata, as it is at one offset of its log. Then what groups have committed, and only then where each
partition is cut: at its last stable offset, below which every transaction has ended. So no group is further than the
records that are kept, and whoever goes on from a backup may see records again, and misses none.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from penstock.cli.backups import image_parts, offsets
from penstock.cli.backups.chunks import Cut, PartitionReader
from penstock.cli.backups.manifest import MANIFEST, METADATA, OFFSETS, Manifest, PartitionBackup, newest, stored
from penstock.cli.backups.store import Store
from penstock.cli.talk import Refused, say
from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.epochs import epoch_ends
from penstock.client.groups import Groups
from penstock.client.metadata import TopicPartition
from penstock.client.metadata_log import Metadata, read_metadata
from penstock.client.offsets import EARLIEST, LATEST, READ_COMMITTED, list_offsets
from penstock.client.security import Security
from penstock.core.metadata.image import Image
from penstock.core.metadata.storage import uuid_text

Partitions = Mapping[TopicPartition, PartitionBackup]


class Wish(NamedTuple):
    """What a person asked for, and how to get in."""

    name: str
    topics: Sequence[str]
    with_credentials: bool
    security: Security
    controllers: Security | None


def create(client: Client, store: Store, wish: Wish) -> Manifest:
    """Everything is there before the manifest is, and without that there is no backup."""
    if store.get(f"{wish.name}/{MANIFEST}") is not None:
        raise Refused(f"there is a backup {wish.name} already", "give another --name")
    now_ms = time.time_ns() // 1_000_000
    before = newest(store)
    cluster_id = Admin(client).cluster().cluster_id
    end_image = read_metadata(client, wish.security, wish.controllers)
    wanted = _wanted(end_image.image, wish.topics)
    commits = _commits(client)
    cuts = _cuts(client, end_image.image, wanted)
    known = {} if before is None or before.cluster_id != cluster_id else _still_there(client, cuts, before)
    partitions = tuple(PartitionReader(client, store, cut, known.get(cut.where)).read() for cut in cuts)
    ends = {TopicPartition(each.topic, each.partition): each.end for each in partitions}
    kept, lines = offsets.within(commits, ends)
    for line in lines:
        say(line)
    metadata_data = image_parts.encode(_part(end_image, wanted, wish.with_credentials), now_ms)
    offsets_data = offsets.encode(kept)
    manifest = Manifest(
        *(wish.name, cluster_id, now_ms, end_image.end.offset, end_image.end.epoch, wish.with_credentials),
        stored(f"{wish.name}/{METADATA}", metadata_data),
        stored(f"{wish.name}/{OFFSETS}", offsets_data),
        partitions,
    )
    store.put(manifest.metadata.path, metadata_data)
    store.put(manifest.offsets.path, offsets_data)
    store.put(f"{wish.name}/{MANIFEST}", manifest.encode())
    return manifest


def _wanted(image: Image, patterns: Sequence[str]) -> set[str]:
    topics = {name for name, _ in image.topics.items()} - image_parts.STATE_TOPICS
    if not patterns:
        return topics
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in topics):
            raise Refused(f"there is no topic {pattern}", "`penstock topic list` shows them")
    return {name for name in topics if any(fnmatchcase(name, pattern) for pattern in patterns)}


def _part(metadata: Metadata, wanted: set[str], with_credentials: bool) -> Metadata:
    image = image_parts.chosen(metadata.image, wanted | {offsets.OFFSETS_TOPIC})
    image = image_parts.without_remote_storage(image)
    return metadata._replace(image=image if with_credentials else image_parts.without_credentials(image))


def _commits(client: Client) -> offsets.Commits:
    groups = Groups(client)
    return {each.group_id: groups.commits(each.group_id) for each in groups.list()}


def _cuts(client: Client, image: Image, wanted: set[str]) -> list[Cut]:
    """Where the partitions begin and end now. A topic that was made anew meanwhile is not the one of the metadata."""
    topics = [topic for name, topic in sorted(image.topics.items()) if name in wanted]
    places = [TopicPartition(topic.name, index) for topic in topics for index in range(len(topic))]
    first = list_offsets(client, dict.fromkeys(places, EARLIEST))
    last = list_offsets(client, dict.fromkeys(places, LATEST), READ_COMMITTED)
    ids = {each.name: each.topic_id for each in client.topics()}
    policies = Admin(client).topic_setting([topic.name for topic in topics], "cleanup.policy")
    found = []
    for topic in topics:
        if ids.get(topic.name) != topic.id:
            raise Refused(f"topic {topic.name} was deleted meanwhile", "take the backup again")
        is_compacted = "compact" in (policies.get(topic.name) or "compact")
        for where in (TopicPartition(topic.name, index) for index in range(len(topic))):
            start = first[where].offset
            found.append(Cut(where, topic.id, start, max(start, last[where].offset), is_compacted))
    return found


def _still_there(client: Client, cuts: list[Cut], before: Manifest) -> Partitions:
    """What an earlier backup has of these partitions, where that is still the beginning of what they hold: a log that
    is not compacted only grows, unless one was elected that lacked its end, and then its epochs say so."""
    earlier = {(each.topic_id, each.partition): each for each in before.partitions if not each.is_compacted}
    found = {
        cut.where: known
        for cut in cuts
        if not cut.is_compacted and (known := earlier.get((uuid_text(cut.topic_id), cut.where.partition)))
        if known.chunks and cut.start <= known.chunks[-1].end <= cut.end and known.start <= cut.start
    }
    ends = epoch_ends(client, {where: known.epoch for where, known in found.items()})
    return {
        where: known
        for where, known in found.items()
        if ends[where][0] == known.epoch and ends[where][1] >= known.chunks[-1].end
    }
