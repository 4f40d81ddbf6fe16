"""A node's place in its cluster: its controller, the way to the active one, and its life as a broker there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.core.metadata.brokers import BrokerImage, Endpoint, record_of
from penstock.core.metadata.features import SUPPORTED_FEATURES
from penstock.core.metadata.storage import uuid_bytes
from penstock.core.node.channel import ControllerChannel
from penstock.core.node.controller.controller import Controller
from penstock.core.node.controller.opening import opening_records
from penstock.core.node.controller.ports import Surroundings
from penstock.core.node.forwarding import Forwarding
from penstock.core.node.introduction import Credentials, Introduction
from penstock.core.node.link import Address
from penstock.core.node.registrar import Profile, Registrar, State
from penstock.core.wire.schema import StoredRecord

if TYPE_CHECKING:
    from penstock.core.node.node import Node

PLAINTEXT = 0
LOOPBACK = "localhost"


class Cluster:
    """What connects the machines of a node that speak of the cluster. A node that stands alone is its own cluster: it
    controls itself, and registers without asking anybody."""

    def __init__(self, node: Node) -> None:
        """The quorum is open, and it is known whose folder this is."""
        self._node = node
        quorum = node.quorum
        around = Surroundings(
            node.node_id,
            node.meta.cluster_id,
            voters=lambda: quorum.voter_ids,
            led_ms=lambda: quorum.led_ms,
            probe=lambda host, port: node.links.probe(Address(host, port)),
        )
        self.controller = Controller(node, quorum, around)
        self.channel = ControllerChannel(node, node.links, self.controller, lambda: quorum.leader_address)
        self.forwarding = Forwarding(node, self.channel)
        self.registrar = Registrar(node, self.channel.ask, lambda: node.image.offset)
        self._introduction: Introduction | None = None
        self._is_leaving = False
        node.links.refused = self._refused

    def follow_leadership(self) -> None:
        """From now on this node controls the cluster whenever it leads the metadata log. Others must know of it then,
        if there are any."""
        if not self._node.quorum.is_alone:
            self._introduction = Introduction(self._node, _credentials_of(self._node), self.channel.ask)
        self._node.quorum.on_leadership(lambda leader_id, epoch: self._leadership_changed())
        if self._node.quorum.leads:
            self.controller.lead()

    def join(self, previous_epoch: int, serving: Callable[[], None]) -> None:
        """Register, and call once when this broker may lead. `previous_epoch` says how the last process stopped."""

        def entered(state: State) -> None:
            if state is State.SERVING:
                self.registrar.on_state = self._state_changed
                serving()
            else:
                self._state_changed(state)

        self.registrar.on_state = entered
        self.registrar.ready()
        self.registrar.start(_profile_of(self._node), previous_epoch)

    def lone_registration(self) -> list[StoredRecord]:
        """What the only node of a cluster writes when it starts: nobody need be asked, and nobody else could take what
        it leads, so it serves at once."""
        node, profile = self._node, _profile_of(self._node)
        broker = BrokerImage(
            node.node_id,
            node.quorum.end_offset,
            profile.incarnation,
            profile.endpoints,
            profile.rack,
            fenced=False,
            host=profile.host,
            features=profile.features,
            directories=profile.directories,
        )
        return [*opening_records(node.quorum.latest, node.settings), record_of(broker)]

    def leave(self, then: Callable[[], None]) -> None:
        """Hand over what this broker leads, as far as there is anybody to take it; then go on."""
        self._is_leaving = True
        if self._node.quorum.is_alone:
            then()
        elif self.registrar.state is not State.LEAVING:
            self.registrar.stop(lambda handed_over: then())

    def image_changed(self) -> None:
        """The node has acted on another image."""
        if self._introduction is not None:
            self._introduction.look(self._node.image)
        self.registrar.brokers = len(self._node.image.brokers)

    def _refused(self, address: Address) -> None:
        """Nobody listens there: it may be a broker, or the leader."""
        self.controller.refused(*address)
        self._node.quorum.refused(address)

    def _leadership_changed(self) -> None:
        if self._node.quorum.leads:
            self.controller.lead()
        else:
            self.controller.follow()
        self.registrar.controller_changed()
        self.channel.controller_changed()

    def _state_changed(self, state: State) -> None:
        if state is State.GONE and not self._is_leaving:
            self._node.fail("no controller has let this broker in; are the controllers running and reachable?")


def _credentials_of(node: Node) -> Credentials:
    # Who listens everywhere is found by the name of its machine.
    anywhere = node.host_name or LOOPBACK
    points = node.settings.listeners.controller
    endpoints = tuple(Endpoint(each.name, each.host or anywhere, each.port, PLAINTEXT) for each in points)
    return Credentials(node.node_id, node.new_id(), endpoints, SUPPORTED_FEATURES)


def _profile_of(node: Node) -> Profile:
    return Profile(
        node.node_id,
        node.meta.cluster_id,
        node.new_id(),
        tuple(Endpoint(point.name, point.host, point.port, PLAINTEXT) for point in node.advertised),
        SUPPORTED_FEATURES,
        (uuid_bytes(node.meta.directory_id),),
        node.settings["broker.rack"],
        node.host_name,
    )
