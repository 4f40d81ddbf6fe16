"""ConsumerGroupDescribe, versions 0 and 1, and a consumer group's line in ListGroups. Version 1 says of which protocol
a member is."""

from __future__ import annotations

from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.consumer.group import ConsumerGroup
from penstock.core.groups.consumer.member import ConsumerMember, Partitions, without_epochs
from penstock.core.groups.group import Group
from penstock.core.groups.topics import TopicLookup
from penstock.core.wire.api.consumer_group_describe import Assignment, DescribedGroup, Member, TopicPartitions
from penstock.core.wire.api.list_groups import ListedGroup

CLASSIC_MEMBER: Final = 0
CONSUMER_MEMBER: Final = 1
"""Speaks this protocol, and not the classic one."""
PROTOCOL_TYPE: Final = "consumer"


def describe(topics: TopicLookup, group_id: str, group: Group | None, default_assignor: str) -> DescribedGroup:
    if not isinstance(group, ConsumerGroup):
        why = "not found" if group is None else "is not a consumer group"
        return DescribedGroup(
            group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=f"Group {group_id} {why}."
        )
    wishes = [each.assignor for each in group.members.values() if each.assignor is not None]
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=max(wishes, key=wishes.count, default=default_assignor),
        members=[_member(topics, group, member) for member in group.members.values()],
    )


def listed(group: ConsumerGroup) -> ListedGroup:
    return ListedGroup(
        group_id=group.group_id,
        protocol_type=PROTOCOL_TYPE,
        group_state=group.state.value,
        group_type=group.kind,
    )


def _member(topics: TopicLookup, group: ConsumerGroup, member: ConsumerMember) -> Member:
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.pattern,
        assignment=_assignment(topics, without_epochs(member.assigned)),
        target_assignment=_assignment(topics, group.target(member.member_id)),
        member_type=CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
    )


def _assignment(topics: TopicLookup, partitions: Partitions) -> Assignment:
    """Of topics that still exist: the others have no names."""
    named = [(topics.name_of(topic_id), topic_id, numbers) for topic_id, numbers in sorted(partitions.items())]
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, topic_name=name, partitions=sorted(numbers))
            for name, topic_id, numbers in named
            if name is not None
        ]
    )
