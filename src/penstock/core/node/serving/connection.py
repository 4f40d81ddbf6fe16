"""A client's connection without its socket: bytes in, frames, slots, parts out, and when to stop reading."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from penstock.core.base.ports import Slice
from penstock.core.node.deadlines import Deadline
from penstock.core.node.serving.context import ANONYMOUS, Principal, Proof, RequestContext
from penstock.core.node.serving.conversation import Conversation
from penstock.core.node.serving.frame_memory import Arrival
from penstock.core.node.serving.ports import ServingHost
from penstock.core.node.serving.slots import Part, Slot
from penstock.core.wire.errors import DecodeError, TooManyElements
from penstock.core.wire.frames import FrameReader

REQUESTS_PER_TURN_MAX: Final = 256
"""Some milliseconds of work. Thousands may arrive at once, and whoever else has something to say waits that long: the
controller, for one, which would take a node for dead that only answers a client."""
ANSWER_BYTES_PER_TURN_MAX: Final = 128 << 10
"""A small request may have a large answer, to make which takes as long."""
ALONE: Final = -1
NONE: Final[list[memoryview]] = []
"""Of frames: nobody puts one in, whatever arrives is another list."""
LOOKED_AT_BYTES_MIN: Final = 16 << 10
"""From here on it matters how much of an answer is in memory, and what is only in a file until it is sent."""
UNKNOWN_REQUESTS_MAX: Final = 16
UNKNOWN_MS_MAX: Final = 10_000
"""How many requests, and how much time, somebody has to say who it is. SCRAM takes four requests."""


class Connection:
    """One client. The world feeds it and sends what `take_output` gives."""

    __slots__ = (
        "_arrival",
        "_counted_bytes",
        "_frames",
        "_held_bytes",
        "_is_large",
        "_is_put_off",
        "_muted_until_ms",
        "_node",
        "_out_bytes",
        "_reader",
        "_requests_left",
        "_served",
        "_timers",
        "_unsent",
        "abandoned",
        "apis",
        "arrived_us",
        "client_instance",
        "closing",
        "context",
        "conversation",
        "dirty",
        "elements_left",
        "gone",
        "host",
        "is_authenticated",
        "knows_leaders",
        "last_active_ms",
        "opened_us",
        "out",
        "port",
        "proof",
        "reading",
        "slots",
        "software",
        "staged_bytes",
        "waiting",
    )

    software: tuple[str, str]
    """What it says it is made with: a name and a version."""
    client_instance: bytes | None
    """By which id it pushes metrics of its own."""

    def __init__(self, node: ServingHost, host: str, port: int, listener: str, certified: str | None = None) -> None:
        self._node = node
        self._reader = FrameReader(node.limits.frame_bytes_max, node.limits.plain_frame_bytes_max)
        # The frame that has not ended, or that is being served.
        self._arrival: Arrival | None = None
        self._frames: list[memoryview] = NONE
        self._served = self._out_bytes = self._unsent = 0
        # Of what is unsent, what is in memory and not in a file: never less than there is.
        self._held_bytes = self._counted_bytes = 0
        # It has had its share of a turn, and goes on in a later one.
        self._is_put_off = False
        # What comes next is a request for a turn of its own.
        self._is_large = False
        # It has asked for more than its quota, and is not listened to until then; 0: it is.
        self._muted_until_ms = 0
        self._timers: dict[str, Deadline] = {}
        self.elements_left = 0
        """How many elements may be decoded in this turn; ALONE: as many as a request may have."""
        self.host = host
        self.port = port
        principal = node.gates.authenticator.principal(listener, host, certified)
        self.is_authenticated = principal is not None
        self.conversation: Conversation | None = None
        """With which it is just saying who it is."""
        self.proof: Proof | None = None
        """Whom it has proved to be in such a conversation."""
        self._requests_left = 0
        if principal is None:
            self._distrust(listener)
        self.context = RequestContext(principal or ANONYMOUS, listener, host)
        self.apis = node.apis_on(listener)
        self.slots: deque[Slot] = deque()
        # How many requests the slots are for.
        self.waiting = 0
        # What it has sent that waits to be read, batch by batch.
        self.staged_bytes = 0
        # Whether it has been told who leads what: then it asks again only when it has a reason to.
        self.knows_leaders = False
        self.out: list[Part] = []
        self.closing = False
        self.abandoned = False
        self.gone = False
        self.dirty = False
        self.reading = True
        self.opened_us = node.now_us
        self.software, self.client_instance = ("", ""), None
        # When the oldest of the requests came that wait for their turn; 0: those that are served have just come.
        self.arrived_us = 0
        self.last_active_ms = node.now_ms

    def context_of(self, client_id: str | None) -> RequestContext:
        """Who asks; a client seldom changes its name."""
        context = self.context
        if context.client_id != client_id:
            context = self.context = context._replace(client_id=client_id)
        return context

    def authenticate(self, principal: Principal, *, by_token: bool = False) -> None:
        """It is known now who asks."""
        limits = self._node.limits
        self.context = self.context._replace(principal=principal, is_by_token=by_token)
        self.is_authenticated = True
        self._reader.allow(limits.frame_bytes_max, limits.plain_frame_bytes_max)

    def expire_in(self, lifetime_ms: int) -> None:
        """It must prove again who it is; if it asks for anything else after that time, it is sent away."""
        self._later("expiry", lifetime_ms, self._expire)

    def admits(self, before_authentication: bool) -> bool:
        """Whether a request may be served of somebody who has not said who it is; if not, it is sent away."""
        self._requests_left -= 1
        if not before_authentication or self._requests_left < 0:
            self.expel("asked for more than versions and authentication before it was known who asks")
            return False
        return True

    def _expire(self) -> None:
        self._distrust(self.context.listener)
        self.is_authenticated = False

    def _later(self, name: str, delay_ms: int, call: Callable[[], None]) -> None:
        """In place of what was to happen under this name; not after the connection is gone, which nothing may keep."""
        if name in self._timers:
            self._timers[name].cancel()
        self._timers[name] = self._node.deadlines.at(self._node.now_ms + delay_ms, call)

    def _distrust(self, listener: str) -> None:
        """From now on only what leads to authentication, within bounds."""
        size = self._node.gates.authenticator.frame_bytes_max(listener)
        self._reader.allow(size, size)
        self._requests_left = UNKNOWN_REQUESTS_MAX
        self._later("patience", UNKNOWN_MS_MAX, self._end_of_patience)

    def _end_of_patience(self) -> None:
        if not (self.is_authenticated or self.closing):
            self.expel(f"has not said who it is for {UNKNOWN_MS_MAX} ms")

    def get_buffer(self, hint: int) -> memoryview:
        return self._reader.get_buffer(hint)

    def received(self, count: int) -> None:
        """`count` bytes were put into the buffer given last."""
        self.last_active_ms = self._node.now_ms
        try:
            self._frames = self._reader.received(count)
            self._served = 0
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
            self._frames = self._reader.feed(data)
            self._served = 0
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
        for timer in self._timers.values():
            timer.cancel()
        for slot in self.slots:
            self._node.cancelled(slot)
        self.slots.clear()
        self.waiting = 0
        self.out.clear()
        if self._counted_bytes:
            self._node.later_turns.unread.hold(self, 0)
        self._frames = NONE
        self._stop_reading()
        if self.client_instance is not None:
            self._node.metrics.telemetry.forget(self.client_instance)
        self._node.disconnected(self)

    def close(self) -> None:
        """Send what is ready, then close."""
        if not self.closing:
            self.closing = True
            self._stop_reading()
            self.mark()

    def abandon(self) -> None:
        """Close though not everything was sent: the peer does not read."""
        self.closing = self.abandoned = True
        self._stop_reading()
        self.mark()

    def expel(self, what: str) -> None:
        """Close the connection of a client that did what no client may."""
        self._node.log("warning", "network", f"closed {self.host}:{self.port}, which {what}", kind="expelled")
        self.close()

    @property
    def now_us(self) -> int:
        return self._node.now_us

    def throttle(self, api: str, throttle_ms: int) -> None:
        """Its client has asked for more than its quota."""
        self._node.metrics.throttle(api, throttle_ms)
        self.mute(throttle_ms)

    def mute(self, throttle_ms: int) -> None:
        """Serve nothing of what it asks for a while. What it has asked before is answered."""
        self.reading = False
        self._muted_until_ms = max(self._muted_until_ms, self._node.now_ms + throttle_ms)
        self._later("muting", self._muted_until_ms - self._node.now_ms, self._unmute)

    def _unmute(self) -> None:
        if self._node.now_ms >= self._muted_until_ms and not self.gone:
            self._muted_until_ms = 0
            self.resume()
            self.mark()

    @property
    def unfinished_bytes(self) -> int:
        """What is here of a frame that has not ended."""
        return self._reader.waiting_bytes

    def has_room(self) -> None:
        """The frame that has begun may go on."""
        self.reading = True
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
        held_bytes = self._held_bytes
        if held_bytes > bytes_left:
            held_bytes = self._held_bytes = bytes_left
        if held_bytes != self._counted_bytes:
            self._counted_bytes = held_bytes
            self._node.later_turns.unread.hold(self, held_bytes)
        self._unsent = bytes_left
        if not self.reading:
            self.resume()

    def put(self, parts: list[Part], size: int) -> None:
        self.out += parts
        self._out_bytes += size
        self._held_bytes += size if size < LOOKED_AT_BYTES_MIN else _in_memory(parts)
        if not self.dirty:
            self.dirty = True
            self._node.dirty.append(self)

    def park(self, slot: Slot) -> None:
        """The answer has to wait for its turn, or for something to happen."""
        self.slots.append(slot)
        self.waiting += slot.requests
        self._node.dispatcher.parked(slot)

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
        if self.reading or self.closing or self._is_put_off or self._muted_until_ms or self._waits_for_room():
            return
        self._serve()

    def go_on(self) -> None:
        """In a later turn: serve what was more than a turn's share."""
        self._is_put_off = False
        self.resume()
        self.mark()

    def charge(self, elements: int) -> None:
        """A handler is about to look at so many things. It calls this before it has done anything: the request may be
        put off by it, and comes again."""
        if self.elements_left >= 0:
            if elements > self.elements_left:
                raise TooManyElements(f"an answer of {elements} elements takes a turn of its own")
            self.elements_left -= elements

    def _serve(self) -> None:
        """Run the frames that have arrived, as long as slots and output have room, and no more than a turn's share."""
        frames, node, limits = self._frames, self._node, self._node.limits
        self.reading = True
        at = self._served
        alone, self._is_large = self._is_large, False
        # What a request may have at most may be less than a turn's share: whatever has more is looked at alone.
        self.elements_left = ALONE if alone else limits.turn_elements_max
        share = at + (1 if alone else REQUESTS_PER_TURN_MAX)
        out_bytes_max = self._out_bytes + ANSWER_BYTES_PER_TURN_MAX
        try:
            while at < len(frames) and not self.closing:
                if (
                    self.waiting >= limits.slots_max
                    or self._out_bytes + self._unsent >= limits.output_bytes_max
                    or (self.staged_bytes and node.staging.is_full_for(self))
                ):
                    self._hold(at)
                    return
                if self._muted_until_ms:
                    self._hold(at)
                    return
                if at >= share or self._out_bytes >= out_bytes_max:
                    self._put_off(at)
                    node.later_turns.put_off(self)
                    return
                at += node.dispatcher.dispatch(self, frames, at)
        except TooManyElements as error:
            if not alone:
                self._is_large = True
                self._put_off(at)
                node.later_turns.put_off_large(self)
                return
            self._malformed(error)
        except DecodeError as error:
            self._malformed(error)
        self._frames = NONE
        self._served = self.arrived_us = 0
        if self._reader.unfinished_bytes or self._arrival is not None:
            self._follow(is_next=at > 0)

    def _follow(self, is_next: bool) -> None:
        """All frames that have ended are served: reserve room for the one that has not, or wait for room."""
        memory, size, arrival = self._node.frame_memory, self._reader.unfinished_bytes, self._arrival
        if arrival is not None and (is_next or arrival.size_bytes != size):
            # It was served, or its size has become known.
            memory.end(arrival)
            arrival = self._arrival = None
        if self.closing or not size:
            return
        if arrival is None:
            arrival = self._arrival = memory.begin(self, size)
        memory.arrived(arrival, self._reader.waiting_bytes)
        if memory.waits(arrival):
            self.reading = False

    def _waits_for_room(self) -> bool:
        return self._arrival is not None and self._node.frame_memory.waits(self._arrival)

    def _stop_reading(self) -> None:
        """Nothing that comes is looked at any more."""
        arrival, self._arrival = self._arrival, None
        if arrival is not None:
            self._node.frame_memory.end(arrival)
        self._reader.drop()

    def _put_off(self, at: int) -> None:
        self._hold(at)
        self._is_put_off = True

    def _hold(self, at: int) -> None:
        self.reading = False
        self._served = at
        self.arrived_us = self.arrived_us or self._node.now_us

    def _malformed(self, error: DecodeError) -> None:
        node = self._node
        node.metrics.malformed += 1
        text = f"closed {self.host}:{self.port}, which sent something that is not Kafka: {error}"
        node.log("warning", "network", text, kind="not-kafka")
        self.close()


def _in_memory(parts: list[Part]) -> int:
    size = 0
    for part in parts:
        if type(part) is not Slice:
            size += len(part)
    return size
