"""A node that answers every byte with itself: enough to see what the world does to connections and processes."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.base.ports import Append, File, Slice, Steps
from penstock.core.base.steps import Tasks
from penstock.sim.disk import Disk
from penstock.sim.ports import Piece

BACKLOG_BYTES_MAX = 100_000


class EchoConnection:
    """Echoes, and stops reading while its output is not taken."""

    def __init__(self, node: EchoNode) -> None:
        self.node = node
        self.closing = False
        self.reading = True
        self.was_closed = False
        self.unsent = 0
        self.pending: list[Piece] = []

    def feed(self, data: bytes) -> None:
        assert self.node.in_turn
        assert self.reading
        self.node.seen += data
        self.node.output_of(self, data)
        if b"!" in data:
            self.closing = True

    def closed(self) -> None:
        assert self.node.in_turn
        self.was_closed = True

    def take_output(self) -> Sequence[Piece]:
        out, self.pending = self.pending, []
        self.unsent += sum(map(len, out))
        self.reading = self.unsent < BACKLOG_BYTES_MAX
        return out

    def sent(self, bytes_left: int) -> None:
        self.unsent = bytes_left
        self.reading = bytes_left < BACKLOG_BYTES_MAX


class EchoNode:
    """Writes what it hears to a file, and answers with slices of that file once they are written."""

    def __init__(self, disk: Disk) -> None:
        self.state = "starting"
        self.failure: str | None = None
        self.in_turn = False
        self.seen = b""
        self.ticks_ms: list[int] = []
        self.deadline_ms: int | None = None
        self.now_ms = 0
        self.connections: list[EchoConnection] = []
        self._dirty: list[EchoConnection] = []
        self._tasks = Tasks(disk)
        self._file = File("/echo")
        self._written = 0

    def begin(self, now_ms: int, now_us: int | None = None) -> None:
        assert not self.in_turn
        self.in_turn = True
        self.now_ms = now_ms

    def start(self) -> None:
        self.state = "running"
        self.deadline_ms = self.now_ms + 1_000

    def connect(self, host: str, port: int, listener: str = "PLAINTEXT") -> EchoConnection | None:
        self.connections.append(EchoConnection(self))
        return self.connections[-1]

    def tick(self) -> None:
        self.ticks_ms.append(self.now_ms)
        self.deadline_ms = self.now_ms + 1_000

    def next_deadline_ms(self) -> int | None:
        return self.deadline_ms

    def stop(self) -> None:
        self.state = "stopped"

    def finish(self) -> Sequence[EchoConnection]:
        self.in_turn = False
        dirty, self._dirty = self._dirty, []
        return dirty

    def output_of(self, connection: EchoConnection, data: bytes) -> None:
        piece = Slice(self._file, self._written, len(data))
        self._written += len(data)
        self._tasks.run(self._append(data), lambda _: self._answer(connection, piece))

    def _append(self, data: bytes) -> Steps[None]:
        yield Append(self._file, data)

    def _answer(self, connection: EchoConnection, piece: Slice) -> None:
        assert self.in_turn
        connection.pending.append(piece)
        self._dirty.append(connection)
