"""Nodes that know only each other: each asks all the others, all the time, through `Links`, and answers them.

An answer carries the number of its question and the name of who answers, so that none can be taken for another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from penstock.core.base.ports import Entropy, Network
from penstock.core.node.deadlines import Deadlines
from penstock.core.node.links.link import Address
from penstock.core.node.links.links import Links
from penstock.core.node.links.purposes import RAFT
from penstock.core.wire.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from penstock.core.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from penstock.core.wire.frames import FrameReader, parse_request_header
from penstock.core.wire.schema import Request, Response
from penstock.sim.chance import Chance
from penstock.sim.events import Event, LogState, Partition
from penstock.sim.machine import CONTROLLER_PORT
from penstock.sim.ports import Piece, SimNode
from penstock.sim.scheduler import Scheduler
from penstock.sim.site import Place
from penstock.sim.trace import Trace
from penstock.sim.world import host_of
from tests.node.toy_network import frame_of

INTERVAL_MS = 100
TIMEOUT_MS = 1_000
PADDING = "x" * 2_000
SPOKEN: tuple[type[Request], ...] = (ApiVersionsRequest, HeartbeatRequest)


class GossipConnection:
    """Somebody who asks."""

    def __init__(self, node: GossipNode, host: str, listener: str) -> None:
        self.node = node
        self.host = host
        self.listener = listener
        self.closing = False
        self.reading = True
        self.was_closed = False
        self._reader = FrameReader()
        self._output: list[Piece] = []

    def feed(self, data: bytes) -> None:
        assert self.node.in_turn
        for frame in self._reader.feed(data):
            self._output.append(self._answer(bytes(frame)))
            self.node.dirty.append(self)

    def closed(self) -> None:
        assert self.node.in_turn
        self.was_closed = True

    def take_output(self) -> Sequence[Piece]:
        output, self._output = self._output, []
        return output

    def sent(self, bytes_left: int) -> None:
        assert self.node.in_turn

    def _answer(self, frame: bytes) -> bytes:
        key, version, correlation_id, _, position = parse_request_header(frame)
        if key == ApiVersionsRequest.KEY:
            return frame_of(ApiVersionsResponse(api_keys=[_offer(each) for each in SPOKEN]), version, correlation_id)
        request = HeartbeatRequest.decode(frame, version, position)
        assert request.member_id == self.host, "it was asked by somebody else"
        self.node.heard[request.member_id] += 1
        answer = HeartbeatResponse(throttle_time_ms=request.generation_id, error_code=self.node.number)
        return frame_of(answer, version, correlation_id)


class GossipNode:
    """One of them."""

    def __init__(self, number: int, others: Sequence[int], network: Network, entropy: Entropy) -> None:
        self.number = number
        self.others = others
        self.entropy = entropy
        self.state = "starting"
        self.failure: str | None = None
        self.in_turn = False
        self.now_ms = 0
        self.now_us = 0
        self.turns = 0
        self.deadlines = Deadlines()
        self.links = Links(self, network, host_of(number))
        self.links.refused = lambda address: self.refused.update([address.host])
        self.dirty: list[GossipConnection] = []
        self.connections: list[GossipConnection] = []
        self.heard: Counter[str] = Counter()
        self.answered: Counter[int] = Counter()
        self.failed: Counter[int] = Counter()
        self.refused: Counter[str] = Counter()
        self.open: set[int] = set()
        self.last_answer_us: dict[int, int] = {}
        self._questions = 0

    def begin(self, now_ms: int, now_us: int | None = None) -> None:
        assert not self.in_turn
        assert now_us is not None
        if self.turns:
            self.deadlines.shift(now_ms - self.now_ms - (now_us - self.now_us) // 1000)
        self.in_turn = True
        self.turns += 1
        self.now_ms, self.now_us = now_ms, now_us

    def start(self) -> None:
        self.state = "running"
        self._ask_all()

    def stop(self) -> None:
        self.links.close_all()
        self.state = "stopped"

    def connect(self, host: str, port: int, listener: str = "PLAINTEXT") -> GossipConnection | None:
        assert self.in_turn
        self.connections.append(GossipConnection(self, host, listener))
        return self.connections[-1]

    def tick(self) -> None:
        self.deadlines.run_due(self.now_ms)

    def next_deadline_ms(self) -> int | None:
        return self.deadlines.next_ms()

    def finish(self) -> Sequence[GossipConnection]:
        self.in_turn = False
        dirty, self.dirty = self.dirty, []
        return dirty

    def log(self, level: str, component: str, text: str, kind: str = "") -> None:
        raise AssertionError(f"nobody here breaks the protocol: {text}")

    def _ask_all(self) -> None:
        for other in self.others:
            self._ask(other)
        self.deadlines.at(self.now_ms + INTERVAL_MS, self._ask_all)

    def _ask(self, other: int) -> None:
        self._questions += 1
        number = self._questions
        self.open.add(number)

        def done(response: Response | None) -> None:
            assert self.in_turn
            self.open.remove(number)
            if response is None:
                self.failed[other] += 1
                return
            assert isinstance(response, HeartbeatResponse)
            assert (response.error_code, response.throttle_time_ms) == (other, number)
            self.answered[other] += 1
            self.last_answer_us[other] = self.now_us

        request = HeartbeatRequest(group_id=PADDING, generation_id=number, member_id=host_of(self.number))
        self.links.ask(Address(host_of(other), CONTROLLER_PORT), RAFT, request, TIMEOUT_MS, done)


class GossipNodes:
    """Makes them; there are as many as the world has machines."""

    def __init__(self, machines: int) -> None:
        self._machines = machines

    def make(self, place: Place, chance: Chance) -> SimNode:
        others = [number for number in range(1, self._machines + 1) if number != place.number]
        return GossipNode(place.number, others, place.dialing, chance)

    def logs(self, node: SimNode) -> dict[Partition, LogState]:
        return {}


class Diary:
    """A witness that only writes down."""

    def __init__(self, scheduler: Scheduler, trace: Trace) -> None:
        self.events: list[Event] = []
        self._scheduler = scheduler
        self._trace = trace

    def see(self, event: Event) -> None:
        self.events.append(event)
        self._trace.note(self._scheduler.now_us, type(event).__name__, str(event))


def _offer(request: type[Request]) -> ApiVersion:
    return ApiVersion(api_key=request.KEY, min_version=request.VERSIONS[0], max_version=request.VERSIONS[-1])
