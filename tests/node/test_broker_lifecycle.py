"""A broker and its number: who has never served under it gives up when it is another's."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.base.errors import ErrorCode
from penstock.core.base.settings import BrokerSettings
from penstock.core.node.deadlines import Deadlines
from penstock.core.node.membership.broker_lifecycle import NO_EPOCH, BrokerLifecycle, Profile, State
from penstock.core.wire.api.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from penstock.core.wire.api.broker_registration import BrokerRegistrationResponse
from penstock.core.wire.schema import Request, Response
from tests.metadata.cluster import FILE

PATIENCE_MS = 5_000
REGISTERED = BrokerRegistrationResponse(broker_epoch=7)
TAKEN = BrokerRegistrationResponse(error_code=ErrorCode.DUPLICATE_BROKER_REGISTRATION)
STALE = BrokerHeartbeatResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
FENCED = BrokerHeartbeatResponse(is_fenced=True)
WELCOME = BrokerHeartbeatResponse(is_fenced=False)


class Life:
    """A broker whose controller answers what a test says, and a clock that moves when it is told to."""

    def __init__(self, registration: Response, heartbeat: Response) -> None:
        self.settings = BrokerSettings({**FILE, "initial.broker.registration.timeout.ms": str(PATIENCE_MS)})
        self.deadlines = Deadlines()
        self.disk_full = False
        self.now_ms = 0
        self.registration, self.heartbeat = registration, heartbeat
        self.broker_lifecycle = BrokerLifecycle(self, self._ask, lambda: 0)
        self.broker_lifecycle.start(Profile(2, "cluster", bytes(16), (), {}, ()), NO_EPOCH)
        self.broker_lifecycle.ready()

    @property
    def now_us(self) -> int:
        return self.now_ms * 1000

    def log(self, level: str, component: str, message: str, kind: str = "") -> None:
        pass

    def _ask(self, request: Request, timeout_ms: int, done: Callable[[Response | None], None]) -> None:
        answer = self.heartbeat if isinstance(request, BrokerHeartbeatRequest) else self.registration
        self.deadlines.at(self.now_ms + 1, lambda: done(answer))

    def run(self, until_ms: int) -> None:
        while (next_ms := self.deadlines.next_ms()) is not None and next_ms <= until_ms:
            self.now_ms = next_ms
            self.deadlines.run_due(next_ms)
        self.now_ms = until_ms


def test_a_number_that_was_never_free_is_given_up() -> None:
    life = Life(TAKEN, FENCED)
    life.run(PATIENCE_MS - 1)
    assert life.broker_lifecycle.state is State.REGISTERING
    life.run(PATIENCE_MS)
    assert life.broker_lifecycle.state is State.GONE


def test_a_number_that_another_took_before_this_one_served_is_given_up_too() -> None:
    life = Life(REGISTERED, FENCED)
    life.run(PATIENCE_MS - 100)
    assert life.broker_lifecycle.state is State.CATCHING_UP
    life.registration, life.heartbeat = TAKEN, STALE
    life.run(2 * PATIENCE_MS - 200)
    # Its time begins when it hears that the number is not its own any more.
    assert life.broker_lifecycle.state is State.REGISTERING
    life.run(2 * PATIENCE_MS)
    assert life.broker_lifecycle.state is State.GONE


def test_who_has_served_asks_until_it_is_let_in() -> None:
    life = Life(REGISTERED, WELCOME)
    life.run(100)
    assert life.broker_lifecycle.state is State.SERVING
    life.registration, life.heartbeat = TAKEN, STALE
    life.run(10 * PATIENCE_MS)
    assert life.broker_lifecycle.state is State.REGISTERING
    life.registration, life.heartbeat = REGISTERED, WELCOME
    life.run(11 * PATIENCE_MS)
    assert life.broker_lifecycle.state is State.SERVING
