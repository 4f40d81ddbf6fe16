"""The simulated network: connections as pairs of ordered byte streams.

A stream cuts what it carries into seeded chunks and delivers them at seeded times, in order. Faults act on a
connection: it is cut after any byte, only one end learns of the end (half-open), or nothing moves for a while (black
hole); or on what lies between two machines (`paths`). Reordering exists between connections only, and duplicates only
where a client retries, as with TCP.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from penstock.sim.chance import Chance
from penstock.sim.paths import CLIENTS, Paths, Way
from penstock.sim.scheduler import MS, SECOND, Scheduler
from penstock.sim.trace import Trace

WINDOW_BYTES_MAX = 64 * 1024  # What the two kernels hold of one direction before the sender must wait.
REPEAT_US_MAX = 1 * SECOND  # How long after its direction opens again something may still wait to be repeated.


@dataclass(frozen=True, slots=True)
class NetworkProfile:
    """How the network behaves when nothing is broken."""

    delay_us_max: int = 3 * MS
    chunk_bytes_max: int = 16 * 1024
    drips: float = 0.02  # How many connections begin byte by byte.
    drip_bytes: int = 2_000
    linger_us_max: int = 50 * MS


class Endpoint(Protocol):
    """One end of a connection: it gets bytes, and learns once that the connection is gone."""

    def received(self, data: bytes) -> None: ...
    def gone(self) -> None: ...


class Stream:
    """One direction: bytes in order, delivered in chunks while the receiver accepts them."""

    def __init__(self, link: Link, way: Way, deliver: Callable[[bytes], None], accepts: Callable[[], bool]) -> None:
        self._link = link
        self._way = way
        self._deliver = deliver
        self._accepts = accepts
        self._chunks: deque[bytes] = deque()
        self._scheduled = False
        self.bytes_left = 0
        self.on_room: Callable[[], None] | None = None

    def push(self, data: bytes) -> None:
        """Take bytes to carry."""
        if data:
            self._chunks.append(data)
            self.bytes_left += len(data)
            self.wake()

    def wake(self) -> None:
        """Go on delivering, if there is something and the receiver wants it."""
        if not self._scheduled and self._chunks and self._moves():
            self._scheduled = True
            self._link.network.later(self._link.delay_us(self._way), self._arrive)

    def drop(self) -> None:
        """Lose whatever has not arrived."""
        self._chunks.clear()
        self.bytes_left = 0

    def _arrive(self) -> None:
        self._scheduled = False
        if not self._chunks or not self._moves():
            return
        chunk = self._take(self._link.chunk_size())
        self.bytes_left -= len(chunk)
        self._deliver(chunk)
        if self.on_room is not None:
            self.on_room()
        self.wake()

    def _moves(self) -> bool:
        return self._link.moving and self._accepts() and self._link.network.paths.is_open(self._way)

    def _take(self, size: int) -> bytes:
        head = self._chunks.popleft()
        if len(head) > size:
            self._chunks.appendleft(head[size:])
            return head[:size]
        return head


class Link:
    """One connection: between a client and a node, or between two nodes, where the one that dialled is the client."""

    def __init__(self, network: Network, number: int, client: Endpoint, way: Way) -> None:
        self.network = network
        self.number = number
        self.way = way
        self.back: Way = (way[1], way[0])
        self.refused = False  # Nobody listened.
        self.client: Endpoint | None = client
        self.server: Endpoint | None = None
        self.client_reads = True
        self.server_reads: Callable[[], bool] = lambda: True
        self.moving = True
        self.faulted = False  # Whoever waits for an answer on a faulted connection may wait in vain.
        self._drip_bytes = network.profile.drip_bytes if network.chance.happens(network.profile.drips) else 0
        self._cut_after_bytes: int | None = None
        self.to_server = Stream(self, way, self._to_server, self._server_accepts)
        self.to_client = Stream(self, self.back, self._to_client, lambda: self.client is not None and self.client_reads)

    # ---- the two ends

    def send(self, data: bytes) -> None:
        """The client sends."""
        if self.client is not None:
            self.to_server.push(data)

    def close_by_client(self) -> None:
        """The client is done; the server learns it after a while."""
        self.client = None
        self.to_client.drop()
        self.network.carry(self.way, self.delay_us(self.way), self.end_server)

    def close_by_server(self) -> None:
        """The server is done: what it has sent still arrives, then the client learns it."""
        self.server = None
        self.to_server.drop()
        self.to_client.on_room = self._end_client_when_read
        delay_us = self._linger_us() if self.to_client.bytes_left else self.delay_us(self.back)
        self.network.carry(self.back, delay_us, self.end_client)

    def refuse(self) -> None:
        """Nobody listens, and the client learns that."""
        self.refused = True
        self.hang_up_by_server()

    def hang_up_by_server(self) -> None:
        """The server never wanted this connection."""
        self.network.deliver(self.back, self.end_client)

    def end_client(self) -> None:
        """Tell the client that the connection is gone."""
        client, self.client = self.client, None
        self.to_client.drop()
        if client is not None:
            client.gone()

    def end_server(self) -> None:
        """Tell the server that the connection is gone."""
        server, self.server = self.server, None
        self.to_server.drop()
        if server is not None:
            server.gone()

    # ---- faults

    def cut(self) -> None:
        """Both ends lose the connection, each at its own time."""
        self._break()
        self.network.later(self.delay_us(self.back), self.end_client)
        self.network.later(self.delay_us(self.way), self.end_server)

    def cut_after(self, byte_count: int) -> None:
        """Cut once so many more bytes have passed, in either direction."""
        self._cut_after_bytes = byte_count

    def lose_server_side(self) -> None:
        """Half-open: the client learns that it is over, the server hears nothing."""
        self._break()
        self.network.later(self.delay_us(self.back), self.end_client)

    def lose_client_side(self) -> None:
        """Half-open: the server learns that it is over, the client hears nothing."""
        self._break()
        self.network.later(self.delay_us(self.way), self.end_server)

    def stall(self, duration_us: int) -> None:
        """A black hole: nothing moves, nobody is told; then it goes on where it was."""
        self._break()
        self.network.later(duration_us, self._resume)

    def _break(self) -> None:
        self.moving = False
        self.faulted = True

    @property
    def open(self) -> bool:
        """Whether anybody still holds an end."""
        return self.client is not None or self.server is not None

    # ---- inside

    def delay_us(self, way: Way) -> int:
        """How long the next chunk travels."""
        return self.network.chance.skewed(1, self.network.profile.delay_us_max) + self.network.paths.slow_us(way)

    def chunk_size(self) -> int:
        """How much arrives at once; a cut falls on its exact byte."""
        size = 1 if self._drip_bytes > 0 else self.network.chance.between(1, self.network.profile.chunk_bytes_max)
        return size if self._cut_after_bytes is None else max(1, min(size, self._cut_after_bytes))

    def _to_server(self, chunk: bytes) -> None:
        self.network.fold("to-server", f"{self.number} {len(chunk)}")
        if self.server is not None:
            self.server.received(chunk)
        self._passed(len(chunk))

    def _to_client(self, chunk: bytes) -> None:
        self.network.fold("to-client", f"{self.number} {len(chunk)}")
        if self.client is not None:
            self.client.received(chunk)
        self._passed(len(chunk))

    def _end_client_when_read(self) -> None:
        if not self.to_client.bytes_left:
            self.end_client()

    def _linger_us(self) -> int:
        """A dead sender's bytes keep arriving for a while; then the connection is reset, read or not."""
        return self.network.chance.between(0, self.network.profile.linger_us_max)

    def _server_accepts(self) -> bool:
        return self.server is not None and self.server_reads()

    def _passed(self, size: int) -> None:
        self._drip_bytes -= size
        if self._cut_after_bytes is not None:
            self._cut_after_bytes -= size
            if self._cut_after_bytes <= 0:
                self._cut_after_bytes = None
                self.cut()

    def wake(self) -> None:
        """Go on in both directions, as far as they are free."""
        self.to_server.wake()
        self.to_client.wake()

    def _resume(self) -> None:
        self.moving = True
        self.wake()


