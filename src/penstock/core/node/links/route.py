"""By which of its listeners another node is asked, and as whom: that depends on whether it is asked as a controller."""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.core.base.endpoints import AUTHENTICATING
from penstock.core.base.settings import BrokerSettings
from penstock.core.node.links.purposes import TO_BROKERS, TO_CONTROLLERS
from penstock.core.peer.login import Identity


class Route(NamedTuple):
    """The name of a listener, and who we say we are there."""

    listener: str
    identity: Identity | None = None


OPEN_ROUTE: Final = Route("")


def route_of(settings: BrokerSettings, purpose: str) -> Route:
    """Looked up at every dial, since a password may have been changed."""
    assert purpose in TO_CONTROLLERS or purpose in TO_BROKERS, f"nobody says whom {purpose} is for"
    if purpose in TO_CONTROLLERS:
        listener, mechanism = settings.controller_listener, settings["sasl.mechanism.controller.protocol"]
    else:
        listener = settings.inter_broker_listener
        mechanism = settings.of_listener(listener)["sasl.mechanism.inter.broker.protocol"]
    if settings.protocol_of(listener) not in AUTHENTICATING:
        return Route(listener)
    module = settings.of_listener(listener).login_module(mechanism)
    login = None if module is None else module.login
    return Route(listener, None if login is None else Identity(mechanism, *login))
