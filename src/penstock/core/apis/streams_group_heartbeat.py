"""StreamsGroupHeartbeat (88). Version 0: members of groups who share the tasks of an application (KIP-1071).

Topics that the application needs between its parts are created here, for who may create them: the member hears
meanwhile that they are missing, and comes again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from penstock.core.apis.asking import ask_shards
from penstock.core.apis.places import by_coordinator
from penstock.core.apis.rights import may
from penstock.core.apis.streams_groups import where_served
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.groups.routing import partition_for_group
from penstock.core.groups.streams.configuring import MISSING_INTERNAL_TOPICS, configure
from penstock.core.groups.streams.group import StreamsGroup
from penstock.core.groups.streams.topology import InternalTopic
from penstock.core.metadata.topics import check_topic_name
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, Resource, Touches, on_groups
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.authorizing import Question
from penstock.core.node.serving.slots import Slot
from penstock.core.partition.partition import INTERNAL_TOPICS
from penstock.core.wire import Message
from penstock.core.wire.api.create_topics import CreatableTopic, CreatableTopicConfig
from penstock.core.wire.api.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Topology,
)
from penstock.core.wire.schema import Response

SHOWN_MAX: Final = 3


def handle(node: Node, request: StreamsGroupHeartbeatRequest, slot: Slot) -> Answer:
    if wrong := _wrong_names(request.topology):
        node.error(slot.api.name, ErrorCode.STREAMS_INVALID_TOPOLOGY)
        return StreamsGroupHeartbeatResponse(error_code=ErrorCode.STREAMS_INVALID_TOPOLOGY, error_message=wrong)

    def merge(parts: list[Message]) -> Message:
        (answer,) = parts
        assert isinstance(answer, StreamsGroupHeartbeatResponse)
        for status in answer.status or ():
            if status.status_code == MISSING_INTERNAL_TOPICS:
                status.status_detail += _created(node, slot, _missing(node, request.group_id))
        return answer

    shard = partition_for_group(request.group_id, node.coordinators.groups.count)
    return ask_shards(node, slot, {shard: request}, merge, slot.version)


def _missing(node: Node, group_id: str) -> list[InternalTopic]:
    """By what is on record of the group now."""
    try:
        group = node.coordinators.groups.find(group_id).machine.groups.get(group_id)
        if not isinstance(group, StreamsGroup) or group.topology is None:
            return []
        configured = group.configured or configure(group.topology, node.topic_lookup)
    except ApiError:
        return []
    return [configured.internal[name] for name in configured.missing]


def _created(node: Node, slot: Slot, topics: list[InternalTopic]) -> str:
    """Have them created, and say why that did not work."""
    if not may(node, slot, Operation.CREATE, Resource.CLUSTER):
        hidden = [each.name for each in topics if not may(node, slot, Operation.CREATE, Resource.TOPIC, each.name)]
        if hidden:
            return f"; Unauthorized to CREATE on topics {', '.join(hidden)}."
    node.cluster.streams_topics.create(map(_creatable, topics))
    age_ms_max = 2 * node.settings["group.streams.heartbeat.interval.ms"]
    failures = node.cluster.streams_topics.failures([each.name for each in topics], age_ms_max)
    if not failures:
        return ""
    shown = ", ".join(f"{name} ({why})" for name, why in [*failures.items()][:SHOWN_MAX])
    rest = len(failures) - SHOWN_MAX
    return f"; Creation failed: {shown}{f' and {rest} more' if rest > 0 else ''}."


def _creatable(topic: InternalTopic) -> CreatableTopic:
    return CreatableTopic(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=topic.copies or -1,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in topic.configs],
    )


def _named(topology: Topology | None) -> Iterator[str]:
    for each in () if topology is None else topology.subtopologies:
        yield from (*each.source_topics, *each.repartition_sink_topics)
        yield from (topic.name for topic in (*each.repartition_source_topics, *each.state_changelog_topics))


def _wrong_names(topology: Any) -> str | None:
    names = list(dict.fromkeys(_named(topology)))
    if internal := [each for each in names if each in INTERNAL_TOPICS]:
        return f"Use of Kafka internal topics {','.join(internal)} in a Kafka Streams topology is prohibited."
    if invalid := [each for each in names if not _is_valid(each)]:
        return f"Topic names {','.join(invalid)} are not valid topic names."
    return None


def _is_valid(name: str) -> bool:
    try:
        check_topic_name(name)
    except ApiError:
        return False
    return True


def authorize(question: Question) -> Response | None:
    """A member may describe all topics of its application, or is none."""
    request = question.request
    if not question.may(Operation.READ, Resource.GROUP, request.group_id):
        return question.refuse(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    for name in _named(request.topology) if _wrong_names(request.topology) is None else ():
        if not question.may(Operation.DESCRIBE, Resource.TOPIC, name):
            return question.refuse(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return None


CREATE = Touches(Operation.CREATE, Resource.TOPIC, unless=Touches(Operation.CREATE, Resource.CLUSTER))

API = Api(
    StreamsGroupHeartbeatRequest,
    range(1),
    by_coordinator(where_served(handle)),
    (*on_groups(Operation.READ, "group_id"), Touches(Operation.DESCRIBE, Resource.TOPIC), CREATE),
    authorize=authorize,
)
