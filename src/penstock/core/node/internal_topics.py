"""Topics that come into being because somebody needs them: on first use, or for a coordinator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.topics import active_brokers, plan_topic
from penstock.core.node.channel import FORWARD
from penstock.core.node.coordinators import OFFSETS_TOPIC
from penstock.core.wire.api.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from penstock.core.wire.schema import Response, StoredRecord

if TYPE_CHECKING:
    from penstock.core.node.node import Node


def create_missing(node: Node, names: list[str], done: Callable[[ErrorCode], None]) -> None:
    """Create topics by name with the broker's defaults; what exists by now or cannot be is left out."""
    if not node.quorum.leads:
        _ask_controller(node, names, done)
        return
    records: list[StoredRecord] = []
    for name in names:
        try:
            records += plan_topic(node.quorum.latest, node.settings, _wanted(node, name), node.new_id).records()
        except ApiError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                node.log("warning", f"topic {name} was not created: {error.message}")
    if records:
        node.submit(records, done)
    else:
        done(ErrorCode.NONE)


def _ask_controller(node: Node, names: list[str], done: Callable[[ErrorCode], None]) -> None:
    """What the topics are like is this broker's affair; whether they may be, the controller's."""
    timeout_ms = node.settings["request.timeout.ms"]
    request = CreateTopicsRequest(topics=[_wanted(node, name) for name in names], timeout_ms=timeout_ms)

    def heard(answer: Response | None) -> None:
        for topic in answer.topics if isinstance(answer, CreateTopicsResponse) else ():
            if topic.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                node.log("warning", f"topic {topic.name} was not created: {topic.error_message}")
        done(ErrorCode.REQUEST_TIMED_OUT if answer is None else ErrorCode.NONE)

    node.cluster.channel.ask(request, timeout_ms, heard, FORWARD, lambda: create_missing(node, names, done))


def _wanted(node: Node, name: str) -> CreatableTopic:
    if name != OFFSETS_TOPIC:
        return CreatableTopic(name=name, num_partitions=-1, replication_factor=-1)
    settings = node.settings
    configs = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": str(settings["offsets.topic.segment.bytes"]),
    }
    return CreatableTopic(
        name=name,
        num_partitions=settings["offsets.topic.num.partitions"],
        # A cluster smaller than the setting gets as many replicas as it has brokers, rather than no groups at all.
        replication_factor=min(settings["offsets.topic.replication.factor"], len(active_brokers(node.image))),
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )
