"""The node that is attacked, and the sockets that it is attacked with."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from typing import Any

from penstock.client.link import Link
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from penstock.core.wire.frames import request_frame
from penstock.core.wire.schema import Request
from penstock.testing import Broker
from tests.robustness.good_client import TIMEOUT_S
from tests.robustness.three_nodes import ThreeNodes
from tests.waiting import wait_until

_SIZE = struct.Struct(">i")


class Target:
    """The node that is attacked, alone or one of three, with the default settings; shared by all cases."""

    def __init__(self, broker: Broker | ThreeNodes) -> None:
        self.broker = broker

    @property
    def pids(self) -> list[int]:
        """Of the attacked node, and of the others."""
        return self.broker.pids if isinstance(self.broker, ThreeNodes) else [self.broker.pid]

    @property
    def controllers(self) -> list[tuple[str, int]]:
        return self.broker.controllers if isinstance(self.broker, ThreeNodes) else []

    def have_groups(self) -> None:
        """Requests about groups are refused without a thought before anybody has looked for a coordinator."""
        link = self.link()
        wait_until(lambda: self._found(link), what="a coordinator")
        link.close()

    def _found(self, link: Link) -> bool:
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
        return link.call(request, FindCoordinatorResponse, TIMEOUT_S).coordinators[0].error_code == 0

    def connect(self, address: tuple[str, int] | None = None) -> Peer:
        """To the attacked node, or wherever else."""
        return Peer(socket.create_connection(address or (self.broker.host, self.broker.port), TIMEOUT_S))

    def link(self) -> Link:
        """A connection that is used as it should be."""
        return Link(self.broker.host, self.broker.port, "hostile", TIMEOUT_S)


class Peer:
    """A bare socket. A context manager."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *raised: object) -> None:
        self.socket.close()

    def send(self, data: bytes | bytearray | memoryview) -> bool:
        """Whether all of it was taken before the node hung up."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def answer(self) -> bytes | None:
        """The next answer without its size; None if the node has hung up instead."""
        try:
            size = self._read(_SIZE.size)
            return None if size is None else self._read(_SIZE.unpack(size)[0])
        except ConnectionResetError:
            return None

    def _read(self, count: int) -> bytes | None:
        pieces = bytearray()
        while len(pieces) < count:
            piece = self.socket.recv(min(count - len(pieces), 1 << 20))
            if not piece:
                return None
            pieces += piece
        return bytes(pieces)


Case = Callable[[Target], None]


def frame_of(request: Request, version: int, correlation_id: int = 1) -> bytes:
    parts: list[Any] = request_frame(request, request.KEY, version, correlation_id, "hostile")
    return b"".join(parts)
