"""Which connections are let in: as many as there are descriptors for, as settings and quotas allow."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from penstock.core.node.serving.connection_rate import ConnectionRate
from penstock.core.node.serving.limits import UNLIMITED
from penstock.core.node.serving.ports import Gate

if TYPE_CHECKING:
    from penstock.core.node.serving.connection import Connection


class Admission:
    """Looks at those that are open already."""

    def __init__(self, node: Gate) -> None:
        self._node = node
        self.connections_allowed: int | None = None
        """How many connections of clients the process has descriptors for; None if that is no concern."""
        self.rate = ConnectionRate(node, node.settings)

    def admits(self, host: str, listener: str, connections: Collection[Connection]) -> bool:
        allowed, node = self.connections_allowed, self._node
        is_voter = listener in node.controller_listeners
        if allowed is not None and len(connections) >= allowed and not is_voter:
            # Voters have a share of what is kept in reserve: a quorum must not hang on how many clients there are.
            self._tell_of_limit(allowed)
            return False
        if len(connections) >= node.limits.connections_max:
            return False
        per_ip_max = node.limits.per_ip_max(host)
        if per_ip_max < UNLIMITED and sum(each.host == host for each in connections) >= per_ip_max:
            return False
        return is_voter or self.rate.admits(host, node.limits.connection_rate_max)

    def _tell_of_limit(self, allowed: int) -> None:
        what = f"connections are refused: {allowed} are open, and this process may have no more descriptors"
        remedy = "raise its limit (ulimit -Hn), or bound clients with max.connections.per.ip"
        self._node.log("warning", "network", f"{what}; {remedy}")
