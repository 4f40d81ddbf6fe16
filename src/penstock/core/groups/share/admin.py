"""What tools ask about the offsets of a share group: AlterShareGroupOffsets and DeleteShareGroupOffsets."""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.elsewhere import Codes
from penstock.core.groups.share.group import ShareGroup
from penstock.core.groups.share.setting_up import deletable
from penstock.core.groups.share.state_partitions import Named, Topics
from penstock.core.groups.topics import NO_TOPIC_ID, TopicLookup
from penstock.core.wire.api import alter_share_group_offsets as altering
from penstock.core.wire.api import delete_share_group_offsets as deleting

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def wanted_starts(
    lookup: TopicLookup, request: altering.AlterShareGroupOffsetsRequest
) -> tuple[Topics, dict[tuple[bytes, int], int]]:
    """Partitions that there are, and where each is to begin."""
    topics: dict[bytes, Named] = {}
    starts = {}
    for topic in request.topics:
        topic_id, count = lookup.id_of(topic.topic_name), lookup.partition_count(topic.topic_name) or 0
        known = {each.partition_index: each.start_offset for each in topic.partitions}
        valid = frozenset(each for each in known if 0 <= each < count)
        if topic_id is not None and valid:
            topics[topic_id] = Named(topic.topic_name, valid)
            starts.update({(topic_id, each): known[each] for each in valid})
    return topics, starts


def altered(
    lookup: TopicLookup, request: altering.AlterShareGroupOffsetsRequest, codes: Codes
) -> altering.AlterShareGroupOffsetsResponse:
    """What was not asked of a share coordinator is not there."""
    responses = []
    for topic in request.topics:
        topic_id = lookup.id_of(topic.topic_name) or NO_TOPIC_ID
        partitions = []
        for each in topic.partitions:
            code = codes.get((topic_id, each.partition_index), UNKNOWN)
            partitions.append(
                altering.AlterShareGroupOffsetsResponsePartition(
                    partition_index=each.partition_index, error_code=code, error_message=_message(code)
                )
            )
        responses.append(
            altering.AlterShareGroupOffsetsResponseTopic(
                topic_name=topic.topic_name, topic_id=topic_id, partitions=partitions
            )
        )
    return altering.AlterShareGroupOffsetsResponse(responses=responses)


def deletable_topics(
    lookup: TopicLookup, group: ShareGroup, request: deleting.DeleteShareGroupOffsetsRequest
) -> Topics:
    """Those of the request whose state is set up, or was to be deleted before."""
    named = {lookup.id_of(each.topic_name) for each in request.topics}
    known = {*group.states.initialized, *group.states.deleting}
    return {each: topic for each, topic in deletable(lookup, group).items() if each in named and each in known}


def deleted(
    lookup: TopicLookup, request: deleting.DeleteShareGroupOffsetsRequest, topics: Topics, code: ErrorCode
) -> deleting.DeleteShareGroupOffsetsResponse:
    responses = []
    for topic in request.topics:
        topic_id = lookup.id_of(topic.topic_name)
        found = code if topic_id in topics else UNKNOWN
        why = "There is no offset information to delete." if topic_id is not None and found is UNKNOWN else None
        responses.append(
            deleting.DeleteShareGroupOffsetsResponseTopic(
                topic_name=topic.topic_name,
                topic_id=topic_id or NO_TOPIC_ID,
                error_code=found,
                error_message=why or _message(found),
            )
        )
    return deleting.DeleteShareGroupOffsetsResponse(responses=responses)


def _message(code: ErrorCode) -> str | None:
    return None if code is ErrorCode.NONE else code.name
