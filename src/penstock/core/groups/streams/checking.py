"""What a heartbeat may not say, in the order in which Kafka looks at it.

Like Kafka 4.3, this coordinator serves no static members, no patterns of topics and no warm-up tasks.
"""

from __future__ import annotations

from typing import Any, Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.groups.streams.configuring import Configured
from penstock.core.groups.streams.member import StreamsMember
from penstock.core.groups.streams.tasks import Roles
from penstock.core.wire.api.streams_group_heartbeat import StreamsGroupHeartbeatRequest

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
LEAVE_STATIC_EPOCH: Final = -2


def check_request(request: StreamsGroupHeartbeatRequest) -> None:
    """Raise ApiError where it contradicts itself, or wants what there is not, whatever the group is."""
    _check_wishes(request)
    _check(request.member_id != "", "MemberId can't be empty.")
    _check(request.group_id != "", "GroupId can't be empty.")
    _check(request.rack_id != "", "RackId can't be empty.")
    said = (request.active_tasks, request.standby_tasks, request.warmup_tasks)
    if request.member_epoch == JOIN_EPOCH:
        _check_joining(request)
    elif request.member_epoch == LEAVE_STATIC_EPOCH:
        _check(False, "InstanceId can't be null.")
    elif request.member_epoch < LEAVE_STATIC_EPOCH:
        _check(False, f"MemberEpoch is {request.member_epoch}, but must be greater than or equal to -2.")
    is_all = all(each is None for each in said) or None not in said
    _check(is_all, "If one task-type is non-null, all must be non-null.")
    if request.member_epoch != JOIN_EPOCH:
        _check(request.topology is None, "Topology can only be provided when (re-)joining.")


def _check_wishes(request: StreamsGroupHeartbeatRequest) -> None:
    _check(request.instance_id is None, "Static membership is not yet supported.")
    _check(request.task_offsets is None, "TaskOffsets are not supported yet.")
    _check(request.task_end_offsets is None, "TaskEndOffsets are not supported yet.")
    _check(not request.warmup_tasks, "WarmupTasks are not supported yet.")
    for each in () if request.topology is None else request.topology.subtopologies:
        _check(not each.source_topic_regex, "Regular expressions for source topics are not supported yet.")


def _check_joining(request: StreamsGroupHeartbeatRequest) -> None:
    _check(request.rebalance_timeout_ms != -1, "RebalanceTimeoutMs must be provided in first request.")
    _check(not request.active_tasks, "ActiveTasks must be empty when (re-)joining.")
    _check(not request.standby_tasks, "StandbyTasks must be empty when (re-)joining.")
    _check(request.topology is not None, "Topology must be non-null when (re-)joining.")
    names = set()
    for each in [] if request.topology is None else request.topology.subtopologies:
        for topic in each.state_changelog_topics:
            is_open = topic.partitions == 0
            _check_topology(
                is_open,
                f"Changelog topic {topic.name} must have an undefined partition count, but it is set to "
                f"{topic.partitions}.",
            )
        _check_topology(each.subtopology_id not in names, f"Subtopology {each.subtopology_id} is named twice.")
        names.add(each.subtopology_id)
        for group in each.copartition_groups:
            is_there = _within(group.source_topics, each.source_topics) and not group.source_topic_regex
            is_there &= _within(group.repartition_source_topics, each.repartition_source_topics)
            _check_topology(is_there, f"A copartition group of subtopology {each.subtopology_id} names no topic of it.")


def check_epoch(member: StreamsMember, epoch: int, owned: Roles | None) -> None:
    """An epoch may be the one before: the answer with the next one was lost."""
    if epoch in (JOIN_EPOCH, member.epoch):
        return
    is_previous = epoch == member.previous_epoch and epoch < member.epoch
    if is_previous and owned is not None and owned.is_within(member.assigned):
        return
    compared = "greater" if epoch > member.epoch else "smaller"
    raise ApiError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The streams group member has a {compared} member epoch ({epoch}) than the one known by the group coordinator "
        f"({member.epoch}). The member must abandon all its partitions and rejoin.",
    )


def check_owned(configured: Configured, owned: Roles) -> None:
    for tasks in owned:
        for name, numbers in tasks.items():
            count = configured.tasks.get(name)
            _check(count is not None, f"Subtopology {name} does not exist in the topology.")
            for number in sorted(numbers):
                _check(
                    0 <= number < (count or 0),
                    f"Task {number} for subtopology {name} is invalid. Number of tasks for this subtopology: {count}",
                )


def _within(places: list[int], named: list[Any]) -> bool:
    return all(0 <= each < len(named) for each in places)


def _check(is_right: bool, message: str) -> None:
    if not is_right:
        raise ApiError(ErrorCode.INVALID_REQUEST, message)


def _check_topology(is_right: bool, message: str) -> None:
    if not is_right:
        raise ApiError(ErrorCode.STREAMS_INVALID_TOPOLOGY, message)
