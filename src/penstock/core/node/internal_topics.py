"""Topics that come into being because somebody needs them: on first use, or for a coordinator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.topics import active_brokers, plan_topic
from penstock.core.node.coordinators import OFFSETS_TOPIC
from penstock.core.wire.api.create_topics import CreatableTopic, CreatableTopicConfig
from penstock.core.wire.schema import StoredRecord

if TYPE_CHECKING:
    from penstock.core.node.node import Node


def create_missing(node: Node, names: list[str], done: Callable[[ErrorCode], None]) -> None:
    """Create topics by name with the broker's defaults; what exists by now or cannot be is left out."""
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
