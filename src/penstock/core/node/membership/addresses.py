"""Where other brokers are reached: by the listener that this one uses among brokers, or else by their first."""

from __future__ import annotations

from typing import Protocol

from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.brokers import BrokerImage
from penstock.core.metadata.image import Image
from penstock.core.node.links.link import Address


class Located(Protocol):
    """The node that knows the others."""

    @property
    def settings(self) -> BrokerSettings: ...

    @property
    def image(self) -> Image: ...


class BrokerAddresses:
    """By broker id. Looked up for every fetch, so what was found is kept while the registration is the same."""

    def __init__(self, node: Located) -> None:
        self._node = node
        self._found: dict[int, tuple[BrokerImage | None, Address | None]] = {}

    def of(self, broker_id: int) -> Address | None:
        broker = self._node.image.brokers.get(broker_id)
        known, address = self._found.get(broker_id, (None, None))
        if broker is known:
            return address
        address = None
        if broker is not None and broker.endpoints:
            point = broker.endpoint(self._node.settings.inter_broker_listener) or broker.endpoints[0]
            address = Address(point.host, point.port)
        self._found[broker_id] = broker, address
        return address
