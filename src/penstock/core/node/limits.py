"""The bounds of a node, gathered in one place and named with their unit."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.base.settings import BrokerSettings, ip_limits
from penstock.core.base.values import frozen

UNLIMITED = 2**31 - 1


@frozen
class Limits:
    """Bounds that the hot path compares against, taken from the settings once."""

    frame_bytes_max: int
    slots_max: int
    output_bytes_max: int
    connections_max: int
    connections_per_ip_max: int
    connections_by_ip_max: Mapping[str, int]
    idle_ms_max: int
    fetch_bytes_max: int
    sessions_max: int
    reads_near: bool
    """Whether readers are sent to a replica in their own rack: the only selector that there is."""

    @classmethod
    def of(cls, settings: BrokerSettings) -> Limits:
        return cls(
            frame_bytes_max=settings["socket.request.max.bytes"],
            slots_max=settings["penstock.connection.slots.max"],
            output_bytes_max=settings["penstock.connection.bytes.max"],
            connections_max=settings["max.connections"],
            connections_per_ip_max=settings["max.connections.per.ip"],
            connections_by_ip_max=ip_limits(settings["max.connections.per.ip.overrides"]),
            idle_ms_max=settings["connections.max.idle.ms"],
            fetch_bytes_max=settings["fetch.max.bytes"],
            sessions_max=settings["max.incremental.fetch.session.cache.slots"],
            reads_near=settings["replica.selector.class"] is not None,
        )

    def per_ip_max(self, host: str) -> int:
        return self.connections_by_ip_max.get(host, self.connections_per_ip_max)
