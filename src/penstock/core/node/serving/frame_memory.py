"""What frames that have not ended may take of memory, for all connections of a node together.

A frame is reserved room for as a whole, once its size is known, and until it was served: so whoever may begin can end.
Where there is no room, its connection is not read from, and goes on in its turn. Small frames are never held up: what
has arrived of them is counted, and if it is too much, the one that came first is given up, which an honest one never
is. Ordinary frames have a share that large ones cannot take from them.
"""

from __future__ import annotations

from typing import Final, Protocol

from penstock.core.node.host import Host
from penstock.core.node.serving.limits import Limits

SMALL_FRAME_BYTES_MAX: Final = 64 << 10
"""Heartbeats, fetches, what voters say to each other, and most produce requests."""
ORDINARY_FRAME_BYTES_MAX: Final = (1 << 20) + (64 << 10)
"""What producers send that are left at their defaults (`max.request.size`)."""
SMALL_PARTS, ORDINARY_PARTS, ALL_PARTS = 1, 2, 8
PROGRESS_BYTES_MIN: Final = 64 << 10
"""A frame that has gained less, and has not ended, makes no progress."""
STALL_WHEN_FULL_MS_MAX: Final = 1_000
"""For how long it may be so while others wait for its room."""
SWEEP_MS: Final = 500


class FrameHost(Host, Protocol):
    """What is asked of the node."""

    @property
    def limits(self) -> Limits: ...


class Sender(Protocol):
    """The connection that a frame comes on."""

    host: str
    port: int
    reading: bool

    def has_room(self) -> None:
        """All of the frame has room now."""

    def abandon(self) -> None:
        """The frame is given up."""


class Arrival:
    """A frame of which a part is here."""

    __slots__ = ("arrived_bytes", "connection", "share", "since_bytes", "since_us", "size_bytes")

    def __init__(self, connection: Sender, size_bytes: int, now_us: int) -> None:
        self.connection = connection
        self.size_bytes = size_bytes
        self.arrived_bytes = 0
        self.share: Share | None = None
        """Where all of it has room."""
        self.since_us = now_us
        self.since_bytes = 0


class Share:
    """Room for frames of some sizes, and who waits for it."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.used_bytes = 0
        self.waiting: dict[Arrival, None] = {}

    def has_room(self, size_bytes: int) -> bool:
        """One that is larger than all there is gets it alone."""
        return self.used_bytes + size_bytes <= self.bytes_max or not self.used_bytes

    def take(self, arrival: Arrival) -> None:
        self.used_bytes += arrival.size_bytes
        arrival.share = self


class FrameMemory:
    """All that is reserved, and all that is counted."""

    def __init__(self, node: FrameHost) -> None:
        bytes_max = node.limits.unfinished_bytes_max
        self._node = node
        self._arrivals: dict[Arrival, None] = {}
        self._ordinary = Share(bytes_max * ORDINARY_PARTS // ALL_PARTS)
        self._large = Share(bytes_max * (ALL_PARTS - ORDINARY_PARTS - SMALL_PARTS) // ALL_PARTS)
        self._small_bytes_max = bytes_max * SMALL_PARTS // ALL_PARTS
        self._counted_bytes = 0
        self.given_up = 0
        self._sweep_due_us: int | None = None

    @property
    def bytes(self) -> int:
        """What is reserved, and what is here of frames without a reservation."""
        return self._counted_bytes + self._ordinary.used_bytes + self._large.used_bytes

    @property
    def waiting(self) -> int:
        return len(self._ordinary.waiting) + len(self._large.waiting)

    def begin(self, connection: Sender, size_bytes: int) -> Arrival:
        """A frame of this size has begun; it `has_room` at once, or its connection waits until it is told so."""
        arrival = Arrival(connection, size_bytes, self._node.now_us)
        self._arrivals[arrival] = None
        if size_bytes > SMALL_FRAME_BYTES_MAX:
            share = self._share_for(size_bytes)
            if not share.waiting and share.has_room(size_bytes):
                share.take(arrival)
            else:
                share.waiting[arrival] = None
        if self._sweep_due_us is None:
            self._sweep_later()
        return arrival

    def waits(self, arrival: Arrival) -> bool:
        return arrival.share is None and arrival.size_bytes > SMALL_FRAME_BYTES_MAX

    def arrived(self, arrival: Arrival, arrived_bytes: int) -> None:
        """So much of it is here now."""
        if arrival.share is None:
            self._counted_bytes += arrived_bytes - arrival.arrived_bytes
        arrival.arrived_bytes = arrived_bytes
        while self._counted_bytes > self._small_bytes_max:
            self._give_up(self._first_counted(), "small frames that have not ended take more than their share")

    def end(self, arrival: Arrival) -> None:
        """It was served, or its connection is gone: who waits for its room may have it."""
        del self._arrivals[arrival]
        share = arrival.share
        if share is not None:
            share.used_bytes -= arrival.size_bytes
            self._admit(share)
            return
        self._counted_bytes -= arrival.arrived_bytes
        if self.waits(arrival):
            share = self._share_for(arrival.size_bytes)
            del share.waiting[arrival]
            # The one behind it may be smaller.
            self._admit(share)

    def _share_for(self, size_bytes: int) -> Share:
        return self._ordinary if size_bytes <= ORDINARY_FRAME_BYTES_MAX else self._large

    def _admit(self, share: Share) -> None:
        while share.waiting and share.has_room((arrival := next(iter(share.waiting))).size_bytes):
            del share.waiting[arrival]
            share.take(arrival)
            self._counted_bytes -= arrival.arrived_bytes
            arrival.since_us = self._node.now_us
            arrival.connection.has_room()

    def _first_counted(self) -> Arrival:
        return next(each for each in self._arrivals if each.share is None and each.arrived_bytes)

    def _sweep_later(self) -> None:
        node = self._node
        self._sweep_due_us = node.now_us + SWEEP_MS * 1000
        node.deadlines.at(node.now_ms + SWEEP_MS, lambda: self._sweep(node.now_us))

    def _sweep(self, now_us: int) -> None:
        """Give up frames that make no progress. A node that comes late has not read meanwhile, and blames nobody."""
        assert self._sweep_due_us is not None
        is_late = now_us - self._sweep_due_us >= SWEEP_MS * 1000
        for arrival in list(self._arrivals):
            gained = arrival.arrived_bytes - arrival.since_bytes
            if gained >= PROGRESS_BYTES_MIN or is_late or not arrival.connection.reading:
                arrival.since_us, arrival.since_bytes = now_us, arrival.arrived_bytes
            elif (stalled_ms := (now_us - arrival.since_us) // 1000) >= self._stall_ms_max(arrival):
                self._give_up(arrival, f"{gained} bytes came in {stalled_ms} ms")
        self._sweep_due_us = None
        if self._arrivals:
            self._sweep_later()

    def _stall_ms_max(self, arrival: Arrival) -> int:
        allowed_ms = self._node.limits.frame_stall_ms_max
        is_wanted = arrival.share is not None and arrival.share.waiting
        return min(allowed_ms, STALL_WHEN_FULL_MS_MAX) if is_wanted else allowed_ms

    def _give_up(self, arrival: Arrival, why: str) -> None:
        node, connection = self._node, arrival.connection
        self.given_up += 1
        here = f"{arrival.arrived_bytes} of {arrival.size_bytes} bytes"
        text = f"closed {connection.host}:{connection.port}, whose request does not end ({here}): {why}"
        node.log("warning", "network", text, kind="unfinished")
        connection.abandon()
