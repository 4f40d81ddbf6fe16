"""Removing offsets: OffsetDelete (version 0), expiry, deleted groups and topics. All of it writes tombstones."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.kinds import Group
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
    turn: Turn, store: OffsetStore, topics: TopicLookup, group: Group, request: OffsetDeleteRequest
) -> OffsetDeleteResponse:
    """What an administrator asks for, except for topics that the group still reads."""
    return OffsetDeleteResponse(topics=[_delete_topic(turn, store, topics, group, topic) for topic in request.topics])


def delete_all(turn: Turn, store: OffsetStore, group_id: str) -> None:
    for topic, commits in store.of_group(group_id).items():
        for partition in commits:
            turn.result.records.append(offset_tombstone(group_id, topic, partition))


def delete_of_topic(turn: Turn, store: OffsetStore, topic: str, topic_id: bytes, group_ids: Iterable[str]) -> None:
    """A topic is gone; commits for a later topic of the same name stay."""
    for group_id in group_ids:
        for partition, committed in store.of_group(group_id).get(topic, {}).items():
            if committed.topic_id in (NO_TOPIC_ID, topic_id):
                turn.result.records.append(offset_tombstone(group_id, topic, partition))
        if turn.has_swept_enough():
            break


def delete_expired(turn: Turn, store: OffsetStore, group: Group) -> bool:
    """Expire what is due; True when nothing of the group remains."""
    remains = False
    for topic, commits in store.of_group(group.group_id).items():
        in_use = group.is_subscribed_to(topic)
        for partition, committed in commits.items():
            if in_use or not _is_expired(turn, group, committed):
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
    turn: Turn, store: OffsetStore, topics: TopicLookup, group: Group, topic: OffsetDeleteRequestTopic
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
        elif index in commits:
            turn.result.records.append(offset_tombstone(group.group_id, topic.name, index))
        answers.append(OffsetDeleteResponsePartition(partition_index=index, error_code=code))
    return OffsetDeleteResponseTopic(name=topic.name, partitions=answers)
