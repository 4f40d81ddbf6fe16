"""What the storage needs of the node around it."""

from typing import Protocol

from penstock.core.node.host import Mortal
from penstock.core.node.observing.metrics import Metrics
from penstock.core.node.storage.lineage import Lineage


class StorageHost(Mortal, Protocol):
    """The node whose disk it is."""

    @property
    def disk_full(self) -> bool: ...

    @property
    def lineage(self) -> Lineage: ...

    @property
    def metrics(self) -> Metrics: ...

    def started(self, outcome: object) -> None: ...
