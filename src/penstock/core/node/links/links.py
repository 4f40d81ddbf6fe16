"""All outgoing conversations of a node: one link for each address and purpose.

Purposes are separate connections, so that a large fetch never delays a vote or a heartbeat, and a peer that hangs
only ever hurts its own links.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from penstock.core.base.ports import Network, Wire
from penstock.core.base.settings import BrokerSettings
from penstock.core.node.links.link import SETUP_MS_MAX, Address, Answered, Link, LinkCounts, Owner
from penstock.core.node.links.purposes import FETCHING, RAFT
from penstock.core.node.links.route import OPEN_ROUTE, Route, route_of
from penstock.core.wire.schema import Request

LINKS_MAX: Final = 4096
PROBES_MAX: Final = 256
HELD_MS: Final = 100
LOOKS_MAX: Final = 3
"""Somebody may let every caller in and hang up on it."""


class Links:
    """Where a node asks other nodes. `refused` is told of every address at which nobody listens, `hung_up` of those who
    have ended a conversation, and `greeted` of those with whom one begins."""

    def __init__(
        self,
        owner: Owner,
        network: Network | None,
        client_id: str,
        route: Callable[[str], Route] = lambda purpose: OPEN_ROUTE,
    ) -> None:
        """`route` says by which listener somebody is asked for a purpose, and as whom."""
        self._owner = owner
        self._network = network
        self._client_id = client_id
        self._route = route
        self._links: dict[tuple[Address, str], Link] = {}
        self._probes: dict[Address, _Probe] = {}
        self.raft = LinkCounts()
        """What goes to and fro between voters."""
        self.refused: Callable[[Address], None] = lambda address: None
        self.hung_up: Callable[[Address], None] = lambda address: None
        self.greeted: Callable[[Address], None] = lambda address: None

    def ask(
        self,
        to: Address,
        purpose: str,
        request: Request,
        timeout_ms: int,
        done: Answered,
        quiet_ms: int | None = None,
    ) -> None:
        """Ask a node; `done(None)` says that there will be no answer: the connection was lost or refused, the time is
        over, or nothing at all was heard for `quiet_ms`, or too much is under way already."""
        link = self._links.get((to, purpose))
        if link is None:
            if len(self._links) >= LINKS_MAX:
                self._owner.deadlines.soon(lambda: done(None))
                return
            news = (self._has_hung_up, self._was_greeted)
            link = Link(
                self._owner, self._net, to, self._client_id, self._was_refused, partial(self._route, purpose), *news
            )
            if purpose in (RAFT, FETCHING):
                link.counts = self.raft
            self._links[to, purpose] = link
        link.ask(request, timeout_ms, done, quiet_ms)

    def probe(self, address: Address, looks: int = 1) -> None:
        """Look whether anybody listens; only that nobody does is told, to `refused`. A process that is killed lets
        callers in until all its sockets are closed, and then it loses them: in that case look again."""
        if address not in self._probes and len(self._probes) < PROBES_MAX and looks <= LOOKS_MAX:
            probe = _Probe(self, address, looks)
            self._probes[address] = probe
            probe.wire = self._net.dial(address.host, address.port, probe)
            self._owner.deadlines.at(self._owner.now_ms + SETUP_MS_MAX, probe.end)

    def is_waiting(self, to: Address, purpose: str) -> bool:
        """Whether a node owes an answer."""
        link = self._links.get((to, purpose))
        return link is not None and link.is_waiting

    def close(self, to: Address, purpose: str) -> None:
        """Hang up, and forget what was known of the address: for one that is no longer used."""
        link = self._links.pop((to, purpose), None)
        if link is not None:
            link.close()

    def close_all(self) -> None:
        """The node ends. What it said last, such as that it leads no longer, is not taken back."""
        for link in self._links.values():
            link.close(politely=True)
        self._links.clear()
        for probe in list(self._probes.values()):
            probe.end()

    def hold(self, probe: _Probe) -> None:
        """Somebody listens. Who still does a moment later is no process that ends."""
        self._owner.deadlines.at(self._owner.now_ms + HELD_MS, probe.end)

    def forget(self, probe: _Probe) -> None:
        if self._probes.get(probe.address) is probe:
            del self._probes[probe.address]

    @property
    def _net(self) -> Network:
        assert self._network is not None, "a node without a network has nobody to ask"
        return self._network

    def _was_refused(self, address: Address) -> None:
        self.refused(address)

    def _has_hung_up(self, address: Address) -> None:
        self.hung_up(address)

    def _was_greeted(self, address: Address) -> None:
        self.greeted(address)


class Settled(Owner, Protocol):
    """A node whose settings say how others are asked."""

    @property
    def settings(self) -> BrokerSettings: ...


def links_of(node: Settled, network: Network | None) -> Links:
    """Those of a node."""
    return Links(node, network, f"node-{node.settings.node_id}", lambda purpose: route_of(node.settings, purpose))


class _Probe:
    """A wire that is only there to see whether it opens, and stays open for a moment."""

    def __init__(self, links: Links, address: Address, looks: int) -> None:
        self._links = links
        self._looks = looks
        self._is_open = False
        self.address = address
        self.wire: Wire | None = None

    def opened(self) -> None:
        self._is_open = True
        self._links.hold(self)

    def received(self, data: memoryview) -> None:
        self.end()

    def lost(self, refused: bool) -> None:
        self.wire = None
        self.end()
        if refused:
            self._links.refused(self.address)
        elif self._is_open:
            self._links.probe(self.address, self._looks + 1)

    def end(self) -> None:
        wire, self.wire = self.wire, None
        if wire is not None:
            wire.close()
        self._links.forget(self)
