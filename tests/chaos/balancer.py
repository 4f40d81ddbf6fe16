"""A TCP balancer as it stands in front of a cluster: each connection goes to the next node that takes it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from itertools import cycle
from types import TracebackType
from typing import Self

LOOPBACK = "127.0.0.1"
PIECE_BYTES_MAX = 1 << 16


class Balancer:
    """Forwards whatever comes; counts the connections that each node got."""

    def __init__(self, backends: Sequence[tuple[str, int]]) -> None:
        self._listener = socket.create_server((LOOPBACK, 0))
        self._turn = cycle(backends)
        self._tries = len(backends)
        self.connections: dict[tuple[str, int], int] = dict.fromkeys(backends, 0)
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Closing alone would leave the thread in `accept`.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()
        for each in self._open:
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                front, _ = self._listener.accept()
            except OSError:
                return
            back = self._dial()
            self._open += [front, back]
            for source, sink in ((front, back), (back, front)):
                threading.Thread(target=_pour, args=(source, sink), daemon=True).start()

    def _dial(self) -> socket.socket:
        for _ in range(self._tries):
            backend = next(self._turn)
            try:
                connection = socket.create_connection(backend, 2.0)
            except OSError:
                continue
            self.connections[backend] += 1
            connection.settimeout(None)
            return connection
        raise AssertionError("no node takes connections")


def _pour(source: socket.socket, sink: socket.socket) -> None:
    """Until either end is done; then both are told."""
    try:
        while piece := source.recv(PIECE_BYTES_MAX):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()
        sink.close()
