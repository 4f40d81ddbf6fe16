"""One conversation with another node: dial, greet, ask, and after a failure rest before dialling again.

The end of a wire is the end of every question of its link, so that whoever asked learns it at once and decides what to
ask again. A question that is not answered in time ends the wire too: the late answer would still come, and everything
behind it waits. `done` is called exactly once, and never inside `ask` or `close`: the asker is in the middle of
something then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, cast

from penstock.core.base.ports import Buffer, Entropy, Network, Wire
from penstock.core.base.values import mutable
from penstock.core.node.deadlines import Deadline
from penstock.core.node.host import Clock
from penstock.core.node.links.route import OPEN_ROUTE, Route
from penstock.core.peer.connection import PeerConnection, Reply
from penstock.core.peer.errors import PeerError, UnsupportedByPeer
from penstock.core.peer.login import Login
from penstock.core.wire.registry import response_class
from penstock.core.wire.schema import Request, Response

Answered = Callable[[Response | None], None]
"""Gets the answer, or None where there will never be one."""

QUESTIONS_MAX: Final = 256
"""More of them at once, and a link says at once that it has no answer."""
IN_FLIGHT_MAX: Final = 64
IN_FLIGHT_BYTES_MAX: Final = 4 << 20
"""A peer that does not read costs no more memory than this and one request."""
SETUP_MS_MAX: Final = 2_000
"""From dialling to a peer's greeting. Longer would hide for too long that a cut network is whole again."""
REST_MS_MIN: Final = 20
REST_MS_MAX: Final = 500
RENEWED_AFTER_US_PER_MS: Final = 800
"""After eight tenths of a session."""

_NEVER: Final = float("inf")  # Time is kept here: by the clock that runs forward, whatever somebody sets the other to.


