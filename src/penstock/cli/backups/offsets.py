"""What groups have committed: as a file of a backup, and as batches of the topic in which a cluster keeps it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from penstock.client.groups import Commit
from penstock.client.metadata import TopicPartition
from penstock.core.groups.offsets.records import offset_record
from penstock.core.groups.offsets.store import CommittedOffset
from penstock.core.groups.routing import partition_for_group
from penstock.core.metadata.image import Image
from penstock.core.records.build import build_batch

OFFSETS_TOPIC = "__consumer_offsets"
RECORDS_PER_BATCH_MAX = 1_000

Commits = Mapping[str, Mapping[TopicPartition, Commit]]
"""By group."""


def encode(commits: Commits) -> bytes:
    rows = [
        {"group": group, "topic": where.topic, "partition": where.partition, **commit._asdict()}
        for group, places in sorted(commits.items())
        for where, commit in sorted(places.items())
    ]
    return json.dumps(rows, indent=1).encode()


def decode(data: bytes) -> Commits:
    found: defaultdict[str, dict[TopicPartition, Commit]] = defaultdict(dict)
    row: dict[str, Any]
    for row in json.loads(data):
        where = TopicPartition(row["topic"], row["partition"])
        found[row["group"]][where] = Commit(row["offset"], row["leader_epoch"], row["metadata"])
    return found


def within(commits: Commits, ends: Mapping[TopicPartition, int]) -> tuple[Commits, list[str]]:
    """Commits in the partitions of a backup, none behind the end of its partition: whoever had read further, because it
    does not wait for transactions to end, reads on where the backup ends. Each of those is a line."""
    kept: dict[str, dict[TopicPartition, Commit]] = {}
    lines = []
    for group, places in commits.items():
        kept[group] = {}
        for where, commit in places.items():
            if where not in ends:
                continue
            if commit.offset > ends[where]:
                lines.append(f"group {group} was at {commit.offset} of {where}, and goes on at {ends[where]}")
            kept[group][where] = commit._replace(offset=min(commit.offset, ends[where]))
    return {group: places for group, places in kept.items() if places}, lines


def batches(commits: Commits, image: Image, now_ms: int) -> dict[int, tuple[bytes, int]]:
    """The log of each partition of the offsets' topic that has any, and where it ends. The commits count as made
    now, so that none has expired before its group is back."""
    topic = image.topic(OFFSETS_TOPIC)
    if topic is None:
        return {}
    records: defaultdict[int, list[tuple[bytes, bytes | None]]] = defaultdict(list)
    for group, places in sorted(commits.items()):
        shard = records[partition_for_group(group, len(topic))]
        for where, commit in sorted(places.items()):
            known = image.topic(where.topic)
            assert known is not None, "only commits in topics of the backup are kept"
            stored = CommittedOffset(commit.offset, commit.leader_epoch, commit.metadata, now_ms, None, known.id)
            shard.append(offset_record(group, where.topic, where.partition, stored))
    epochs = {index: topic.partition(index).leader_epoch for index in records}
    return {index: (_log(rows, epochs[index], now_ms), len(rows)) for index, rows in records.items()}


def _log(rows: list[tuple[bytes, bytes | None]], epoch: int, now_ms: int) -> bytes:
    found = bytearray()
    for first in range(0, len(rows), RECORDS_PER_BATCH_MAX):
        records = [(key, value, (), now_ms) for key, value in rows[first : first + RECORDS_PER_BATCH_MAX]]
        found += build_batch(records, base_offset=first, leader_epoch=epoch)
    return bytes(found)
