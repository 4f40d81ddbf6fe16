"""A machine: one disk, one clock, and the process of a node that runs, dies and comes back.

The machine is the simulator's shell. Every event reaches the node as one turn, `begin`, the event, `finish`, and
what the turn decided goes out afterwards: bytes to connections, the next deadline to the scheduler. A process that is
paused gets its events when it goes on, in their order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from penstock.core.base.ports import Done, FileFailure, Slice
from penstock.sim.disk import Disk
from penstock.sim.network import WINDOW_BYTES_MAX, Link, Network
from penstock.sim.ports import NodeConnection, Piece, SimNode
from penstock.sim.runtime import Memory
from penstock.sim.scheduler import EPOCH_MS, MS, Event, Scheduler
from penstock.sim.trace import Trace

ENDED = ("stopped", "failed")
CLIENT_HOST = "10.0.0.1"
BROKER_PORT: Final = 9092
CONTROLLER_PORT: Final = 9093

NodeFactory = Callable[[Disk], SimNode]


class Listener(NamedTuple):
    """A port that a process listens to: from its beginning, or only when it serves."""

    name: str
    is_early: bool


LISTENERS: Final = {
    BROKER_PORT: Listener("PLAINTEXT", is_early=False),
    CONTROLLER_PORT: Listener("CONTROLLER", is_early=True),
}


@dataclass(slots=True)
class Clock:
    """A machine's wall clock, which may be wrong."""

    scheduler: Scheduler
    skew_ms: int = 0

    @property
    def wall_ms(self) -> int:
        """Milliseconds since 1970, as this machine believes."""
        return EPOCH_MS + self.skew_ms + self.scheduler.now_us // MS


class OpenWire(Protocol):
    """A connection that the process has dialled."""

    def hang_up(self) -> None: ...
    def read(self, wants: bool) -> None: ...


@dataclass(slots=True, eq=False)
class Socket:
    """The node's end of a link: feeds bytes in, sends pieces out as the link takes them."""

    machine: Machine
    link: Link
    connection: NodeConnection
    unsent: deque[Piece] = field(default_factory=deque)
    unsent_bytes: int = 0

    def received(self, data: bytes) -> None:
        """Bytes came from the client."""
        self.machine.turn(lambda _: self.connection.feed(data))

    def gone(self) -> None:
        """The client went away."""
        self.machine.forget(self)
        self.machine.turn(lambda _: self.connection.closed())

    def flush(self) -> None:
        """Take the turn's output, and let the link carry what it has room for."""
        for piece in self.connection.take_output():
            if isinstance(piece, Slice) and not self._pin(piece):
                self.link.cut()
                return
            self.unsent.append(piece)
            self.unsent_bytes += len(piece)
        self._fill()
        self.link.to_server.wake()

    def _pin(self, piece: Slice) -> bool:
        """False where the segment was deleted while the reply waited; the shell hangs up then, too."""
        try:
            self.machine.disk.pin(piece)
        except FileFailure:
            return False
        return True

    def drained(self) -> None:
        """The link delivered something: fill it again, and tell the connection, if all is gone or if it waits for room
        to read on."""
        if self.unsent or not self.link.to_client.bytes_left or not self.connection.reading:
            self.machine.when_awake(self._drained)

    def _drained(self) -> None:
        self._fill()
        left = self.unsent_bytes + self.link.to_client.bytes_left
        tell = self.machine.mention if self.connection.reading else self.machine.turn
        tell(lambda _: self.connection.sent(left))
        self.link.to_server.wake()

    def _fill(self) -> None:
        """Move pieces into the link; a slice is read only now."""
        while self.unsent and self.link.to_client.bytes_left < WINDOW_BYTES_MAX:
            piece = self.unsent.popleft()
            self.unsent_bytes -= len(piece)
            self.link.to_client.push(self._bytes_of(piece))
        if self.connection.closing and not self.unsent:
            self.machine.forget(self)
            self.link.close_by_server()

    def _bytes_of(self, piece: Piece) -> bytes:
        if not isinstance(piece, Slice):
            return bytes(piece)
        data = self.machine.disk.read_slice(piece)
        assert len(data) == len(piece), f"{piece} promises more than its file has: {len(data)} bytes"
        return data


