"""Topics that come into being because somebody needs them: on first use, or for a coordinator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.topics import active_brokers
from penstock.core.node.coordination.groups import OFFSETS_TOPIC
from penstock.core.node.coordination.share_state import SHARE_STATE_TOPIC
from penstock.core.node.coordination.transactions import TRANSACTIONS_TOPIC
from penstock.core.node.links.purposes import FORWARD
from penstock.core.node.membership.ports import Asking
from penstock.core.wire.api.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from penstock.core.wire.schema import Response

AUDIT_TOPIC: Final = "__penstock_audit"
SEGMENTS_OF_TRAIL: Final = 10
SEGMENT_BYTES_MIN: Final = 1 << 20


def create_missing(node: Asking, names: list[str], done: Callable[[ErrorCode], None]) -> None:
    """Create topics by name with the broker's defaults; what exists by now or cannot be is left out.
    What the topics are like is this broker's affair; whether they may be, the controller's."""
    wanted = [_wanted(node, name) for name in names]
    create_like(
        node, wanted, lambda failures: done(ErrorCode.REQUEST_TIMED_OUT if failures is None else ErrorCode.NONE)
    )


def create_like(node: Asking, topics: list[CreatableTopic], done: Callable[[dict[str, str] | None], None]) -> None:
    """Create these topics; `done` hears why some were not, by name, or None where the controller did not answer."""
    timeout_ms = node.settings["request.timeout.ms"]

    def heard(answer: Response | None) -> None:
        failures = {}
        for topic in answer.topics if isinstance(answer, CreateTopicsResponse) else ():
            if topic.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                failures[topic.name] = why = topic.error_message or ErrorCode(topic.error_code).name
                node.log("warning", "membership", f"topic {topic.name} was not created: {why}")
        done(None if answer is None else failures)

    node.cluster.channel.ask(CreateTopicsRequest(topics=topics, timeout_ms=timeout_ms), timeout_ms, heard, FORWARD)


def _wanted(node: Asking, name: str) -> CreatableTopic:
    if name == OFFSETS_TOPIC:
        return _coordinators(node, name, "offsets.topic", {"compression.type": "producer"})
    if name == TRANSACTIONS_TOPIC:
        configs = {
            "compression.type": "uncompressed",
            "min.insync.replicas": _in_sync_min(node, "transaction.state.log"),
            "unclean.leader.election.enable": "false",
        }
        return _coordinators(node, name, "transaction.state.log", configs)
    if name == SHARE_STATE_TOPIC:
        return _share_state(node, name)
    if name == AUDIT_TOPIC:
        return _trail(node, name)
    return CreatableTopic(name=name, num_partitions=-1, replication_factor=-1)


def _share_state(node: Asking, name: str) -> CreatableTopic:
    """Its coordinators cut off what is not needed any more; nothing goes by age."""
    prefix = "share.coordinator.state.topic"
    configs = {
        "cleanup.policy": "delete",
        "compression.type": "producer",
        "min.insync.replicas": _in_sync_min(node, prefix),
        "retention.ms": "-1",
    }
    return _coordinators(node, name, prefix, configs)


def _coordinators(node: Asking, name: str, prefix: str, configs: dict[str, str]) -> CreatableTopic:
    """A topic over whose partitions coordinators are."""
    settings = node.settings
    configs = {"cleanup.policy": "compact", **configs, "segment.bytes": str(settings[f"{prefix}.segment.bytes"])}
    return CreatableTopic(
        name=name,
        num_partitions=settings[f"{prefix}.num.partitions"],
        replication_factor=_copies(node, prefix),
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )


def _trail(node: Asking, name: str) -> CreatableTopic:
    """It keeps so many bytes, a tenth of them in a segment: deleted are whole ones."""
    bytes_max: int = node.settings["penstock.audit.bytes.max"]
    configs = {
        "cleanup.policy": "delete",
        "retention.ms": "-1",
        "retention.bytes": str(bytes_max),
        "segment.bytes": str(max(bytes_max // SEGMENTS_OF_TRAIL, SEGMENT_BYTES_MIN)),
    }
    return CreatableTopic(
        name=name,
        num_partitions=1,
        replication_factor=_copies(node, "offsets.topic"),
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )


def _in_sync_min(node: Asking, prefix: str) -> str:
    """Fewer copies than its setting must not mean that it takes nothing."""
    return str(min(node.settings[f"{prefix}.min.isr"], _copies(node, prefix)))


def _copies(node: Asking, prefix: str) -> int:
    """A cluster smaller than the setting gets as many replicas as it has brokers, rather than no coordinators."""
    copies: int = node.settings[f"{prefix}.replication.factor"]
    return min(copies, len(active_brokers(node.image)))
