"""OffsetFetch, versions 1 to 10: where groups left off.

From version 2 on the topics may be left out to ask for all. Version 7 adds `require_stable`: who asks for that hears
UNSTABLE_OFFSET_COMMIT where a transaction that is still open would change the offset, and asks again. Version 8 asks
for several groups at once, 9 adds the member of a consumer group, and 10 names topics by id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.offsets.store import CommittedOffset, OffsetStore
from penstock.core.groups.topics import NO_TOPIC_ID, TopicLookup
from penstock.core.wire.api.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

TOPIC_IDS_FROM = 10
NO_OFFSET = -1

ByTopic = Mapping[str, Mapping[int, CommittedOffset]]
IsUnstable = Callable[[str, int], bool]
"""Whether the offset of a partition of a topic is about to change."""


def fetch(
    store: OffsetStore,
    topics: TopicLookup,
    wanted: OffsetFetchRequestGroup,
    version: int,
    is_unstable: Callable[[str, str, int], bool] | None,
) -> OffsetFetchResponseGroup:
    """The offsets of one group; partitions without a commit are answered with -1, and so is a group we do not know.
    `is_unstable` knows groups, topics and partitions; there is none where it does not matter."""
    by_topic = store.of_group(wanted.group_id)
    unstable = _stable if is_unstable is None else partial(is_unstable, wanted.group_id)
    if wanted.topics is None:
        found = _every_topic(topics, by_topic, version, unstable)
    else:
        found = [_topic(topics, by_topic, topic, version, unstable) for topic in wanted.topics]
    return OffsetFetchResponseGroup(group_id=wanted.group_id, topics=found)


def _stable(topic: str, partition: int) -> bool:
    return False


def _every_topic(
    topics: TopicLookup, by_topic: ByTopic, version: int, is_unstable: IsUnstable
) -> list[OffsetFetchResponseTopics]:
    found = []
    for name, commits in by_topic.items():
        topic_id = topics.id_of(name)
        if version >= TOPIC_IDS_FROM and topic_id is None:
            continue  # A topic that has no id can only be told by its name.
        partitions = [
            _unstable_partition(index) if is_unstable(name, index) else _partition(index, committed)
            for index, committed in commits.items()
        ]
        found.append(OffsetFetchResponseTopics(name=name, topic_id=topic_id or NO_TOPIC_ID, partitions=partitions))
    return found


def _topic(
    topics: TopicLookup, by_topic: ByTopic, topic: OffsetFetchRequestTopics, version: int, is_unstable: IsUnstable
) -> OffsetFetchResponseTopics:
    name: str | None = topic.name
    code = ErrorCode.NONE
    if version >= TOPIC_IDS_FROM:
        name = topics.name_of(topic.topic_id)
        code = ErrorCode.UNKNOWN_TOPIC_ID if name is None else ErrorCode.NONE
    commits = by_topic.get(name or "", {})
    partitions = [
        _unstable_partition(index)
        if name and is_unstable(name, index)
        else _partition(index, _of_this_topic(commits.get(index), topic.topic_id), code)
        for index in topic.partition_indexes
    ]
    return OffsetFetchResponseTopics(name=name or "", topic_id=topic.topic_id, partitions=partitions)


def _of_this_topic(committed: CommittedOffset | None, topic_id: bytes) -> CommittedOffset | None:
    """A commit, unless it was made for an earlier topic of the same name."""
    if committed is None or NO_TOPIC_ID in (topic_id, committed.topic_id) or committed.topic_id == topic_id:
        return committed
    return None


def _unstable_partition(index: int) -> OffsetFetchResponsePartitions:
    return _partition(index, None, ErrorCode.UNSTABLE_OFFSET_COMMIT)


def _partition(
    index: int, committed: CommittedOffset | None, code: ErrorCode = ErrorCode.NONE
) -> OffsetFetchResponsePartitions:
    if committed is None:
        return OffsetFetchResponsePartitions(partition_index=index, committed_offset=NO_OFFSET, error_code=code)
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
    )