class Network:
    """All connections of the world."""

    def __init__(self, scheduler: Scheduler, chance: Chance, trace: Trace, profile: NetworkProfile) -> None:
        self.chance = chance
        self.profile = profile
        self.paths = Paths()
        self.later = scheduler.after
        self._scheduler = scheduler
        self._trace = trace
        self._numbers = 0
        self._links: list[Link] = []

    def link(self, client: Endpoint, way: Way = (CLIENTS, 1)) -> Link:
        """Make a connection; whoever accepts it sets its server end."""
        self._numbers += 1
        link = Link(self, self._numbers, client, way)
        self._links = [other for other in self._links if other.open]
        self._links.append(link)
        return link

    def open_links(self) -> list[Link]:
        """Connections that somebody still holds, oldest first."""
        return [link for link in self._links if link.open]

    def links_between(self, one: int, other: int) -> list[Link]:
        """Connections between two machines, whoever dialled."""
        return [link for link in self.open_links() if link.way in ((one, other), (other, one))]

    def silence(self, number: int) -> None:
        """A machine lost its power: nothing that it has sent arrives any more. Whatever was to arrive before that
        has arrived before that, so that nobody is told afterwards of what the power cut then took."""
        for link in self.open_links():
            if link.way[1] == number:
                link.to_client.drop()
            if link.way[0] == number:
                link.to_server.drop()

    # ---- faults between machines

    def close(self, *ways: Way) -> None:
        """From now on nothing arrives in these directions, and nobody is told."""
        self.paths.close(*ways)

    def reopen(self, *ways: Way) -> None:
        self._go_on(self.paths.reopen(*ways))

    def darken(self, number: int) -> None:
        """Nobody reaches a machine, and it reaches nobody."""
        self.paths.darken(number)

    def relight(self, number: int) -> None:
        self._go_on(self.paths.relight(number))

    # ---- time

    def carry(self, way: Way, delay_us: int, action: Callable[[], None]) -> None:
        """Let something happen at the other end: after a delay, and not before its direction is open."""
        self.later(delay_us, lambda: self.deliver(way, action))

    def deliver(self, way: Way, action: Callable[[], None]) -> None:
        """Let something happen at the other end: now, or when its direction opens."""
        if self.paths.is_open(way):
            action()
        else:
            self.paths.hold(way, lambda: self.deliver(way, action))

    def fold(self, what: str, detail: str) -> None:
        """Make a delivery a part of the run's identity."""
        self._trace.fold(self._scheduler.now_us, what, detail)

    def _go_on(self, actions: list[Callable[[], None]]) -> None:
        """Repeat what was held back, each at its own time."""
        for action in (*actions, *(link.wake for link in self.open_links())):
            self.later(self.chance.skewed(1, REPEAT_US_MAX), action)
