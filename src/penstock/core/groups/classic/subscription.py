"""What consumers subscribe to, read out of the metadata they send to each other.

The coordinator only needs the topics, and those are the first field of every version.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from penstock.core.wire import DecodeError
from penstock.core.wire.stored.consumer_protocol import ConsumerProtocolSubscription

_VERSION = struct.Struct(">h")


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """All topics named in these subscriptions, or None where one of them cannot be read."""
    topics: set[str] = set()
    try:
        for subscription in subscriptions:
            _VERSION.unpack_from(subscription)
            prefix, _ = ConsumerProtocolSubscription.decode_from(subscription, 0, _VERSION.size)
            topics.update(prefix.topics)
    except (struct.error, DecodeError):
        return None
    return frozenset(topics)
