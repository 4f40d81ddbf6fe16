"""Asking one particular node how it sees a topic: a client library asks whichever node it likes, which may be the one
that has not heard of the latest fault."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from typing import NamedTuple, TypeVar

_METADATA = 3
_VERSION = 1
_TIMEOUT_SECONDS = 2.0
_T = TypeVar("_T")


class View(NamedTuple):
    """One partition as a node sees it."""

    partition: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: frozenset[int]


def views(host: str, port: int, topic: str) -> list[View]:
    """The partitions of a topic as that node sees them, in order; none if it cannot say."""
    name = topic.encode()
    request = struct.pack(f">hhih4sih{len(name)}s", _METADATA, _VERSION, 1, 4, b"test", 1, len(name), name)
    try:
        with socket.create_connection((host, port), _TIMEOUT_SECONDS) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            return sorted(_Answer(_receive(connection)).read())
    except OSError:
        return []


def _receive(connection: socket.socket) -> bytes:
    file = connection.makefile("rb")
    head = file.read(4)
    if len(head) < 4:
        raise ConnectionError("the node hung up")
    return file.read(struct.unpack(">i", head)[0])


class _Answer:
    """Reads an answer from its beginning to its end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def read(self) -> list[View]:
        self._number("i")
        self._array(self._skip_broker)
        self._number("i")
        topics = self._array(self._topic)
        return [view for topic in topics for view in topic]

    def _skip_broker(self) -> None:
        self._number("i")
        self._skip_text()
        self._number("i")
        self._skip_text()

    def _topic(self) -> list[View]:
        self._number("h")
        self._skip_text()
        self._number("b")
        return self._array(self._view)

    def _view(self) -> View:
        self._number("h")
        partition, leader = self._number("i"), self._number("i")
        replicas, in_sync = (self._array(lambda: self._number("i")) for _ in range(2))
        return View(partition, leader, tuple(replicas), frozenset(in_sync))

    def _array(self, item: Callable[[], _T]) -> list[_T]:
        return [item() for _ in range(self._number("i"))]

    def _skip_text(self) -> None:
        length = self._number("h")
        self._at += max(length, 0)

    def _number(self, kind: str) -> int:
        value: int = struct.unpack_from(f">{kind}", self._data, self._at)[0]
        self._at += struct.calcsize(kind)
        return value
