"""Who coordinates what share partitions keep, and which answers of it are no last word."""

from __future__ import annotations

from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.routing import partition_for_group
from penstock.core.metadata.image import NO_LEADER, Image
from penstock.core.node.coordination.share_state import SHARE_STATE_TOPIC
from penstock.core.share_state.key import SharePartition

RETRY_MS: Final = 100
PASSING: Final = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)
"""Asked again, it may be answered."""


def coordinator_of(image: Image, key: SharePartition) -> int | None:
    """The broker, or None while nobody is."""
    topic = image.topic(SHARE_STATE_TOPIC)
    if topic is None:
        return None
    leader = int(topic.leaders[partition_for_group(key.text, len(topic))])
    return None if leader == NO_LEADER else leader
