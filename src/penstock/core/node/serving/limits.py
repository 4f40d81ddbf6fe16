"""The bounds of a node, gathered in one place and named with their unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.core.base.settings import BrokerSettings, ip_limits
from penstock.core.base.values import frozen
from penstock.core.wire.registry import api_key

UNLIMITED = 2**31 - 1
COSTLY_ELEMENTS_MAX: Final = 12_000
NAMED_ELEMENTS_MAX: Final = 30_000
"""Elements of a request in which each one takes some ten microseconds, and in one of which each takes some."""
ELEMENTS_PER_TURN_MAX: Final = 2_000
"""Elements of arrays in these requests: again some milliseconds. A request that has more of them is served in a turn of
its own, and no other such request of any connection before it is answered or waits for something."""
PLAIN_FRAME_BYTES_MAX: Final = 16 << 20
"""Of a request that carries no records. As many elements as it may have, with names of a hundred bytes, are less."""
_COSTLY = ("Produce", "AlterConfigs", "IncrementalAlterConfigs", "LeaveGroup", "OffsetDelete")
_NAMED = (
    "Metadata",
    "FindCoordinator",
    "DescribeGroups",
    "DeleteGroups",
    "DescribeConfigs",
    "DescribeProducers",
    "DeleteRecords",
    "AlterPartitionReassignments",
    "ListPartitionReassignments",
)
_ELEMENTS_MAX: Final = {
    **{api_key(name): COSTLY_ELEMENTS_MAX for name in _COSTLY},
    **{api_key(name): NAMED_ELEMENTS_MAX for name in _NAMED},
}


@frozen
class Limits:
    """Bounds that the hot path compares against, taken from the settings once."""

    frame_bytes_max: int
    plain_frame_bytes_max: int
    unfinished_bytes_max: int
    frame_stall_ms_max: int
    request_elements_max: int
    turn_elements_max: int
    slots_max: int
    output_bytes_max: int
    unread_bytes_max: int
    connections_max: int
    connections_per_ip_max: int
    connection_rate_max: int
    connections_by_ip_max: Mapping[str, int]
    idle_ms_max: int
    fetch_bytes_max: int
    staged_bytes_max: int
    sessions_max: int
    reads_near: bool
    """Whether readers are sent to a replica in their own rack: the only selector that there is."""

    @classmethod
    def of(cls, settings: BrokerSettings) -> Limits:
        return cls(
            frame_bytes_max=settings["socket.request.max.bytes"],
            plain_frame_bytes_max=min(settings["socket.request.max.bytes"], PLAIN_FRAME_BYTES_MAX),
            unfinished_bytes_max=_unfinished_bytes_max(settings),
            frame_stall_ms_max=settings["penstock.frame.stall.ms.max"],
            request_elements_max=settings["penstock.request.elements.max"],
            turn_elements_max=min(ELEMENTS_PER_TURN_MAX, settings["penstock.request.elements.max"]),
            slots_max=settings["penstock.connection.slots.max"],
            output_bytes_max=settings["penstock.connection.bytes.max"],
            # The other half is for what is read from files ahead of its readers.
            unread_bytes_max=settings["penstock.response.bytes.max"] // 2,
            connections_max=settings["max.connections"],
            connections_per_ip_max=settings["max.connections.per.ip"],
            connection_rate_max=settings["max.connection.creation.rate"],
            connections_by_ip_max=ip_limits(settings["max.connections.per.ip.overrides"]),
            idle_ms_max=settings["connections.max.idle.ms"],
            fetch_bytes_max=settings["fetch.max.bytes"],
            staged_bytes_max=settings["penstock.batch.queue.bytes.max"],
            sessions_max=settings["max.incremental.fetch.session.cache.slots"],
            reads_near=settings["replica.selector.class"] is not None,
        )

    def elements_max(self, key: int) -> int:
        """How many elements a request of an API may have, those of nested arrays and tagged fields included."""
        return min(self.request_elements_max, _ELEMENTS_MAX.get(key, self.request_elements_max))

    def per_ip_max(self, host: str) -> int:
        return self.connections_by_ip_max.get(host, self.connections_per_ip_max)


def _unfinished_bytes_max(settings: BrokerSettings) -> int:
    """Kafka's own bound has no default; what is not more than 0 is none."""
    own: int = settings["penstock.frames.unfinished.bytes.max"]
    queued: int = settings["queued.max.request.bytes"]
    return min(own, queued) if queued > 0 else own
