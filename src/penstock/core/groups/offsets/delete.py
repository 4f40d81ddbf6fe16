"""Removing offsets: OffsetDelete (version 0), expiry, deleted groups and topics. All of it writes tombstones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.group import Group
from penstock.core.groups.offsets.pending import PendingOffsets
from penstock.core.groups.offsets.records import offset_tombstone
from penstock.core.groups.offsets.store import CommittedOffset, OffsetStore
from penstock.core.groups.topics import NO_TOPIC_ID, TopicLookup
from penstock.core.groups.turn import Turn
from penstock.core.wire.api.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def delete(
    turn: Turn,
    store: OffsetStore,
    pending: PendingOffsets,
    topics: TopicLookup,
    group: Group,
    request: OffsetDeleteRequest,
) -> OffsetDeleteResponse:
    """What an administrator asks for, except for topics that the group still reads. What a transaction has written goes
    as well."""
    return OffsetDeleteResponse(
        topics=[_delete_topic(turn, store, pending, topics, group, topic) for topic in request.topics]
    )


def delete_all(turn: Turn, store: OffsetStore, pending: PendingOffsets, group_id: str) -> None:
    places = dict.fromkeys((topic, index) for topic, commits in store.of_group(group_id).items() for index in commits)
    places.update(dict.fromkeys(pending.of_group(group_id)))
    for topic, partition in places:
        turn.result.records.append(offset_tombstone(group_id, topic, partition))


def delete_of_topics(turn: Turn, store: OffsetStore, removed: Mapping[str, bytes], group_ids: Iterable[str]) -> None:
    """Topics are gone, by name and id; commits for a later topic of the same name stay."""
    for group_id in group_ids:
        by_topic = store.of_group(group_id)
        for topic in [each for each in by_topic if each in removed]:
            for partition, committed in by_topic[topic].items():
                if committed.topic_id in (NO_TOPIC_ID, removed[topic]):
                    turn.result.records.append(offset_tombstone(group_id, topic, partition))
        if turn.has_swept_enough():
            break


def delete_expired(turn: Turn, store: OffsetStore, pending: PendingOffsets, group: Group) -> bool:
    """Expire what is due, unless a transaction may change it; True when nothing of the group remains."""
    remains = any(True for _ in pending.of_group(group.group_id))
    for topic, commits in store.of_group(group.group_id).items():
        in_use = group.is_subscribed_to(topic)
        for partition, committed in commits.items():
            kept = in_use or not _is_expired(turn, group, committed)
            if kept or pending.has(group.group_id, topic, partition):
                remains = True
            else:
                turn.result.records.append(offset_tombstone(group.group_id, topic, partition))
    return not remains


def _is_expired(turn: Turn, group: Group, committed: CommittedOffset) -> bool:
    begins_ms = group.offset_age_begins_ms(committed.committed_ms)
    if begins_ms is None:
        return False
    if committed.expires_ms is not None:
        return turn.now_ms >= committed.expires_ms
    return turn.now_ms - begins_ms >= turn.settings.offsets_retention_ms


def _delete_topic(
    turn: Turn,
    store: OffsetStore,
    pending: PendingOffsets,
    topics: TopicLookup,
    group: Group,
    topic: OffsetDeleteRequestTopic,
) -> OffsetDeleteResponseTopic:
    commits = store.of_group(group.group_id).get(topic.name, {})
    partition_count = topics.partition_count(topic.name) or 0
    in_use = group.is_subscribed_to(topic.name)
    answers = []
    for partition in topic.partitions:
        index = partition.partition_index
        code = ErrorCode.NONE
        if not 0 <= index < partition_count:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif in_use:
            code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        elif index in commits or pending.has(group.group_id, topic.name, index):
            turn.result.records.append(offset_tombstone(group.group_id, topic.name, index))
        answers.append(OffsetDeleteResponsePartition(partition_index=index, error_code=code))
    return OffsetDeleteResponseTopic(name=topic.name, partitions=answers)
