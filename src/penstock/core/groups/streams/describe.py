"""StreamsGroupDescribe, version 0, and a streams group's line in ListGroups."""

from __future__ import annotations

from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.group import Group
from penstock.core.groups.streams.group import StreamsGroup
from penstock.core.groups.streams.member import StreamsMember
from penstock.core.groups.streams.tasks import Roles, Tasks
from penstock.core.groups.streams.topology import InternalTopic
from penstock.core.wire.api.list_groups import ListedGroup
from penstock.core.wire.api.streams_group_describe import (
    Assignment,
    DescribedGroup,
    Endpoint,
    KeyValue,
    Member,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)

PROTOCOL_TYPE: Final = "streams"


def describe(group_id: str, group: Group | None) -> DescribedGroup:
    if not isinstance(group, StreamsGroup):
        why = f"Group {group_id} {'not found' if group is None else 'is not a streams group'}."
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=why)
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        topology=_topology(group),
        members=[_member(group, each) for each in group.members.values()],
    )


def listed(group: StreamsGroup) -> ListedGroup:
    return ListedGroup(
        group_id=group.group_id, protocol_type=PROTOCOL_TYPE, group_state=group.state, group_type=group.kind
    )


def _topology(group: StreamsGroup) -> Topology | None:
    """With the partitions that internal topics have, once all of them are there."""
    if group.topology is None:
        return None
    known = group.configured.internal if group.configured is not None and group.configured.is_ready else {}
    return Topology(
        epoch=group.topology.epoch,
        subtopologies=[
            Subtopology(
                subtopology_id=each.name,
                source_topics=[*each.sources],
                repartition_sink_topics=[*each.repartition_sinks],
                state_changelog_topics=[_topic(known.get(topic.name, topic)) for topic in each.changelogs],
                repartition_source_topics=[_topic(known.get(topic.name, topic)) for topic in each.repartition_sources],
            )
            for each in group.topology.subtopologies
        ],
    )


def _topic(topic: InternalTopic) -> TopicInfo:
    return TopicInfo(
        name=topic.name,
        partitions=topic.partitions,
        replication_factor=topic.copies,
        topic_configs=[KeyValue(key=key, value=value) for key, value in topic.configs],
    )


def _member(group: StreamsGroup, member: StreamsMember) -> Member:
    endpoint = member.endpoint
    return Member(
        member_id=member.member_id,
        member_epoch=member.epoch,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if endpoint is None else Endpoint(host=endpoint[0], port=endpoint[1]),
        client_tags=[KeyValue(key=key, value=value) for key, value in member.tags],
        assignment=_assignment(member.assigned),
        target_assignment=_assignment(group.target(member.member_id)),
    )


def _assignment(roles: Roles) -> Assignment:
    active, standby, warmup = map(_ids, roles)
    return Assignment(active_tasks=active, standby_tasks=standby, warmup_tasks=warmup)


def _ids(tasks: Tasks) -> list[TaskIds]:
    return [TaskIds(subtopology_id=name, partitions=sorted(numbers)) for name, numbers in tasks.items()]