class Machine:
    """Holds a node's process and everything that outlives it."""

    def __init__(self, number: int, scheduler: Scheduler, network: Network, disk: Disk, trace: Trace) -> None:
        self.number = number
        self.disk = disk
        self.clock = Clock(scheduler)
        self.node: SimNode | None = None
        self.sockets: dict[NodeConnection, Socket] = {}
        self.wires: dict[OpenWire, None] = {}
        self.paused = False
        self._scheduler = scheduler
        self._network = network
        self._trace = trace
        self._tick: Event | None = None
        self._tick_for = (0, 0)  # By which deadline, and by which clock, the next tick was asked for.
        self._last_state = ""
        self._held: list[Callable[[], None]] = []
        self._backlog: dict[Link, None] = {}  # Connections that a paused process has not seen yet.
        self._power_losses = 0
        self.remounts = 0
        self.memory = Memory()
        self.served = False  # Whether this process has served, so that its logs are known.
        self.on_state: Callable[[str], None] = lambda state: None
        self.observers: list[Callable[[], None]] = []
        disk.deliver = self._deliver

    @property
    def boot_id(self) -> str:
        """Changes when the machine starts anew or mounts its disk again, not when a process starts."""
        return f"boot-{self.number}.{self._power_losses}.{self.remounts}"

    @property
    def running(self) -> bool:
        """Whether a process is up and serves."""
        return self.node is not None and self.node.state == "running"

    @property
    def ended(self) -> bool:
        """Whether the process stopped or failed by itself and waits to be taken away."""
        return self.node is not None and self.node.state in ENDED

    # ---- the process

    def boot(self, factory: NodeFactory) -> None:
        """Start a new process over what the disk holds."""
        assert self.node is None, "the old process is still there"
        self._note("boot")
        self.node = factory(self.disk)
        self.turn(lambda node: node.start())

    def crash(self) -> None:
        """Kill the process: what it had written stays, what it had sent may still arrive."""
        self._note("crash")
        self._end_process()
        self.disk.crash()

    def power_loss(self) -> None:
        """Cut the power: only what was synced is sure to stay, and clients hear nothing for a while."""
        self._note("power-loss")
        self._power_losses += 1
        self.memory.remove()
        self._network.silence(self.number)
        self._end_process()
        self.disk.power_loss()

    def remount(self, is_new: bool) -> None:
        """Kill the process, if there is one, and mount the disk again, without what was not synced; as a mount of its
        own, or as the same one."""
        self._note("remount")
        self.remounts += is_new
        self._end_process()
        self.disk.power_loss()

    def shut_down(self) -> None:
        """Ask the process to stop in good order; `reap` takes it away when it has."""
        self._note("shutdown")
        self.turn(lambda node: node.stop())

    def reap(self) -> None:
        """Take away a process that stopped or failed by itself."""
        assert self.ended
        self._end_process()
        self.disk.crash()

    def pause(self) -> None:
        """Stop the process where it is; the machine goes on, and takes connections and bytes as far as it has room."""
        self._note("pause")
        self.paused = True
        for wire in self.wires:
            wire.read(False)

    def resume(self) -> None:
        """Let a paused process go on: it sees everything that has happened meanwhile."""
        self._note("resume")
        self.paused = False
        held, self._held = self._held, []
        for action in held:
            action()
        for wire in list(self.wires):
            wire.read(True)
        for socket in list(self.sockets.values()):
            socket.link.to_server.wake()

    def when_awake(self, action: Callable[[], None]) -> None:
        """Do something that only a process that is not paused can do."""
        if self.paused:
            self._held.append(action)
        else:
            action()

    # ---- turns

    def turn(self, event: Callable[[SimNode], None]) -> None:
        """Give the node one event, and carry out what it decided."""
        node = self.node
        if node is None:
            return
        if self.paused:
            self._held.append(lambda: self.turn(event))
            return
        self._carry_out(node, event)
        self._look(node)

    def mention(self, event: Callable[[SimNode], None]) -> None:
        """A turn in which the node takes note of something from which nothing follows, so that nobody needs to look;
        unless something was left over from the turn before."""
        node = self.node
        if node is not None and self._carry_out(node, event):
            self._look(node)

    def _carry_out(self, node: SimNode, event: Callable[[SimNode], None]) -> bool:
        """Whether the node had something to say."""
        node.begin(self.clock.wall_ms, self._scheduler.now_us)
        event(node)
        speaking = node.finish()
        for connection in speaking:
            socket = self.sockets.get(connection)
            if socket is not None:
                socket.flush()
        self._schedule_tick(node)
        return bool(speaking)

    def _look(self, node: SimNode) -> None:
        if node.state != self._last_state:
            self._last_state = node.state
            self.served = self.served or node.state == "running"
            self._note("state", f"{node.state} {node.failure or ''}")
            self.on_state(node.state)
        for observe in self.observers:
            observe()

    def accept(self, link: Link, port: int = BROKER_PORT, host: str = CLIENT_HOST) -> bool:
        """Somebody knocks: the system takes the connection, or says that nobody listens."""
        listener = LISTENERS.get(port)
        if listener is None or not (self.running or (listener.is_early and self.node is not None and not self.ended)):
            link.refuse()
            return False
        self._backlog[link] = None
        self.when_awake(lambda: self._accept(link, host, listener.name))
        return True

    def _accept(self, link: Link, host: str, listener: str) -> None:
        """The node takes the connection, or hangs up."""
        del self._backlog[link]
        accepted: list[NodeConnection | None] = []
        self.turn(lambda node: accepted.append(node.connect(host, link.number, listener)))
        connection = accepted[0]
        if connection is None:
            link.hang_up_by_server()
            return
        socket = Socket(self, link, connection)
        self.sockets[connection] = socket
        link.server = socket
        link.server_reads = lambda: connection.reading and not self.paused
        link.to_client.on_room = socket.drained
        link.to_server.wake()

    def forget(self, socket: Socket) -> None:
        """The connection is over."""
        self.sockets.pop(socket.connection, None)

    # ---- inside

    def _deliver(self, done: Done, result: object) -> None:
        self.turn(lambda _: done(result))

    def _schedule_tick(self, node: SimNode) -> None:
        deadline_ms, skew_ms = node.next_deadline_ms(), self.clock.skew_ms
        if self._tick is not None:
            if (deadline_ms, skew_ms) == self._tick_for:
                return
            self._tick.cancel()
            self._tick = None
        if deadline_ms is not None:
            at_us = self._scheduler.now_us + max(deadline_ms - self.clock.wall_ms, 0) * MS
            self._tick_for = (deadline_ms, skew_ms)
            self._tick = self._scheduler.at(at_us, self._on_tick)

    def _on_tick(self) -> None:
        self._tick = None
        self.turn(lambda node: node.tick())

    def _end_process(self) -> None:
        self.node = None
        self.served = False
        self.paused = False
        self._held.clear()
        self._last_state = ""
        if self._tick is not None:
            self._tick.cancel()
            self._tick = None
        sockets, self.sockets = list(self.sockets.values()), {}
        for socket in sockets:
            socket.link.close_by_server()
        for link in self._backlog:
            link.close_by_server()
        self._backlog.clear()
        wires, self.wires = list(self.wires), {}
        for wire in wires:
            wire.hang_up()

    def _note(self, what: str, detail: str = "") -> None:
        self._trace.note(self._scheduler.now_us, what, f"node={self.number} {detail}")
