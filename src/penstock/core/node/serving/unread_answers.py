"""How much memory answers take that wait for their readers, of all connections together.

A connection that does not read is served no more once it has so much waiting (`output_bytes_max`), but there may be
many of them. So a large request waits while they all have too much; and of those who hold the most, one that does not
read on is given up, as is an arriving request that does not end (`frame_memory`). Small requests are answered all the
while.
"""

from __future__ import annotations

from typing import Final, Protocol

from penstock.core.node.host import Host
from penstock.core.node.serving.limits import Limits

PROGRESS_BYTES_MIN: Final = 64 << 10
STALL_MS_MAX: Final = 1_000
"""Who has read less in this time, while others wait for room, does not read on."""


class UnreadHost(Host, Protocol):
    """What is asked of the node."""

    @property
    def limits(self) -> Limits: ...


class Reader(Protocol):
    """The connection that answers leave on."""

    host: str
    port: int

    def abandon(self) -> None:
        """Its answers are given up."""


class Held:
    """What one connection has waiting, and had at some time before."""

    __slots__ = ("bytes", "since_bytes", "since_ms")

    def __init__(self, now_ms: int) -> None:
        self.bytes = self.since_bytes = 0
        self.since_ms = now_ms


class UnreadAnswers:
    """Told by each connection after it has sent what it could."""

    def __init__(self, node: UnreadHost) -> None:
        self._node = node
        self._by_connection: dict[Reader, Held] = {}
        self.bytes = 0

    def hold(self, connection: Reader, size_bytes: int) -> None:
        """So much waits on it now."""
        held = self._by_connection.get(connection)
        if held is None:
            held = self._by_connection[connection] = Held(self._node.now_ms)
        self.bytes += size_bytes - held.bytes
        held.bytes = size_bytes
        # What came since is no lack of progress.
        held.since_bytes = max(held.since_bytes, size_bytes)
        if not size_bytes:
            del self._by_connection[connection]

    @property
    def is_full(self) -> bool:
        return self.bytes >= self._node.limits.unread_bytes_max

    def make_room(self) -> None:
        """Somebody waits: give up whoever holds the most and does not read on."""
        now_ms = self._node.now_ms
        for connection, held in sorted(self._by_connection.items(), key=lambda each: each[1].bytes, reverse=True):
            if now_ms - held.since_ms < STALL_MS_MAX:
                continue
            if held.since_bytes - held.bytes < PROGRESS_BYTES_MIN:
                self._give_up(connection, held)
                return
            held.since_ms, held.since_bytes = now_ms, held.bytes

    def _give_up(self, connection: Reader, held: Held) -> None:
        text = f"closed {connection.host}:{connection.port}, which does not read {held.bytes} bytes of answers"
        self._node.log("warning", "network", f"{text}, while others wait for room", kind="unread")
        connection.abandon()
