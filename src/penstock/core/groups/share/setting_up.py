"""Share partitions are set up at share coordinators before anybody is told to read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.elsewhere import Codes
from penstock.core.groups.share.group import ShareGroup
from penstock.core.groups.share.state_partitions import Named, Topics
from penstock.core.groups.topics import TopicLookup
from penstock.core.groups.turn import Turn
from penstock.core.wire.api.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteStateData,
)
from penstock.core.wire.api.delete_share_group_state import PartitionData as DeletedPartition
from penstock.core.wire.api.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeStateData,
    PartitionData,
)

UNKNOWN_START: Final = -1
"""Where to begin is found out by the partition's leader, by the group's settings."""
GONE: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
"""Nobody reads it any more, and its state went with it."""


def missing(turn: Turn, topics: TopicLookup, group: ShareGroup, names: Iterable[str]) -> Topics:
    """What is to be set up of these topics now."""
    retry_before_ms = turn.now_ms - turn.settings.share_initialize_retry_ms
    return group.states.missing(_every(topics, names), retry_before_ms)


def _every(topics: TopicLookup, names: Iterable[str]) -> Topics:
    found = {}
    for name in sorted(names):
        topic_id, count = topics.id_of(name), topics.partition_count(name)
        if topic_id is not None and count:
            found[topic_id] = Named(name, frozenset(range(count)))
    return found


def is_unread(topics: TopicLookup, group: ShareGroup, names: Iterable[str]) -> bool:
    """Whether something of these topics is set up that the target gives to nobody, or the other way round."""
    given: dict[bytes, set[int]] = {}
    for target in group.targets.values():
        for topic_id, partitions in target.items():
            given.setdefault(topic_id, set()).update(partitions)
    for name in names:
        found = topics.id_of(name)
        known = None if found is None else group.states.initialized.get(found)
        if found is not None and known is not None and given.get(found, set()) != known.partitions:
            return True
    return False


def initialize_request(
    group_id: str, state_epoch: int, topics: Topics, starts: Mapping[tuple[bytes, int], int] | None = None
) -> InitializeShareGroupStateRequest:
    known = starts or {}
    return InitializeShareGroupStateRequest(
        group_id=group_id,
        topics=[
            InitializeStateData(
                topic_id=topic_id,
                partitions=[
                    PartitionData(
                        partition=each,
                        state_epoch=state_epoch,
                        start_offset=known.get((topic_id, each), UNKNOWN_START),
                    )
                    for each in sorted(partitions)
                ],
            )
            for topic_id, (_, partitions) in sorted(topics.items())
        ],
    )


def delete_request(group_id: str, topics: Topics) -> DeleteShareGroupStateRequest:
    return DeleteShareGroupStateRequest(
        group_id=group_id,
        topics=[
            DeleteStateData(
                topic_id=topic_id, partitions=[DeletedPartition(partition=each) for each in sorted(partitions)]
            )
            for topic_id, (_, partitions) in sorted(topics.items())
        ],
    )


def done(topics: Topics, codes: Codes) -> Topics:
    """What has been set up of these."""
    found = {}
    for topic_id, (name, partitions) in topics.items():
        kept = frozenset(each for each in partitions if codes.get((topic_id, each)) is ErrorCode.NONE)
        if kept:
            found[topic_id] = Named(name, kept)
    return found


def deletable(topics: TopicLookup, group: ShareGroup) -> Topics:
    """All that share coordinators may keep about a group: also what was to be deleted, and perhaps was not."""
    found = dict(group.states.known())
    for topic_id, name in group.states.deleting.items():
        count = topics.partition_count(name) if topics.name_of(topic_id) == name else None
        before = found[topic_id].partitions if topic_id in found else frozenset()
        found[topic_id] = Named(name, frozenset(range(count or 0)) | before)
    return {topic_id: each for topic_id, each in found.items() if each.partitions}


def failures(codes: Codes) -> list[ErrorCode]:
    """What went wrong, apart from what has gone meanwhile."""
    return [code for code in codes.values() if code not in (ErrorCode.NONE, GONE)]


def told(code: ErrorCode) -> ErrorCode:
    """What a client can do something with: it comes again."""
    passing = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NETWORK_EXCEPTION)
    return ErrorCode.COORDINATOR_NOT_AVAILABLE if code in passing else code
