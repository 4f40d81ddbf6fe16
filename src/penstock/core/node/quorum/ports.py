"""What the quorum needs of the node around it."""

from typing import Protocol

from penstock.core.base.ports import Entropy
from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.storage import Meta
from penstock.core.node.host import Mortal
from penstock.core.node.links.links import Links
from penstock.core.node.observing.metrics import Metrics


class Named(Protocol):
    """Whose replica of the metadata it is."""

    @property
    def node_id(self) -> int: ...

    @property
    def host_name(self) -> str | None: ...

    @property
    def settings(self) -> BrokerSettings: ...


class QuorumHost(Mortal, Named, Protocol):
    """The node that keeps a replica of the metadata log."""

    @property
    def entropy(self) -> Entropy: ...

    @property
    def meta(self) -> Meta: ...

    @property
    def links(self) -> Links: ...

    @property
    def metrics(self) -> Metrics: ...
