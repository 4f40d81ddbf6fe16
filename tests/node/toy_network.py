"""A network in the test's own hands: every dial waits for the test to say what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from penstock.core.base.ports import Buffer, WireEvents
from penstock.core.node.deadlines import Deadlines
from penstock.core.node.links.link import Address
from penstock.core.wire.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from penstock.core.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from penstock.core.wire.frames import FrameReader, parse_request_header, response_frame
from penstock.core.wire.schema import Request, Response

SPOKEN = (ApiVersionsRequest, HeartbeatRequest)


class ToyWire:
    """One dial. It greets by itself once open, and holds every other request for the test to answer."""

    def __init__(self, network: ToyNetwork, address: Address, events: WireEvents) -> None:
        self.network = network
        self.address = address
        self.events = events
        self.is_open = False
        self.is_closed = self.is_reset = False
        self.sent_bytes = 0
        self.spoken: Sequence[type[Request]] = SPOKEN
        self.requests: list[tuple[HeartbeatRequest, int, int]] = []
        self._reader = FrameReader()

    def send(self, parts: Sequence[Buffer]) -> None:
        assert self.is_open, "nothing may be sent before the wire is open"
        assert not self.is_closed
        data = b"".join(map(bytes, parts))
        self.sent_bytes += len(data)
        for frame in self._reader.feed(data):
            key, version, correlation_id, _, position = parse_request_header(frame)
            if key == ApiVersionsRequest.KEY:
                self.network.greetings.append((self, version, correlation_id))
            else:
                self.requests.append(
                    (HeartbeatRequest.decode(bytes(frame), version, position), version, correlation_id)
                )

    def close(self) -> None:
        self.is_closed = True

    def reset(self) -> None:
        self.is_reset = True
        self.close()

    # ---- what the test lets happen

    def open(self) -> None:
        self.is_open = True
        self._event(self.events.opened)

    def greet(self) -> None:
        """Answer the greeting."""
        wire, version, correlation_id = self.network.greetings.pop()
        assert wire is self
        keys = [
            ApiVersion(api_key=each.KEY, min_version=each.VERSIONS[0], max_version=each.VERSIONS[-1])
            for each in self.spoken
        ]
        self.feed(frame_of(ApiVersionsResponse(api_keys=keys), version, correlation_id))

    def answer(self) -> None:
        """Answer the oldest request, with its own generation as the throttle time."""
        request, version, correlation_id = self.requests.pop(0)
        self.feed(frame_of(HeartbeatResponse(throttle_time_ms=request.generation_id), version, correlation_id))

    def feed(self, data: bytes) -> None:
        buffer = bytearray(data)
        self._event(lambda: self.events.received(memoryview(buffer)))
        buffer[:] = bytes(len(buffer))

    def lose(self, refused: bool = False) -> None:
        self._event(lambda: self.events.lost(refused))

    def _event(self, event: Callable[[], None]) -> None:
        assert not self.is_closed, "no event may come after the core has hung up"
        self.network.turn(event)


class ToyNetwork:
    """All dials, and the owner of the links: a clock, deadlines, chance."""

    def __init__(self) -> None:
        self.wires: list[ToyWire] = []
        self.greetings: list[tuple[ToyWire, int, int]] = []
        self.notes: list[str] = []
        self.deadlines = Deadlines()
        self.now_us = 1_000_000_000
        self.skew_ms = 0
        self.in_turn = False
        self._random = Random(1)

    def dial(self, host: str, port: int, events: WireEvents, listener: str = "") -> ToyWire:
        assert self.in_turn
        self.wires.append(ToyWire(self, Address(host, port), events))
        return self.wires[-1]

    def turn(self, event: Callable[[], None]) -> None:
        assert not self.in_turn
        self.in_turn = True
        event()
        self.in_turn = False

    @property
    def last(self) -> ToyWire:
        return self.wires[-1]

    def connected(self) -> ToyWire:
        """The last dial comes about, up to its greeting."""
        self.last.open()
        self.last.greet()
        return self.last

    def pass_time(self, duration_ms: int) -> None:
        """Run every deadline at its time."""
        until_us = self.now_us + duration_ms * 1000
        while (next_ms := self.deadlines.next_ms()) is not None and next_ms - self.skew_ms <= until_us // 1000:
            self.now_us = max(self.now_us, (next_ms - self.skew_ms) * 1000)
            self.turn(lambda: self.deadlines.run_due(self.now_ms))
        self.now_us = until_us

    def set_clock(self, step_ms: int) -> None:
        """Somebody sets the wall clock; the node shifts its deadlines when it sees that."""
        self.skew_ms += step_ms
        self.deadlines.shift(step_ms)

    # ---- what a node is to its links

    @property
    def now_ms(self) -> int:
        return self.now_us // 1000 + self.skew_ms

    @property
    def entropy(self) -> ToyNetwork:
        return self

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)

    def log(self, level: str, component: str, text: str, kind: str = "") -> None:
        self.notes.append(text)


def frame_of(response: Response, version: int, correlation_id: int) -> bytes:
    return b"".join(map(bytes, response_frame(response, version, correlation_id)))  # type: ignore[arg-type]
