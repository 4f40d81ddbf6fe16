"""What sharing needs of the node around it."""

from __future__ import annotations

from typing import Protocol

from penstock.core.node.fetching.ports import FetchHost
from penstock.core.node.membership.broker_channel import BrokerChannel


class Brokered(Protocol):
    """The way to other brokers."""

    @property
    def brokers(self) -> BrokerChannel: ...


class SharingHost(FetchHost, Protocol):
    """The node that leads partitions which share groups read."""

    @property
    def cluster(self) -> Brokered: ...

    @property
    def node_id(self) -> int: ...
