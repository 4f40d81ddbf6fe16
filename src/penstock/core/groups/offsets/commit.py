"""OffsetCommit, versions 2 to 10: a group writes down how far it has read.

Versions 2 to 4 may ask for a retention of their own. Version 6 adds the leader epoch, 7 static members, and 10 names
topics by id.
"""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.offsets.records import offset_record
from penstock.core.groups.offsets.store import CommittedOffset
from penstock.core.groups.topics import NO_TOPIC_ID, TopicLookup
from penstock.core.groups.turn import Turn
from penstock.core.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

TOPIC_IDS_FROM = 10
_DEFAULT_RETENTION = -1
_COMMIT_BYTES_MIN = 40
"""Of a committed offset's record without the names in it."""


def commit(
    turn: Turn, topics: TopicLookup, request: OffsetCommitRequest, version: int, refusal: ErrorCode
) -> OffsetCommitResponse:
    """Commit what can be committed, in one batch. `refusal` is what the group says to this sender, for every existing
    partition."""
    if _commit_bytes_min(request) > turn.settings.batch_bytes_max:
        return _refused(request, ErrorCode.UNKNOWN_SERVER_ERROR)
    response = OffsetCommitResponse(
        topics=[_commit_topic(turn, topics, request, topic, version, refusal) for topic in request.topics]
    )
    if turn.is_too_large():
        # Nothing but the records says that there was a commit.
        turn.result.records.clear()
        return _refused(request, ErrorCode.UNKNOWN_SERVER_ERROR)
    return response


def _commit_bytes_min(request: OffsetCommitRequest) -> int:
    """What writing a commit down takes at least, without a look at each offset."""
    each = _COMMIT_BYTES_MIN + len(request.group_id)
    return sum((each + len(topic.name)) * len(topic.partitions) for topic in request.topics)


def _refused(request: OffsetCommitRequest, code: ErrorCode) -> OffsetCommitResponse:
    """The answer to a commit that may be very large, of which nothing is taken."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=code)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _commit_topic(
    turn: Turn,
    topics: TopicLookup,
    request: OffsetCommitRequest,
    topic: OffsetCommitRequestTopic,
    version: int,
    refusal: ErrorCode,
) -> OffsetCommitResponseTopic:
    name, topic_id, missing = _resolved(topics, topic, version)
    partition_count = topics.partition_count(name) or 0
    answers = []
    for partition in topic.partitions:
        code = missing or _refusal(turn, partition, partition_count, refusal)
        if code is ErrorCode.NONE:
            committed = _committed(turn.now_ms, request, partition, topic_id)
            turn.result.records.append(offset_record(request.group_id, name, partition.partition_index, committed))
        answers.append(OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code))
    return OffsetCommitResponseTopic(name=name, topic_id=topic_id, partitions=answers)


def _resolved(topics: TopicLookup, topic: OffsetCommitRequestTopic, version: int) -> tuple[str, bytes, ErrorCode]:
    """Name and id of a topic, of which the request carries one, or the error that one of them is unknown."""
    if version >= TOPIC_IDS_FROM:
        name = topics.name_of(topic.topic_id)
        return (name, topic.topic_id, ErrorCode.NONE) if name else ("", topic.topic_id, ErrorCode.UNKNOWN_TOPIC_ID)
    topic_id = topics.id_of(topic.name)
    if topic_id is None:
        return topic.name, NO_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return topic.name, topic_id, ErrorCode.NONE


def _refusal(
    turn: Turn, partition: OffsetCommitRequestPartition, partition_count: int, by_group: ErrorCode
) -> ErrorCode:
    """Why a partition's offset is not taken, in the order in which Kafka looks at it."""
    if not 0 <= partition.partition_index < partition_count:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if by_group is not ErrorCode.NONE:
        return by_group
    if len(partition.committed_metadata or "") > turn.settings.offset_metadata_chars_max:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    return ErrorCode.NONE


def _committed(
    now_ms: int, request: OffsetCommitRequest, partition: OffsetCommitRequestPartition, topic_id: bytes
) -> CommittedOffset:
    retention_ms = request.retention_time_ms
    return CommittedOffset(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        committed_ms=now_ms,
        expires_ms=None if retention_ms == _DEFAULT_RETENTION else now_ms + retention_ms,
        topic_id=topic_id,
    )
