"""ShareGroupDescribe, version 1, and a share group's line in ListGroups."""

from __future__ import annotations

from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.group import Group
from penstock.core.groups.share.group import ShareGroup
from penstock.core.groups.share.member import ShareMember
from penstock.core.groups.topics import TopicLookup
from penstock.core.wire.api.list_groups import ListedGroup
from penstock.core.wire.api.share_group_describe import Assignment, DescribedGroup, Member, TopicPartitions

ASSIGNOR: Final = "simple"
PROTOCOL_TYPE: Final = "share"


def describe(topics: TopicLookup, group_id: str, group: Group | None) -> DescribedGroup:
    if not isinstance(group, ShareGroup):
        why = f"Group {group_id} {'not found' if group is None else 'is not a share group'}."
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=why)
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=ASSIGNOR,
        members=[_member(topics, member) for member in group.members.values()],
    )


def listed(group: ShareGroup) -> ListedGroup:
    return ListedGroup(
        group_id=group.group_id, protocol_type=PROTOCOL_TYPE, group_state=group.state, group_type=group.kind
    )


def _member(topics: TopicLookup, member: ShareMember) -> Member:
    """Topics that are gone have no names."""
    named = [(topics.name_of(each), each, numbers) for each, numbers in sorted(member.assigned.items())]
    return Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        assignment=Assignment(
            topic_partitions=[
                TopicPartitions(topic_id=each, topic_name=name, partitions=sorted(numbers))
                for name, each, numbers in named
                if name is not None
            ]
        ),
    )
