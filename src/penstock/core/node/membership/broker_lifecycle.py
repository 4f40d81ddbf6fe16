"""The broker's side of its life with the controller: register, be heard of, hand over, go.

One question is under way at a time. An answer that comes after its question was given up is not listened to.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Final

from penstock.core.base.endpoints import Endpoint
from penstock.core.base.errors import ErrorCode
from penstock.core.base.values import frozen
from penstock.core.metadata.brokers import FULL_DIRECTORY, FeatureRanges, host_endpoint
from penstock.core.node.controller.pace import Pace
from penstock.core.node.controller.ports import Host
from penstock.core.node.deadlines import Deadline
from penstock.core.wire.api.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from penstock.core.wire.api.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
    Listener,
)
from penstock.core.wire.schema import Request, Response

NO_EPOCH: Final = -1
CATCHING_UP_MS: Final = 10
"""Between heartbeats until the broker has folded its own registration, and until it serves: others wait for it."""
LEAVING_MS: Final = 50
"""Between heartbeats while the broker hands over what it leads."""
LEAVING_MS_MAX: Final = 300_000
"""How long handing over may take."""


class State(Enum):
    """How far a broker is with its controller."""

    OFF = "not begun"
    REGISTERING = "asks to be let in"
    CATCHING_UP = "is let in, and folds the metadata until it knows"
    SERVING = "was told that it may lead"
    LEAVING = "hands over what it leads"
    GONE = "has left, or given up"


MAY_FOLLOW: Final[dict[State, frozenset[State]]] = {
    State.OFF: frozenset({State.REGISTERING, State.CATCHING_UP, State.GONE}),
    State.REGISTERING: frozenset({State.CATCHING_UP, State.GONE}),
    State.CATCHING_UP: frozenset({State.SERVING, State.REGISTERING, State.LEAVING, State.GONE}),
    State.SERVING: frozenset({State.CATCHING_UP, State.REGISTERING, State.LEAVING, State.GONE}),
    State.LEAVING: frozenset({State.GONE}),
    State.GONE: frozenset(),
}


@frozen
class Profile:
    """What a broker says of itself."""

    broker_id: int
    cluster_id: str
    incarnation: bytes
    endpoints: tuple[Endpoint, ...]
    features: FeatureRanges
    directories: tuple[bytes, ...]
    rack: str | None = None
    host: str | None = None

    def registration(self, previous_epoch: int) -> BrokerRegistrationRequest:
        points = self.endpoints if self.host is None else (*self.endpoints, host_endpoint(self.host))
        return BrokerRegistrationRequest(
            broker_id=self.broker_id,
            cluster_id=self.cluster_id,
            incarnation_id=self.incarnation,
            listeners=[
                Listener(name=each.name, host=each.host, port=each.port, security_protocol=each.protocol)
                for each in points
            ],
            features=[
                Feature(name=name, min_supported_version=low, max_supported_version=high)
                for name, (low, high) in self.features.items()
            ],
            rack=self.rack,
            log_dirs=sorted(self.directories),
            previous_broker_epoch=previous_epoch,
        )


Ask = Callable[[Request, int, Callable[[Response | None], None]], None]


class BrokerLifecycle:
    """A machine of questions, answers and one deadline."""

    def __init__(self, host: Host, ask: Ask, offset: Callable[[], int]) -> None:
        """`ask(request, timeout_ms, done)` reaches the active controller; `offset` is how far this broker has folded
        the metadata."""
        self._host = host
        self._profile: Profile
        self._ask = ask
        self._offset = offset
        self._previous_epoch = NO_EPOCH
        self._is_ready = False
        self._has_served = False
        self._question = 0
        self._next: Deadline | None = None
        self._patience = Deadline(0, lambda: None)
        self._leaving_since_ms = 0
        self._heard_ms = 0
        self._left: Callable[[bool], None] = lambda handed_over: None
        self.brokers = 1
        """How many there are, as far as this one knows: it sets the pace."""
        self.state = State.OFF
        self.epoch = NO_EPOCH
        self.lease_end_ms = 0
        """By the steady clock: until when no controller can have fenced this broker for its silence."""
        self.own_lease_end_ms: Callable[[], int | None] = lambda: None
        """The same, where the controller is in this very process and knows how sure it is; None where it is not."""
        self.refused_with: int | None = None
        """What the controller said last when it refused this broker, which is told once."""
        self.on_state: Callable[[State], None] = lambda state: None

    @property
    def _steady_ms(self) -> int:
        return self._host.now_us // 1000

    def holds_lease(self) -> bool:
        """Whether this broker may still take its own word for who leads."""
        now_ms = self._steady_ms
        if now_ms >= self.lease_end_ms and self.state is State.SERVING:
            self.lease_end_ms = self.own_lease_end_ms() or 0
        return now_ms < self.lease_end_ms

    def is_unheard(self) -> bool:
        """Whether a controller, if there is one, has surely given this broker up: it was not heard for a session."""
        return self.state is State.SERVING and self._steady_ms - self._heard_ms > self.pace.session_ms

    @property
    def pace(self) -> Pace:
        return Pace.of(self._host.settings, self.brokers)

    # What the node tells

    def start(self, profile: Profile, previous_epoch: int) -> None:
        """Ask to be let in. `previous_epoch` is the one that the last process of this broker stopped cleanly with."""
        self._profile = profile
        self._previous_epoch = previous_epoch
        self._ask_to_be_let_in()

    def resume(self, profile: Profile, epoch: int) -> None:
        """This broker has registered by itself while it was alone; from now on it must be heard of."""
        self._profile = profile
        self.epoch = epoch
        self._is_ready = self._has_served = True
        self._enter(State.CATCHING_UP)
        self._speak()

    def ready(self) -> None:
        """The broker's logs are open: it may serve."""
        self._is_ready = True
        if self.state is State.CATCHING_UP:
            self._speak()

    def controller_changed(self) -> None:
        """Another node leads. It waits for everybody, and the sooner it hears of us the better."""
        if self.own_lease_end_ms() is not None:
            # From now on this process is its own authority. What it had of an earlier one could outlast that.
            self.lease_end_ms = 0
        if self.state not in (State.OFF, State.GONE):
            self._speak()

    def stop(self, left: Callable[[bool], None]) -> None:
        """Hand over what this broker leads, then call `left(True)`; or `left(False)`, if that could not be done."""
        self._left = left
        may_ask = self.state in (State.CATCHING_UP, State.SERVING)
        if not may_ask or not self._host.settings["controlled.shutdown.enable"]:
            self._leave(handed_over=False)
            return
        self._leaving_since_ms = self._heard_ms = self._steady_ms
        self._enter(State.LEAVING)
        self._speak()

    # Asking

    def _ask_to_be_let_in(self) -> None:
        """Who has served before asks for ever; who has not may have a number that is another's, and gives up."""
        self._enter(State.REGISTERING)
        if not self._has_served:
            self.epoch = NO_EPOCH
            give_up_ms = self._host.now_ms + self._host.settings["initial.broker.registration.timeout.ms"]
            self._patience.cancel()
            self._patience = self._host.deadlines.at(give_up_ms, self._give_up_starting)
        self._speak()

    def _speak(self) -> None:
        """Say what is to be said in this state, now; what was asked before counts no more."""
        if self._next is not None:
            self._next.cancel()
        self._question += 1
        asked = (self._question, self._steady_ms)
        if self.state is State.REGISTERING:
            request: Request = self._profile.registration(self._previous_epoch)
            done = partial(self._registered, asked)
        else:
            request = self._heartbeat()
            done = partial(self._beaten, asked)
        # What is not answered in half a session is asked again, perhaps of another node, before the session is over.
        timeout_ms = self.pace.session_ms // 2
        self._next = self._host.deadlines.at(self._host.now_ms + timeout_ms, self._unanswered)
        self._ask(request, timeout_ms, done)

    def _heartbeat(self) -> BrokerHeartbeatRequest:
        return BrokerHeartbeatRequest(
            broker_id=self._profile.broker_id,
            broker_epoch=self.epoch,
            current_metadata_offset=self._offset(),
            want_fence=not self._is_ready,
            want_shut_down=self.state is State.LEAVING,
            cordoned_log_dirs=self._cordoned(),
        )

    def _cordoned(self) -> list[bytes]:
        """Directories that take no new replicas, and a sign for a disk that takes no more records."""
        cordoned = list(self._profile.directories) if self._host.settings["cordoned.log.dirs"] else []
        return [*cordoned, FULL_DIRECTORY] if self._host.disk_full else cordoned

    def _unanswered(self) -> None:
        if not self._has_given_up_leaving():
            self._speak()

    def _speak_in(self, delay_ms: int) -> None:
        if self._next is not None:
            self._next.cancel()
        self._next = self._host.deadlines.at(self._host.now_ms + delay_ms, self._unanswered)

    # Answers

    def _registered(self, asked: tuple[int, int], answer: Response | None) -> None:
        if asked[0] != self._question or self.state is not State.REGISTERING:
            return
        if not isinstance(answer, BrokerRegistrationResponse) or answer.error_code:
            self._failed("registering", answer)
            return
        self.epoch = answer.broker_epoch
        self.refused_with = None
        self._enter(State.CATCHING_UP)
        self._speak()

    def _beaten(self, asked: tuple[int, int], answer: Response | None) -> None:
        if asked[0] != self._question or self.state in (State.REGISTERING, State.GONE):
            return
        if not isinstance(answer, BrokerHeartbeatResponse) or answer.error_code:
            self._heartbeat_failed(answer)
            return
        self._heard_ms = self._steady_ms
        if self.state is State.LEAVING:
            self._go_on_leaving(answer)
            return
        if answer.is_fenced:
            self._fall_back()
        else:
            own_ms = self.own_lease_end_ms()
            self.lease_end_ms = asked[1] + self.pace.lease_ms if own_ms is None else own_ms
            if self._has_served and self.state is State.CATCHING_UP:
                self._host.log("info", "membership", "this broker is let in again: it may lead and be in sync")
            self._has_served = True
            self._enter(State.SERVING)
        self._speak_in(CATCHING_UP_MS if self.state is State.CATCHING_UP else self.pace.interval_ms)

    def _heartbeat_failed(self, answer: Response | None) -> None:
        is_stale = isinstance(answer, BrokerHeartbeatResponse) and answer.error_code == ErrorCode.STALE_BROKER_EPOCH
        if is_stale and self.state is State.LEAVING:
            self._leave(handed_over=False)
        elif is_stale:
            # Nobody knows this process any more: it was unregistered, or another one has come with its id.
            self._host.log(
                "warning", "membership", "the controller does not know this broker's epoch; it registers again"
            )
            self._ask_to_be_let_in()
        else:
            self._failed("a heartbeat", answer)

    def _failed(self, what: str, answer: Response | None) -> None:
        code = getattr(answer, "error_code", None)
        if code is not None and code != self.refused_with:
            self.refused_with = code
            self._host.log("info", "membership", f"{what} was refused: {ErrorCode(code).name}")
        if not self._has_given_up_leaving():
            self._speak_in(LEAVING_MS if self.state is State.LEAVING else self.pace.interval_ms)

    def _fall_back(self) -> None:
        if self.state is State.SERVING:
            self._host.log("warning", "membership", "this broker was fenced: the controller had not heard of it")
            self._enter(State.CATCHING_UP)

    def _go_on_leaving(self, answer: BrokerHeartbeatResponse) -> None:
        if answer.should_shut_down:
            self._leave(handed_over=True)
        elif not self._has_given_up_leaving():
            self._speak_in(LEAVING_MS)

    # Ends

    def _has_given_up_leaving(self) -> bool:
        """Stop waiting for a controller that was silent for a session, or does not find anybody to take over."""
        if self.state is not State.LEAVING:
            return False
        silent_ms = self._steady_ms - self._heard_ms
        took_ms = self._steady_ms - self._leaving_since_ms
        if silent_ms < self.pace.session_ms and took_ms < LEAVING_MS_MAX:
            return False
        self._leave(handed_over=False)
        return True

    def _give_up_starting(self) -> None:
        if self.epoch == NO_EPOCH and self.state is State.REGISTERING:
            self._host.log("error", "membership", "no controller has registered this broker in time")
            self._leave(handed_over=False)

    def _leave(self, handed_over: bool) -> None:
        if self._next is not None:
            self._next.cancel()
        self._question += 1
        if self.state is not State.GONE:
            self._enter(State.GONE)
        self._left(handed_over)

    def _enter(self, state: State) -> None:
        if state is self.state:
            return
        assert state in MAY_FOLLOW[self.state], f"{state} cannot follow {self.state}"
        self.state = state
        self.on_state(state)
