"""A client's connection without its socket: bytes in, frames, slots, parts out, and when to stop reading."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from penstock.core.node.slots import Part, Slot
from penstock.core.wire.errors import DecodeError
from penstock.core.wire.frames import FrameReader

if TYPE_CHECKING:
    from penstock.core.node.node import Node

REQUESTS_PER_TURN_MAX: Final = 256
"""Some milliseconds of work. Thousands may arrive at once, and whoever else has something to say waits that long: the
controller, for one, which would take a node for dead that only answers a client."""


class Connection:
    """One client. The world feeds it and sends what `take_output` gives."""

    __slots__ = (
        "_frames",
        "_is_put_off",
        "_node",
        "_out_bytes",
        "_reader",
        "_served",
        "_unsent",
        "abandoned",
        "apis",
        "closing",
        "dirty",
        "gone",
        "host",
        "knows_leaders",
        "last_active_ms",
        "listener",
        "opened_us",
        "out",
        "port",
        "reading",
        "slots",
        "waiting",
    )

    def __init__(self, node: Node, host: str, port: int, listener: str) -> None:
        self._node = node
        self._reader = FrameReader(node.limits.frame_bytes_max)
        self._take([])
        self._out_bytes = 0
        self._unsent = 0
        # It has had its share of a turn, and goes on in a later one.
        self._is_put_off = False
        self.host = host
        self.port = port
        self.listener = listener
        self.apis = node.apis_on(listener)
        self.slots: deque[Slot] = deque()
        # How many requests the slots are for.
        self.waiting = 0
        # Whether it has been told who leads what: then it asks again only when it has a reason to.
        self.knows_leaders = False
        self.out: list[Part] = []
        self.closing = False
        self.abandoned = False
        self.gone = False
        self.dirty = False
        self.reading = True
        self.opened_us = node.now_us
        self.last_active_ms = node.now_ms

    def get_buffer(self, hint: int) -> memoryview:
        return self._reader.get_buffer(hint)

    def received(self, count: int) -> None:
        """`count` bytes were put into the buffer given last."""
        self.last_active_ms = self._node.now_ms
        try:
            self._take(self._reader.received(count))
        except DecodeError as error:
            self._malformed(error)
        else:
            self._serve()

    def feed(self, data: bytes) -> None:
        """Take bytes from a world without buffers of ours; only while `reading`, as frames may wait in the buffer."""
        assert self.reading, "bytes were fed to a connection that has asked for none"
        self.last_active_ms = self._node.now_ms
        if self.closing or not data:
            return
        try:
            self._take(self._reader.feed(data))
        except DecodeError as error:
            self._malformed(error)
        else:
            self._serve()

    def rest(self) -> None:
        """Nothing has come for a while: give the buffer back."""
        if not self._frames:
            self._reader.rest()

    def closed(self) -> None:
        """The peer went away: its slots are cancelled, what it had us append is not."""
        self.gone = True
        self.closing = True
        for slot in self.slots:
            self._node.cancelled(slot)
        self.slots.clear()
        self.waiting = 0
        self.out.clear()
        self._take([])
        self._node.disconnected(self)

    def close(self) -> None:
        """Send what is ready, then close."""
        if not self.closing:
            self.closing = True
            self.mark()

    def abandon(self) -> None:
        """Close though not everything was sent: the peer does not read."""
        self.closing = self.abandoned = True
        self.mark()

    def take_output(self) -> list[Part]:
        """Everything that can be sent now, in order."""
        out, self.out = self.out, []
        self._unsent += self._out_bytes
        self._out_bytes = 0
        return out

    def sent(self, bytes_left: int) -> None:
        """The world still holds this much unsent; go on reading once that is little enough."""
        if bytes_left < self._unsent:
            self.last_active_ms = self._node.now_ms
        self._unsent = bytes_left
        self.resume()

    def put(self, parts: list[Part], size: int) -> None:
        self.out += parts
        self._out_bytes += size
        if not self.dirty:
            self.mark()

    def park(self, slot: Slot) -> None:
        """The answer has to wait for its turn, or for something to happen."""
        self.slots.append(slot)
        self.waiting += slot.requests

    def mark(self) -> None:
        if not self.dirty:
            self.dirty = True
            self._node.dirty.append(self)

    def drain(self) -> None:
        """Move replies that are ready, and whose turn it is, to the output."""
        slots = self.slots
        while slots and (parts := slots[0].parts) is not None:
            slot = slots.popleft()
            self.waiting -= slot.requests
            if parts:
                self.put(parts, slot.size)
            self._node.answered(slot)
        if not self.reading:
            self.mark()

    def resume(self) -> None:
        """At the end of a turn: serve frames that back-pressure had left in the buffer."""
        if not self.reading and not self.closing and not self._is_put_off:
            self._serve()

    def go_on(self) -> None:
        """In a later turn: serve what was more than a turn's share."""
        self._is_put_off = False
        self.resume()
        self.mark()

    def _take(self, frames: list[memoryview]) -> None:
        """These frames have arrived, and none of them has been served."""
        self._frames = frames
        self._served = 0

    def _serve(self) -> None:
        """Run the frames that have arrived, as long as slots and output have room, and no more than a turn's share."""
        frames, node, limits = self._frames, self._node, self._node.limits
        self.reading = True
        at = self._served
        share = at + REQUESTS_PER_TURN_MAX
        try:
            while at < len(frames) and not self.closing:
                if self.waiting >= limits.slots_max or self._out_bytes + self._unsent >= limits.output_bytes_max:
                    self._hold(at)
                    return
                if at >= share:
                    self._hold(at)
                    self._is_put_off = True
                    node.put_off(self)
                    return
                at += node.dispatch(self, frames, at)
        except DecodeError as error:
            self._malformed(error)
        self._take([])

    def _hold(self, at: int) -> None:
        self.reading = False
        self._served = at

    def _malformed(self, error: DecodeError) -> None:
        node = self._node
        node.metrics.malformed += 1
        node.log("warning", f"closed {self.host}:{self.port}, which sent something that is not Kafka: {error}")
        self.close()