class Address(NamedTuple):
    """Where somebody listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Owner(Clock, Protocol):
    """What links need of their node."""

    @property
    def entropy(self) -> Entropy: ...

    def log(self, level: str, component: str, text: str, kind: str = "") -> None: ...


class _Question(NamedTuple):
    request: Request
    expires_us: int
    quiet_us: int
    done: Answered


class _Asked(NamedTuple):
    question: _Question
    size_bytes: int
    at_us: int


@mutable
class LinkCounts:
    """What was asked and answered."""

    asked: int = 0
    answered: int = 0
    bytes_out: int = 0
    bytes_in: int = 0


class Link:
    """Asks one address, over one wire at a time; it is that wire's events."""

    def __init__(
        self,
        owner: Owner,
        network: Network,
        to: Address,
        client_id: str,
        refused: Callable[[Address], None],
        route: Callable[[], Route] = lambda: OPEN_ROUTE,
        hung_up: Callable[[Address], None] = lambda address: None,
        greeted: Callable[[Address], None] = lambda address: None,
    ) -> None:
        self._owner = owner
        self._network = network
        self._to = to
        self._client_id = client_id
        self._refused = refused
        self._hung_up = hung_up
        self._greeted = greeted
        self._route = route
        self.counts = LinkCounts()
        self._login: Login | None = None
        self._renew_us = _NEVER
        self._wire: Wire | None = None
        self._peer = PeerConnection(client_id)
        self._waiting: deque[_Question] = deque()
        self._asked: deque[_Asked] = deque()
        self._asked_bytes = 0
        self._heard_us = 0
        self._failures = 0
        self._rests_until_us = 0
        self._setup_expires_us = 0
        self._timer: Deadline | None = None
        self._timer_at_us = 0

    def ask(self, request: Request, timeout_ms: int, done: Answered, quiet_ms: int | None = None) -> None:
        """Ask as soon as the peer can be asked. Its answer may take all of the time; that it says nothing at all, not
        even a part of an answer, only `quiet_ms` of it."""
        quiet_ms = timeout_ms if quiet_ms is None else min(quiet_ms, timeout_ms)
        now_us = self._owner.now_us
        question = _Question(request, now_us + timeout_ms * 1000, quiet_ms * 1000, done)
        if len(self._waiting) + len(self._asked) >= QUESTIONS_MAX:
            self._fail_later(question)
            return
        self._waiting.append(question)
        if self._timer is not None and self._timer_at_us <= now_us + question.quiet_us and self._is_ready:
            self._pump()
        else:
            self._go_on()

    @property
    def is_waiting(self) -> bool:
        """Whether anything is not answered yet."""
        return bool(self._waiting or self._asked)

    def close(self, politely: bool = False) -> None:
        """Hang up; whatever is not answered yet never will be. Politely: what was said may still be heard."""
        for question in self._drop_wire(politely):
            self._fail_later(question)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # ---- events of the wire

    def opened(self) -> None:
        self._peer.greet(_NEVER)
        self._send(self._take_output())

    def received(self, data: memoryview) -> None:
        peer = self._peer
        self.counts.bytes_in += len(data)
        self._heard_us = self._owner.now_us
        was_ready = self._is_ready
        try:
            replies = peer.feed(data)
            if not was_ready:
                replies = self._introduce(replies)
        except PeerError as error:
            self._owner.log("warning", "network", f"hung up on {self._to}: {error}", kind="hung up")
            self._break()
            return
        if not was_ready and self._is_ready:
            self._failures = 0
            self._greeted(self._to)
        for reply in replies:
            # Whoever gets an answer may hang up; the other answers are nobody's then.
            if self._peer is peer:
                self._answer(reply)
        if self._waiting and self._peer is peer:
            self._go_on()

    def lost(self, refused: bool) -> None:
        was_ready = self._is_ready
        self._break()
        if refused:
            self._refused(self._to)
        elif was_ready:
            self._hung_up(self._to)

    # ---- inside

    @property
    def _is_ready(self) -> bool:
        """Whether questions may be asked: the versions are agreed on, and we have said who we are."""
        return self._peer.is_ready and self._login is None

    @property
    def _is_opening(self) -> bool:
        return self._wire is not None and not self._is_ready

    def _introduce(self, replies: list[Reply]) -> list[Reply]:
        """Say who we are, if the peer wants to know; gives the replies that are none to that."""
        login = self._login
        if login is None or not self._peer.is_ready:
            return replies
        if replies and (lifetime_ms := getattr(replies[0].message, "session_lifetime_ms", 0)):
            self._renew_us = self._owner.now_us + lifetime_ms * RENEWED_AFTER_US_PER_MS
        request = login.next(replies[0].message) if replies else login.begin()
        if request is None:
            self._login = None
        else:
            self._peer.ask(request, response_class(type(request).KEY), _NEVER)
            self._send(self._take_output())
        return []

    def _go_on(self) -> None:
        """Do what can be done now, and wake up when more can be."""
        if self._wire is None:
            if self._waiting and self._owner.now_us >= self._rests_until_us:
                self._dial()
        elif self._is_ready:
            self._pump()
        self._arm()

    def _dial(self) -> None:
        self._peer = PeerConnection(self._client_id)
        self._setup_expires_us = self._owner.now_us + SETUP_MS_MAX * 1000
        route = self._route()
        self._renew_us = _NEVER
        self._login = None if route.identity is None else Login(route.identity, self._owner.entropy)
        self._wire = self._network.dial(self._to.host, self._to.port, self, route.listener)

    def _pump(self) -> None:
        """Send questions, as many as may be under way at once. Before a session ends all of them are answered, and then
        we say again who we are."""
        if self._owner.now_us >= self._renew_us:
            if not self._asked:
                self._renew()
            return
        output: list[Buffer] = []
        while self._waiting and len(self._asked) < IN_FLIGHT_MAX and self._asked_bytes < IN_FLIGHT_BYTES_MAX:
            question = self._waiting.popleft()
            try:
                self._peer.ask(question.request, response_class(type(question.request).KEY), _NEVER)
            except UnsupportedByPeer as error:
                self._owner.log("warning", "network", f"{self._to}: {error}")
                self._fail_later(question)
                continue
            parts = self._take_output()
            size_bytes = sum(map(len, parts))
            self._asked.append(_Asked(question, size_bytes, self._owner.now_us))
            self._asked_bytes += size_bytes
            self.counts.asked += 1
            self.counts.bytes_out += size_bytes
            output += parts
        if output:
            self._send(output)

    def _renew(self) -> None:
        identity = self._route().identity
        self._renew_us = _NEVER
        if identity is not None:
            self._login = Login(identity, self._owner.entropy)
            self._setup_expires_us = self._owner.now_us + SETUP_MS_MAX * 1000
            self._introduce([])

    def _send(self, parts: list[Buffer]) -> None:
        assert self._wire is not None
        self._wire.send(parts)

    def _take_output(self) -> list[Buffer]:
        return cast("list[Buffer]", self._peer.take_output())

    def _answer(self, reply: Reply) -> None:
        question, size_bytes, _ = self._asked.popleft()
        self._asked_bytes -= size_bytes
        self.counts.answered += 1
        question.done(reply.message)

    # ---- failures

    def _break(self) -> None:
        """The wire has come to its end, or comes to it now: rest, and tell everybody."""
        failed = self._drop_wire()
        rest_ms = min(REST_MS_MIN << self._failures, REST_MS_MAX)
        if rest_ms < REST_MS_MAX:
            self._failures += 1
        # Nodes that lost the same peer do not come back to it all at once.
        spread = 768 + 2 * self._owner.entropy.bytes(1)[0]
        self._rests_until_us = self._owner.now_us + rest_ms * spread * 1000 // 1024
        for question in failed:
            question.done(None)

    def _drop_wire(self, politely: bool = False) -> list[_Question]:
        """Forget the wire and all questions; gives the questions. Whoever is told that there is no answer may ask again
        elsewhere, so a question that was not heard yet should not be heard after that."""
        questions = [asked.question for asked in self._asked]
        questions += self._waiting
        self._asked.clear()
        self._asked_bytes = 0
        self._waiting.clear()
        self._peer = PeerConnection(self._client_id)
        self._login = None
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.close() if politely or not questions else wire.reset()
        return questions

    def _fail_later(self, question: _Question) -> None:
        self._owner.deadlines.soon(lambda: question.done(None))

    # ---- time: one timer, at the earliest of all that may come

    def _arm(self) -> None:
        at_us = self._next_us()
        if at_us is None or (self._timer is not None and self._timer_at_us <= at_us):
            # A timer that comes too early finds nothing to do and sets the next one. That is cheaper than a timer for
            # each question, nearly all of which are answered.
            return
        if self._timer is not None:
            self._timer.cancel()
        delay_ms = -((self._owner.now_us - at_us) // 1000)
        self._timer_at_us = at_us
        self._timer = self._owner.deadlines.at(self._owner.now_ms + max(delay_ms, 0), self._due)

    def _next_us(self) -> int | None:
        moments = [self._given_up_us(asked) for asked in self._asked]
        moments += [question.expires_us for question in self._waiting]
        if self._is_opening:
            moments.append(self._setup_expires_us)
        elif self._wire is None and self._waiting:
            moments.append(self._rests_until_us)
        return min(moments, default=None)

    def _given_up_us(self, asked: _Asked) -> int:
        question = asked.question
        return min(question.expires_us, max(asked.at_us, self._heard_us) + question.quiet_us)

    def _due(self) -> None:
        self._timer = None
        now_us = self._owner.now_us
        is_late = self._is_opening and now_us >= self._setup_expires_us
        if is_late or any(now_us >= self._given_up_us(asked) for asked in self._asked):
            self._break()
        else:
            expired = [question for question in self._waiting if now_us >= question.expires_us]
            self._waiting = deque(question for question in self._waiting if now_us < question.expires_us)
            for question in expired:
                question.done(None)
        self._go_on()
