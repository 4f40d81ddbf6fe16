"""What coordinators need of the node around them."""

from collections.abc import Callable
from typing import Protocol

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Entropy
from penstock.core.groups.topics import TopicLookup
from penstock.core.metadata.image import Image
from penstock.core.node.host import Host
from penstock.core.wire.schema import Request, Response


class Imaged(Protocol):
    """Whoever has the current image."""

    @property
    def image(self) -> Image: ...


class Brokers(Protocol):
    """The way to any broker."""

    def send(
        self, broker_id: int, purpose: str, request: Request, then: Callable[[Response | ErrorCode], None]
    ) -> None: ...


class ShareSetup(Protocol):
    """The way to share coordinators, whichever brokers they are."""

    def ask(self, request: Request, then: Callable[[Response], None]) -> None: ...


class Connected(Protocol):
    """A place in a cluster."""

    @property
    def share_setup(self) -> ShareSetup: ...

    @property
    def brokers(self) -> Brokers: ...


class ProducerIdStock(Protocol):
    """Producer ids that the cluster has promised to this node."""

    def has_stock(self) -> bool: ...

    def take_now(self) -> int | None: ...


class CoordinatorHost(Host, Imaged, Protocol):
    """The node that leads the coordinators' partitions."""

    @property
    def entropy(self) -> Entropy: ...

    @property
    def cluster(self) -> Connected: ...

    @property
    def producer_ids(self) -> ProducerIdStock: ...

    @property
    def topic_lookup(self) -> TopicLookup: ...
