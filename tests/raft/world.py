"""A seeded world for a quorum: nodes, connections and disks that are slow, cut, crash and lose power, and a client.

One seed gives one history. `faults.play` fills it with faults, lets everything heal, and asks for progress.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from penstock.core.base.values import replaced
from penstock.core.raft.decisions import Answer, NotLeader, Send
from penstock.core.raft.ids import Destination, SnapshotId
from penstock.core.raft.raft import Raft
from penstock.core.raft.settings import RaftSettings
from penstock.core.raft.voters import VoterSet, static_voters
from penstock.core.wire.api.add_raft_voter import AddRaftVoterRequest, Listener
from penstock.core.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse, SupportedFeatureKey
from penstock.core.wire.api.remove_raft_voter import RemoveRaftVoterRequest
from penstock.core.wire.schema import Request, Response
from penstock.sim.chance import Chance
from tests.raft.bootstrap import bootstrap_snapshot
from tests.raft.court import Court, Violation
from tests.raft.node import LISTENER, Node, key_of, voter_of

SETTINGS = RaftSettings(
    election_timeout_ms=100,
    fetch_timeout_ms=200,
    election_backoff_ms_max=100,
    request_timeout_ms=150,
    retry_backoff_ms=10,
    fetch_wait_ms_max=80,
    snapshot_chunk_bytes_max=400,
)
FAULTS_MS = 1_900
HEALING_MS_MAX = 5_000
ADMIN = "the administrator"
"""Asks for changes of the voters and does not wait for answers."""


Message = TypeVar("Message", Request, Response)


class Ticket(NamedTuple):
    """Who asked what, over which connection, in which of its lives."""

    asker: Node
    send: Send
    generation: int
    life: int


class Shape(NamedTuple):
    """What kind of history it is. Where fetches are small, each batch travels alone. In a storm hardly a leader lasts,
    and nothing else happens, so that logs come to differ in more than one epoch."""

    voters: int
    dynamic: bool
    observers: int = 1
    fetch_bytes_max: int = 600
    latency_ms_max: int = 3
    stormy: bool = False
    losses: bool = False


class World:
    """Virtual time and everything in it."""

    def __init__(self, seed: int, shape: Shape, *, through_wire: bool = False) -> None:
        self.chance = Chance(f"raft-{seed}")
        self._dice = self.chance.fork("world")
        self.shape = shape
        self.now_ms = 0
        self.settings = replaced(SETTINGS, fetch_bytes_max=shape.fetch_bytes_max)
        self.court = Court()
        self.counts: Counter[str] = Counter()
        self.through_wire = through_wire
        self.cut: set[frozenset[int]] = set()
        self.on_save: Callable[[Node, int], None] = lambda node, delay_ms: None
        self.on_lead: Callable[[Node], None] = lambda node: None
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0
        self._generations: Counter[frozenset[int]] = Counter()
        self._arrivals: dict[tuple[int, int], int] = {}
        self._unacknowledged: list[tuple[Node, int, int, bytes]] = []
        self._values = 0
        ids = range(1, shape.voters + 1)
        addresses = {node: (f"host-{node}", 9000 + node) for node in ids}
        static = VoterSet() if shape.dynamic else static_voters(LISTENER, addresses)
        first = bytes(bootstrap_snapshot(VoterSet(map(voter_of, ids)), SnapshotId(0, 0))) if shape.dynamic else b""
        everyone = range(1, shape.voters + shape.observers + 1)
        self.bootstrap = tuple(Destination(-1 - node, f"host-{node}", 9000 + node) for node in everyone)
        self.nodes = {node_id: Node(self, node_id, static, first) for node_id in everyone}
        for node in self.nodes.values():
            node.start()

    # Time

    def at(self, delay_ms: int, event: Callable[[], None]) -> None:
        self._order += 1
        heapq.heappush(self._events, (self.now_ms + delay_ms, self._order, event))

    def later(self, node: Node, delay_ms: int, event: Callable[[], None]) -> None:
        """An event of a node's own: it finds the same life of it, or nobody; a pause puts it off."""
        life = node.life

        def happens() -> None:
            if node.life != life or node.raft is None:
                return
            if self.now_ms < node.paused_until_ms:
                self.at(node.paused_until_ms - self.now_ms, happens)
                return
            event()
            node.perform()

        self.at(delay_ms, happens)

    def set_timer(self, node: Node) -> None:
        due_ms = node.raft.deadline_ms if node.raft is not None else None
        if due_ms is not None and (node.timer_ms is None or due_ms < node.timer_ms):
            node.timer_ms = due_ms
            self.later(node, max(0, due_ms - self.now_ms), lambda: self._tick(node))

    def _tick(self, node: Node) -> None:
        node.timer_ms = None
        _raft(node).on_timer(self.now_ms)

    def run_until(self, end_ms: int) -> None:
        while self._events and self._events[0][0] <= end_ms:
            self.now_ms, _, event = heapq.heappop(self._events)
            event()
        self.now_ms = max(self.now_ms, end_ms)

    def disk_delay(self) -> int:
        """Mostly quick; now and then a disk has to think."""
        return self._dice.between(10, 120) if self._dice.happens(0.08) else self._dice.skewed(0, 10)

    # Connections: in order each way; a cut one loses what is under way

    def send(self, node: Node, send: Send) -> None:
        to = self.nodes.get(send.to.port - 9000)
        if to is None or to is node:
            # A bootstrap server may be oneself; nobody connects to that.
            self._fail_later(Ticket(node, send, 0, node.life))
            return
        link = frozenset((node.id, to.id))
        generation, life = self._generations[link], to.life
        ticket = Ticket(node, send, generation, node.life)

        def arrives() -> None:
            if link in self.cut:
                return
            if to.raft is None or to.life != life or self._generations[link] != generation:
                self._fail_later(ticket)
                return
            if isinstance(send.request, ApiVersionsRequest):
                self._reply(to, ticket, _versions())
            else:
                self._deliver(to, ticket, send.request)

        self._arrive(to, self._in_order(node.id, to.id), arrives)

    def _deliver(self, to: Node, ticket: Ticket, request: Request) -> None:
        _raft(to).handle(ticket, self._decoded(request), type(request).VERSIONS[-1], self.now_ms)
        to.perform()

    def _arrive(self, to: Node, delay_ms: int, event: Callable[[], None]) -> None:
        """What comes over a connection waits where the receiver is paused, and finds nobody where it is dead."""

        def happens() -> None:
            if to.raft is not None and self.now_ms < to.paused_until_ms:
                self.at(to.paused_until_ms - self.now_ms, happens)
            else:
                event()

        self.at(delay_ms, happens)

    def answer(self, node: Node, answer: Answer) -> None:
        if isinstance(answer.ticket, Ticket):
            self._reply(node, answer.ticket, answer.response)

    def _reply(self, node: Node, ticket: Ticket, response: Response) -> None:
        asker, send, generation, life = ticket
        link = frozenset((node.id, asker.id))
        response = self._decoded(response)

        def arrives() -> None:
            if link not in self.cut:
                broken = self._generations[link] != generation
                reply = None if broken else response
                _raft(asker).on_reply(send.to, send.correlation, reply, self.now_ms)

        if asker.life == life:
            self.later(asker, self._in_order(node.id, asker.id), arrives)

    def _fail_later(self, ticket: Ticket) -> None:
        """The connection is gone, which its other end notices after a while."""
        node, send, _, life = ticket
        if node.life == life:
            self.later(
                node, self._latency() + 1, lambda: _raft(node).on_reply(send.to, send.correlation, None, self.now_ms)
            )

    def _latency(self) -> int:
        rarely = self._dice.happens(0.1)
        return self._dice.skewed(0, 40) if rarely else self._dice.between(0, self.shape.latency_ms_max)

    def _in_order(self, sender: int, receiver: int) -> int:
        """A delay that does not overtake what was sent before."""
        earliest = self._arrivals.get((sender, receiver), 0)
        arrival = max(earliest, self.now_ms + self._latency())
        self._arrivals[sender, receiver] = arrival
        return arrival - self.now_ms

    def _decoded(self, message: Message) -> Message:
        """What arrives: the message itself, or for some seeds what is left of it after the wire."""
        if not self.through_wire:
            return message
        version = type(message).VERSIONS[-1]
        return type(message).decode(message.encode(version), version)

    def break_connections(self, one: int, other: int) -> None:
        """Both ends notice: whoever waits for a reply hears that none will come."""
        self._generations[frozenset((one, other))] += 1

    # The client and the administrator

    def leader(self) -> Node | None:
        leaders = [node for node in self.nodes.values() if node.leads]
        return max(leaders, key=lambda node: node.led_epoch, default=None)

    def append(self, node: Node) -> None:
        """Append to whoever takes itself for the leader."""
        raft = node.raft
        if raft is None or raft.leads_epoch is None or self.now_ms < node.paused_until_ms:
            return
        self._values += 1
        value, epoch = b"value-%d" % self._values, raft.leads_epoch
        offset = raft.append([value] * self._dice.between(1, 2), epoch, self.now_ms)
        if not isinstance(offset, NotLeader):
            self._unacknowledged.append((node, offset, epoch, value))
        node.perform()

    def committed(self, node: Node, offset: int) -> None:
        """The leader that took them answers for what has become committed."""
        waiting = []
        for each in self._unacknowledged:
            leader, at, epoch, value = each
            if leader is node and at < offset and leader.raft is not None and leader.raft.leads_epoch == epoch:
                self.court.acknowledges(at, (epoch, value))
                self.counts["acknowledged"] += 1
            else:
                waiting.append(each)
        self._unacknowledged = waiting

    def change_voters(self, node_id: int) -> None:
        """Add a node to the voters, or remove it from them."""
        leader = self.leader()
        if leader is None or leader.raft is None or self.now_ms < leader.paused_until_ms:
            return
        key, endpoint = key_of(node_id), voter_of(node_id).endpoints[0]
        voters = leader.raft.voters.last
        request: Request
        if node_id in voters.ids:
            request = RemoveRaftVoterRequest(cluster_id="cluster", voter_id=key.id, voter_directory_id=key.directory_id)
        else:
            listener = Listener(name=endpoint.name, host=endpoint.host, port=endpoint.port)
            request = AddRaftVoterRequest(
                cluster_id="cluster",
                timeout_ms=1000,
                voter_id=key.id,
                voter_directory_id=key.directory_id,
                listeners=[listener],
            )
        leader.raft.handle(ADMIN, request, 0, self.now_ms)
        leader.perform()

    # The end

    def heal(self) -> None:
        """No more faults; everything is there again."""
        self.cut.clear()
        for node in self.nodes.values():
            node.paused_until_ms = 0
            if node.raft is None:
                node.start()

    def demand_progress(self) -> None:
        """Within a while there is a leader that commits what it is given, and then everybody has that."""
        deadline_ms = self.now_ms + HEALING_MS_MAX
        wanted = len(self.court.acknowledged) + 3
        while len(self.court.acknowledged) < wanted:
            leader = self.leader()
            if leader is not None:
                self.append(leader)
            self._wait(deadline_ms)
        target = max(self.court.acknowledged) + 1
        while not all(_raft(node).high_watermark >= target for node in self.nodes.values()):
            self._wait(deadline_ms)
        for node in self.nodes.values():
            self.court.compare_all(f"{node.id}", node.log, node.applied, _raft(node).high_watermark)

    def _wait(self, deadline_ms: int) -> None:
        if self.now_ms >= deadline_ms:
            raise Violation(f"no progress within {HEALING_MS_MAX} ms: {self.describe()}")
        self.run_until(self.now_ms + 30)

    def describe(self) -> dict[int, str]:
        """Who is what, for the one who looks for the reason."""
        return {
            node.id: f"{type(node.raft.role).__name__} {node.raft.election} of {node.raft.voters.last}, {node.log}"
            if node.raft is not None
            else "dead"
            for node in self.nodes.values()
        }


def _raft(node: Node) -> Raft:
    assert node.raft is not None, "a dead node does nothing"
    return node.raft


def _versions() -> ApiVersionsResponse:
    feature = SupportedFeatureKey(name="kraft.version", min_version=0, max_version=1)
    return ApiVersionsResponse(supported_features=[feature])
