"""The way to the active controller, wherever it is: asked again until somebody answers who is it, or time is over."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.base.errors import ErrorCode
from penstock.core.base.settings import BrokerSettings
from penstock.core.base.steps import Tasks
from penstock.core.node.deadlines import Deadlines
from penstock.core.node.links.link import Address
from penstock.core.node.membership.channel import ATTEMPT_MS_MAX, RETRY_MS, ControllerChannel
from penstock.core.wire.api.alter_partition import (
    AlterPartitionResponse,
    ResponsePartitionData,
    ResponseTopicData,
)
from penstock.core.wire.api.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from penstock.core.wire.schema import Request, Response
from tests.metadata.cluster import SETTINGS

ONE, TWO = Address("one", 1), Address("two", 2)
QUESTION = UnregisterBrokerRequest(broker_id=7)
ANSWER = UnregisterBrokerResponse(error_message=None)
NOT_CONTROLLER = UnregisterBrokerResponse(error_code=ErrorCode.NOT_CONTROLLER, error_message=None)

Heard = Callable[[Response | None], None]


class Place:
    """A node whose links and whose controller are in the test's hands."""

    def __init__(self) -> None:
        self.now_ms = self.now_us = 0
        self.settings: BrokerSettings = SETTINGS
        self.deadlines = Deadlines()
        self.tasks: Tasks
        self.is_active = False
        self.leader: Address | None = ONE
        self.asked: list[tuple[Address, int, Heard]] = []
        self.handled: list[Callable[[Response], None]] = []
        self.heard: list[Response | None] = []
        self.closed: list[Address] = []
        self.channel = ControllerChannel(self, self, self, lambda: self.leader)

    def log(self, level: str, component: str, text: str, kind: str = "") -> None:
        raise AssertionError("nothing is worth a word")

    def ask(self, to: Address, purpose: str, request: Request, timeout_ms: int, done: Heard) -> None:
        assert request is QUESTION
        self.asked.append((to, timeout_ms, done))

    def close(self, to: Address, purpose: str) -> None:
        self.closed.append(to)

    def handle(self, request: Request, version: int, done: Callable[[Response], None]) -> None:
        assert request is QUESTION
        self.handled.append(done)

    def begin(self, timeout_ms: int = 1_000, here: Callable[[], None] | None = None) -> None:
        self.channel.ask(QUESTION, timeout_ms, self.heard.append, here=here)

    def pass_time(self, duration_ms: int) -> None:
        end_ms = self.now_ms + duration_ms
        while (at_ms := self.deadlines.next_ms()) is not None and at_ms <= end_ms:
            self.now_ms = at_ms
            self.deadlines.run_due(at_ms)
        self.now_ms = end_ms


def test_an_answer_is_heard_once() -> None:
    place = Place()
    place.begin()
    to, timeout_ms, done = place.asked[0]
    assert (to, timeout_ms) == (ONE, 1_000)
    done(ANSWER)
    place.pass_time(5_000)
    assert place.heard == [ANSWER]
    assert len(place.asked) == 1


def test_this_node_is_asked_in_place() -> None:
    place = Place()
    place.is_active = True
    place.begin()
    assert place.asked == []
    place.handled[0](ANSWER)
    assert place.heard == [ANSWER]


def test_who_does_not_control_is_asked_again_a_little_later() -> None:
    for refusal in (NOT_CONTROLLER, None):
        place = Place()
        place.begin()
        place.asked[0][2](refusal)
        place.pass_time(RETRY_MS - 1)
        assert len(place.asked) == 1
        place.leader = TWO
        place.pass_time(1)
        assert place.asked[1][0] == TWO
        place.asked[1][2](ANSWER)
        assert place.heard == [ANSWER]


def test_a_refusal_inside_an_answer_counts() -> None:
    place = Place()
    place.begin()
    inner = ResponsePartitionData(error_code=ErrorCode.NOT_CONTROLLER)
    place.asked[0][2](AlterPartitionResponse(topics=[ResponseTopicData(partitions=[inner])]))
    place.pass_time(RETRY_MS)
    assert len(place.asked) == 2


def test_without_a_leader_it_waits_and_then_gives_up() -> None:
    place = Place()
    place.leader = None
    place.begin()
    place.pass_time(999)
    assert place.heard == []
    place.pass_time(1)
    assert place.heard == [None]
    assert place.deadlines.next_ms() is None, "something is left to be done for a question that is closed"


def test_a_new_leader_is_asked_at_once_and_a_late_answer_of_the_old_one_counts() -> None:
    place = Place()
    place.begin()
    place.leader = TWO
    place.channel.controller_changed()
    assert [to for to, _, _ in place.asked] == [ONE, TWO]
    place.asked[0][2](None)
    place.pass_time(RETRY_MS)
    assert len(place.asked) == 2, "what the old one does not answer is nobody's concern"
    place.asked[0][2](ANSWER)
    place.asked[1][2](ANSWER)
    assert place.heard == [ANSWER]


def test_what_the_old_leader_has_not_read_is_withdrawn_when_the_new_one_has_answered() -> None:
    for old_answer, closed in ((None, [ONE]), (NOT_CONTROLLER, [])):
        place = Place()
        place.begin()
        place.leader = TWO
        place.channel.controller_changed()
        if old_answer is not None:
            place.asked[0][2](old_answer)
        assert place.closed == []
        place.asked[1][2](ANSWER)
        assert place.closed == closed


def test_the_same_leader_is_not_asked_twice() -> None:
    place = Place()
    place.begin()
    place.channel.controller_changed()
    assert len(place.asked) == 1


def test_no_node_is_waited_for_too_long() -> None:
    place = Place()
    place.begin(60_000)
    assert place.asked[0][1] == ATTEMPT_MS_MAX


def test_a_node_that_becomes_the_controller_takes_the_question_over() -> None:
    place = Place()
    taken: list[bool] = []
    place.begin(here=lambda: taken.append(True))
    place.is_active = True
    place.channel.controller_changed()
    place.asked[0][2](ANSWER)
    place.pass_time(5_000)
    assert taken == [True]
    assert place.heard == [], "it was answered twice"
