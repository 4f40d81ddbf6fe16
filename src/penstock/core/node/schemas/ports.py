"""What reading the registry's topic needs of the node around it."""

from __future__ import annotations

from typing import Protocol

from penstock.core.node.host import Mortal
from penstock.core.node.membership.broker_channel import BrokerChannel
from penstock.core.node.membership.ports import Asking, Registered
from penstock.core.node.storage.replicas import Replicas


class Reaching(Registered, Protocol):
    """A broker's way to the others."""

    @property
    def brokers(self) -> BrokerChannel: ...


class SchemaHost(Mortal, Asking, Protocol):
    """The node that folds the topic, and diverts what does not fit."""

    @property
    def replicas(self) -> Replicas: ...

    @property
    def cluster(self) -> Reaching: ...
