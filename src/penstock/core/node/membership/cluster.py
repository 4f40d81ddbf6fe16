"""A node's place in its cluster: its controller, the way to the active one, and its life as a broker there."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.base.endpoints import Endpoint
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.brokers import BrokerImage, record_of
from penstock.core.metadata.features import SUPPORTED_FEATURES
from penstock.core.metadata.fold import Delta
from penstock.core.metadata.image import Image
from penstock.core.metadata.storage import uuid_bytes
from penstock.core.node.controller.controller import Controller
from penstock.core.node.controller.opening import opening_records
from penstock.core.node.controller.ports import ControllerContext
from penstock.core.node.links.link import Address
from penstock.core.node.membership.absences import Absences
from penstock.core.node.membership.audit_trail import AuditTrail
from penstock.core.node.membership.broker_channel import BrokerChannel
from penstock.core.node.membership.broker_lifecycle import NO_EPOCH, BrokerLifecycle, Profile, State
from penstock.core.node.membership.channel import ControllerChannel
from penstock.core.node.membership.forwarding import Forwarding
from penstock.core.node.membership.introduction import Credentials, Introduction
from penstock.core.node.membership.ports import MemberHost
from penstock.core.node.membership.share_setup import ShareSetup
from penstock.core.node.membership.streams_topics import StreamsTopics
from penstock.core.node.membership.transaction_verifier import TransactionVerifier
from penstock.core.node.observing.changes import Watching, changes
from penstock.core.node.observing.event_log import Fact
from penstock.core.node.quorum.identity import endpoints_of
from penstock.core.node.quorum.watch import QuorumWatch
from penstock.core.wire.schema import StoredRecord


class Cluster:
    """What connects the machines of a node that speak of the cluster. A node that stands alone is its own cluster: it
    controls itself, and registers without asking anybody."""

    def __init__(self, node: MemberHost) -> None:
        """The quorum is open, and it is known whose folder this is."""
        self._node = node
        quorum = node.quorum
        around = ControllerContext(
            node.node_id,
            node.meta.cluster_id,
            voters=lambda: quorum.voter_ids,
            led_ms=lambda: quorum.led_ms,
            predecessor=lambda: quorum.predecessor,
            probe=lambda host, port: node.links.probe(Address(host, port)),
            kraft_version=lambda: quorum.kraft_version,
            upgrade_voters=quorum.upgrade_voters,
            hand_over=quorum.resign,
            bootstrap=quorum.bootstrap,
            has_broker=node.is_broker,
        )
        self.controller = Controller(node, quorum, around, node.apis)
        self.quorum_watch = QuorumWatch(node, quorum)
        quorum.on_leadership(lambda leader_id, epoch: self.quorum_watch.look())
        self.quorum_watch.begin()
        self.channel = ControllerChannel(node, node.links, self.controller, lambda: quorum.leader_address)
        self.forwarding = Forwarding(node, self.channel)
        self.brokers = BrokerChannel(node)
        self.transaction_verifier = TransactionVerifier(node, self.brokers)
        self.share_setup = ShareSetup(node, self.brokers)
        self.streams_topics = StreamsTopics(node)
        self.audit_trail = AuditTrail(node, self.brokers)
        self.broker_lifecycle = BrokerLifecycle(node, self.channel.ask, lambda: node.image.offset)
        self.broker_lifecycle.own_lease_end_ms = self._own_lease_end_ms
        self._introduction: Introduction | None = None
        self._profile: Profile | None = None
        self._has_company = False
        self._is_leaving = False
        self.absences = Absences(lambda: node.image, lambda: node.now_us // 1000)
        node.links.refused = self._refused
        node.links.hung_up = self._hung_up
        node.links.greeted = self.absences.found

    @property
    def is_lone(self) -> bool:
        """Whether this node is all of its cluster: the only voter, and a broker that has never seen another one."""
        node = self._node
        if self._has_company or not (node.is_broker and node.quorum.is_alone):
            return False
        return not node.image.brokers or node.image.brokers.keys() == {node.node_id}

    @property
    def broker_epoch(self) -> int:
        """With which epoch this broker is registered: nobody tells it to one that registered without asking."""
        own = self._node.image.brokers.get(self._node.node_id)
        told: int = self.broker_lifecycle.epoch
        return own.epoch if told == NO_EPOCH and own is not None else told

    def _own_lease_end_ms(self) -> int | None:
        """Until when this node is sure that nobody else controls, while it does."""
        if not self.controller.is_active:
            return None
        node, led_ms = self._node, self._node.quorum.led_ms
        unsure_ms = 0 if led_ms is None else node.now_ms - led_ms
        return node.now_us // 1000 - unsure_ms + self.broker_lifecycle.pace.lease_ms

    def follow_leadership(self) -> None:
        """From now on this node controls the cluster whenever it leads the metadata log. Others must know of it then,
        if there are any."""
        if not self.is_lone:
            self._introduce()
        self._node.quorum.on_leadership(lambda leader_id, epoch: self._leadership_changed())
        if self._node.quorum.leads:
            self.controller.lead()

    def join(self, previous_epoch: int, serving: Callable[[], None]) -> None:
        """Register, and call once when this broker may lead. `previous_epoch` says how the last process stopped."""

        def entered(state: State) -> None:
            if state is State.SERVING:
                self.broker_lifecycle.on_state = self._state_changed
                serving()
            else:
                self._state_changed(state)

        self.broker_lifecycle.on_state = entered
        self.broker_lifecycle.ready()
        self.broker_lifecycle.start(_profile_of(self._node), previous_epoch)

    def lone_registration(self) -> list[StoredRecord]:
        """What the only node of a cluster writes when it starts: nobody need be asked, and nobody else could take what
        it leads, so it serves at once."""
        node = self._node
        profile = self._profile = _profile_of(node)
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
        return [
            *opening_records(node.quorum.uncommitted_image, node.settings, node.quorum.bootstrap),
            record_of(broker),
        ]

    def leave(self, then: Callable[[], None]) -> None:
        """Hand over what this broker leads, as far as there is anybody to take it; then go on."""
        self._is_leaving = True
        if self.is_lone or not self._node.is_broker:
            then()
        elif self.broker_lifecycle.state is not State.LEAVING:
            self.broker_lifecycle.stop(lambda handed_over: then())

    def image_changes(self, before: Image, after: Image, delta: Delta) -> None:
        """The node is about to act on another image: say what is different."""
        node = self._node
        if not self.controller.is_active:
            # Another controller counts from now on.
            node.metrics.leaderless_since_us.clear()
        watching = Watching(node.node_id, self.controller.is_active, node.now_us, node.metrics)
        node.tasks.run(changes(before, after, delta, watching), self._tell)

    def _tell(self, facts: list[Fact] | Exception) -> None:
        if isinstance(facts, Exception):
            raise facts
        for fact in facts:
            self._node.log(*fact)

    def image_changed(self) -> None:
        """The node has acted on another image."""
        self.broker_lifecycle.brokers = len(self._node.image.brokers)
        self.absences.image_changed()
        if self.is_lone:
            return
        self._meet_company()
        if self._introduction is not None:
            self._introduction.look(self._node.image)

    def _meet_company(self) -> None:
        """Where a node was alone until now, others may control from now on: they must hear of its broker."""
        if self._has_company:
            return
        self._has_company = True
        own = self._node.image.brokers.get(self._node.node_id)
        if self._profile is not None and own is not None:
            self._introduce()
            self.broker_lifecycle.on_state = self._state_changed
            self.broker_lifecycle.resume(self._profile, own.epoch)

    def _introduce(self) -> None:
        if self._node.settings.is_controller:
            self._introduction = Introduction(self._node, _credentials_of(self._node), self.channel.ask)

    def absent(self) -> frozenset[int]:
        """The brokers that clients should not be sent to, whatever the image says: those that seem to be gone; and
        this one, if the cluster goes on without it."""
        if self.is_lone:
            return frozenset()
        replication = self._node.replication
        absent = self.absences.now() | replication.unheard_leaders()
        return absent | {self._node.node_id} if replication.around.is_forsaken else absent

    def _hung_up(self, address: Address) -> None:
        """A process that ends hangs up on everybody: look at once whether it is still there."""
        self.absences.lost(address)
        if self._node.state == "running":
            self._node.links.probe(address)

    def _refused(self, address: Address) -> None:
        """Nobody listens there: it may be a broker, or the leader."""
        self.absences.lost(address)
        self.controller.refused(*address)
        self._node.quorum.refused(address)

    def _leadership_changed(self) -> None:
        if self._node.quorum.leads:
            self.controller.lead()
        else:
            self.controller.follow()
        self.broker_lifecycle.controller_changed()
        self.channel.controller_changed()

    def _state_changed(self, state: State) -> None:
        if state is State.GONE and not self._is_leaving:
            self._node.fail(self._why_not())

    def _why_not(self) -> str:
        if self.broker_lifecycle.refused_with == ErrorCode.DUPLICATE_BROKER_REGISTRATION:
            return (
                f"another node with the id {self._node.node_id} is in the cluster; give this one a node.id of its own"
            )
        return "no controller has let this broker in; are the controllers running and reachable?"


def _credentials_of(node: MemberHost) -> Credentials:
    found = endpoints_of(node.settings, node.host_name)
    endpoints = tuple(Endpoint(each.name, each.host, each.port, each.protocol) for each in found)
    return Credentials(node.node_id, node.new_id(), endpoints, SUPPORTED_FEATURES)


def _profile_of(node: MemberHost) -> Profile:
    return Profile(
        node.node_id,
        node.meta.cluster_id,
        node.lineage.incarnation,
        tuple(point for point in node.advertised),
        SUPPORTED_FEATURES,
        (uuid_bytes(node.meta.directory_id),),
        node.settings["broker.rack"],
        node.host_name,
    )
