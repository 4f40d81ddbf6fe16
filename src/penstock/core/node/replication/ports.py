"""What replication needs of the node around it."""

from typing import Protocol

from penstock.core.metadata.image import Image
from penstock.core.node.host import Host
from penstock.core.node.links.links import Links
from penstock.core.node.membership.cluster import Cluster
from penstock.core.node.quorum.quorum import Quorum


class ReplicationHost(Host, Protocol):
    """The node that follows, and is followed."""

    @property
    def node_id(self) -> int: ...

    @property
    def is_broker(self) -> bool: ...

    @property
    def image(self) -> Image: ...

    @property
    def links(self) -> Links: ...

    @property
    def cluster(self) -> Cluster: ...

    @property
    def quorum(self) -> Quorum: ...
