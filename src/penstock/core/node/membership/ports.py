"""What a node's membership needs of the node around it."""

from collections.abc import Mapping, Sequence, Set
from typing import Any, Protocol

from penstock.core.base.endpoints import Endpoint
from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Steps
from penstock.core.metadata.image import Image
from penstock.core.metadata.storage import Meta
from penstock.core.node.host import Host, Mortal
from penstock.core.node.links.links import Links
from penstock.core.node.membership.channel import ControllerChannel
from penstock.core.node.observing.metrics import Metrics
from penstock.core.node.quorum.quorum import Quorum
from penstock.core.node.serving.api import Api
from penstock.core.node.serving.slots import Slot
from penstock.core.partition.replicated import LeaderContext
from penstock.core.wire import Message


class Incarnate(Protocol):
    """Where this process stands among those that had its folder."""

    @property
    def incarnation(self) -> bytes: ...


class Shared(Protocol):
    """What this node replicates together with others."""

    @property
    def around(self) -> LeaderContext: ...

    def unheard_leaders(self) -> Set[int]: ...


class Forwarder(Host, Protocol):
    """The node that forwards what its clients ask."""

    def run_steps(self, slot: Slot, steps: Steps[Message]) -> None: ...

    def error(self, api: str, code: ErrorCode) -> int: ...


class Registered(Protocol):
    """A broker's way to the controller."""

    @property
    def channel(self) -> ControllerChannel: ...

    @property
    def broker_epoch(self) -> int: ...


class Asking(Host, Protocol):
    """The node that asks the controller for something of its own."""

    @property
    def node_id(self) -> int: ...

    @property
    def image(self) -> Image: ...

    @property
    def cluster(self) -> Registered: ...


class MemberHost(Mortal, Forwarder, Asking, Protocol):
    """The node that is a member of a cluster."""

    @property
    def node_id(self) -> int: ...

    @property
    def is_broker(self) -> bool: ...

    @property
    def host_name(self) -> str | None: ...

    @property
    def disk_full(self) -> bool: ...

    @property
    def advertised(self) -> Sequence[Endpoint]: ...

    @property
    def apis(self) -> Mapping[int, Api[Any]]: ...

    @property
    def meta(self) -> Meta: ...

    @property
    def image(self) -> Image: ...

    @property
    def links(self) -> Links: ...

    @property
    def metrics(self) -> Metrics: ...

    @property
    def quorum(self) -> Quorum: ...

    @property
    def lineage(self) -> Incarnate: ...

    @property
    def replication(self) -> Shared: ...

    def new_id(self) -> bytes: ...
