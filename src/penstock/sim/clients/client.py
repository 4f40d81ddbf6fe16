"""A client: dials, greets, asks, and notices when its connection is over.

It stands on `penstock.core.peer`, so what travels is what any client sends. A call ends in a reply, in
`Disconnected`, or in `TimedOut`; a script that gets one of the latter two connects again and decides what to repeat.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Protocol, TypeVar, cast

from penstock.core.base.errors import ErrorCode
from penstock.core.peer.connection import PeerConnection
from penstock.core.wire.api.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from penstock.core.wire.schema import Request, Response
from penstock.sim.chance import Chance
from penstock.sim.events import Partition, Unanswered, Witness
from penstock.sim.machine import BROKER_PORT, CLIENT_HOST
from penstock.sim.network import Endpoint, Link
from penstock.sim.scheduler import MS, SECOND, Scheduler
from penstock.sim.script import Future, Script, Sleep

R = TypeVar("R", bound=Response)

TIMEOUT_US = 60 * SECOND
BACKOFF_US_MAX = 300 * MS
NEVER = float("inf")
NO_EPOCH = -1


class Disconnected(Exception):
    """The connection is gone; what became of the request is unknown."""


class TimedOut(Disconnected):
    """No answer came in time; the connection is given up."""


class ClientWorld(Protocol):
    """What a client needs of the world: time, a way to the node, and somebody to tell."""

    @property
    def scheduler(self) -> Scheduler: ...
    @property
    def witness(self) -> Witness: ...
    def dial(self, endpoint: Endpoint, number: int = 1, port: int = BROKER_PORT, host: str = CLIENT_HOST) -> Link: ...


class Connection:
    """One connection of a client to a node."""

    def __init__(
        self, name: str, world: ClientWorld, number: int = 1, port: int = BROKER_PORT, host: str = CLIENT_HOST
    ) -> None:
        self.name = name
        self.closed = False
        self.ready = Future()
        self._world = world
        self._peer = PeerConnection(name)
        self._waiting: dict[int, Future] = {}
        # What must be answered by when. Answers come in order, so that one timer is enough.
        self._due: deque[tuple[int, str, Future]] = deque()
        self.number = number
        self._link = world.dial(self, number, port, host)
        self._peer.greet(NEVER)
        self._send("greeting", self.ready)

    def received(self, data: bytes) -> None:
        """Bytes came: bring the replies that they complete."""
        replies = self._peer.feed(data)
        if self._peer.is_ready:
            self.ready.resolve(None)
        for reply in replies:
            self._waiting.pop(reply.correlation_id).resolve(reply.message)

    def gone(self) -> None:
        """The connection is over: everybody who waits learns it."""
        self._end(Disconnected())

    def ask(self, request: Request, response: type[Response], newest_version: int | None = None) -> Future:
        """Send a request; the future brings its reply."""
        answer = Future()
        if self.closed:
            answer.resolve(Disconnected())
        else:
            self._waiting[self._peer.ask(request, response, NEVER, newest_version=newest_version)] = answer
            self._send(type(request).__name__, answer)
        return answer

    def tell(self, request: Request, newest_version: int | None = None) -> None:
        """Send a request that has no answer."""
        if not self.closed:
            self._peer.tell(request, newest_version=newest_version)
            self._flush()

    @property
    def faulted(self) -> bool:
        """Whether the world has broken this connection."""
        return self._link.faulted

    def stop_reading(self) -> None:
        """Become the client that never reads, and can therefore not complain that it gets no answers."""
        self._link.client_reads = False
        self._link.faulted = True

    def close(self) -> None:
        """Hang up."""
        if not self.closed:
            self._link.close_by_client()
            self._end(Disconnected())

    def _send(self, what: str, answer: Future) -> None:
        self._flush()
        self._due.append((self._world.scheduler.now_us + TIMEOUT_US, what, answer))
        if len(self._due) == 1:
            self._world.scheduler.after(TIMEOUT_US, self._check)

    def _flush(self) -> None:
        self._link.send(b"".join(bytes(cast("bytes", part)) for part in self._peer.take_output()))

    def _check(self) -> None:
        while self._due and self._due[0][2].resolved:
            self._due.popleft()
        if self.closed or not self._due:
            return
        at_us, what, _ = self._due[0]
        if at_us > self._world.scheduler.now_us:
            self._world.scheduler.at(at_us, self._check)
            return
        self._world.witness.see(Unanswered(self.name, what, excused=self._link.faulted))
        self._link.close_by_client()
        self._end(TimedOut())

    def _end(self, reason: Disconnected) -> None:
        self.closed = True
        self.ready.resolve(reason)
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            answer.resolve(reason)


class Client:
    """One client program: a name, its own dice, and a connection that it makes anew when it is lost."""

    excuses: frozenset[ErrorCode] = frozenset()
    """Errors that are nobody's fault here, besides those that they are nowhere: one asks again."""
    is_careful = False
    """Whether the first batch of a producer id is sent alone. A node that knows nothing of a producer takes any of its
    sequences, as Kafka does: where somebody who has just become leader refuses the first batch, the second is first."""

    def __init__(self, name: str, world: ClientWorld, chance: Chance) -> None:
        self.name = name
        self.world = world
        self.chance = chance
        self._connection: Connection | None = None
        self.losses = 0
        """Requests whose answers were lost with a connection."""

    def connect(self) -> Script[Connection]:
        """Give a greeted connection, trying until there is one."""
        while self._connection is None or self._connection.closed:
            connection = Connection(self.name, self.world)
            try:
                yield connection.ready
                self._connection = connection
            except Disconnected:
                yield from self.back_off()
        return self._connection

    def connect_to(self, partition: Partition) -> Script[Connection]:
        """Give a connection to whoever leads a partition: there is only one who could."""
        return (yield from self.connect())

    def lose(self, partition: Partition) -> None:
        """Whoever was asked does not lead that partition, or cannot be reached."""

    def fetchable(self, positions: dict[Partition, int]) -> dict[Partition, int]:
        """Of these, what is asked for in one request: everything, where everything is in one place."""
        return positions

    def epoch_of(self, partition: Partition) -> int:
        """The newest epoch of a partition's leader that this client has heard of."""
        return NO_EPOCH

    def learn_epoch(self, partition: Partition, epoch: int) -> None:
        """Somebody was led in this epoch, so that who leads in an older one is of no use any more."""

    def find_coordinator(self, key: str, key_type: int = 0) -> Script[int]:
        """Ask who coordinates a group (or a transactional id), as every client does first; the first to ask has its
        topic made. Gives the error code."""
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
        reply = yield from self.call(request, FindCoordinatorResponse)
        return self._coordinated(reply.coordinators[0])

    def _coordinated(self, found: Coordinator) -> int:
        return found.error_code

    def connect_to_coordinator(self) -> Script[Connection]:
        """Give a connection to whoever was found to coordinate the group: there is only one who could."""
        return (yield from self.connect())

    def call_coordinator(self, request: Request, response: type[R], newest_version: int | None = None) -> Script[R]:
        """Ask whoever coordinates the group."""
        connection = yield from self.connect_to_coordinator()
        return (yield from self._ask(connection, request, response, newest_version))

    def call(self, request: Request, response: type[R], newest_version: int | None = None) -> Script[R]:
        """Ask over the present connection and wait for the reply."""
        connection = yield from self.connect()
        return (yield from self._ask(connection, request, response, newest_version))

    def insist(
        self,
        request: Request,
        response: type[R],
        partition: Partition | None = None,
        newest_version: int | None = None,
    ) -> Script[R]:
        """Ask until there is a reply: anybody, or whoever leads a partition. For requests that may be repeated."""
        while True:
            try:
                connection = yield from self.connect() if partition is None else self.connect_to(partition)
                return (yield from self._ask(connection, request, response, newest_version))
            except Disconnected:
                self.losses += 1
                if partition is not None:
                    self.lose(partition)
                yield from self.back_off()

    def _ask(
        self, connection: Connection, request: Request, response: type[R], newest_version: int | None = None
    ) -> Script[R]:
        reply: Any = yield connection.ask(request, response, newest_version)
        return cast("R", reply)

    def disconnect(self) -> None:
        """Hang up, if connected."""
        if self._connection is not None:
            self._connection.close()

    def back_off(self) -> Script[None]:
        """Wait a little before trying again."""
        yield Sleep(self.chance.between(1 * MS, BACKOFF_US_MAX))
