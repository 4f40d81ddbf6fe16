"""Links: every question ends once, a peer in trouble hurts only its own link, and nothing grows without bound."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from penstock.core.node.links import link as link_module
from penstock.core.node.links import links as links_module
from penstock.core.node.links.link import IN_FLIGHT_MAX, QUESTIONS_MAX, REST_MS_MAX, SETUP_MS_MAX, Address
from penstock.core.node.links.links import HELD_MS, LOOKS_MAX, Links
from penstock.core.node.links.purposes import CONTROL, RAFT
from penstock.core.wire.api.api_versions import ApiVersionsRequest
from penstock.core.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from penstock.core.wire.schema import Response
from tests.examples import scaled
from tests.node.toy_network import ToyNetwork, ToyWire, frame_of

THERE, ELSEWHERE = Address("there", 9093), Address("elsewhere", 9093)
TIMEOUT_MS = 1_000
REST_MS = REST_MS_MAX * 2


class Asker:
    """Asks numbered questions and keeps what came of each."""

    def __init__(self) -> None:
        self.network = ToyNetwork()
        self.links = Links(self.network, self.network, "node-1")
        self.outcomes: dict[int, list[int | None]] = {}
        self.refused: list[Address] = []
        self.links.refused = self.refused.append

    def ask(self, number: int, **options: Any) -> None:
        self.network.turn(lambda: self.ask_inside(number, **options))

    def ask_inside(
        self,
        number: int,
        to: Address = THERE,
        purpose: str = RAFT,
        timeout_ms: int = TIMEOUT_MS,
        group: str = "g",
        quiet_ms: int | None = None,
    ) -> None:
        found = self.outcomes.setdefault(number, [])
        asking = True

        def done(response: Response | None) -> None:
            assert not asking, "the asker is told inside its own call"
            assert self.network.in_turn
            assert response is None or isinstance(response, HeartbeatResponse)
            found.append(None if response is None else response.throttle_time_ms)

        request = HeartbeatRequest(group_id=group, generation_id=number, member_id="m")
        self.links.ask(to, purpose, request, timeout_ms, done, quiet_ms)
        asking = False

    def connect(self, number: int) -> ToyWire:
        self.ask(number)
        return self.network.connected()


def test_a_question_is_asked_once_the_peer_has_greeted() -> None:
    asker = Asker()
    asker.ask(7)
    wire = asker.network.last
    assert wire.address == THERE
    wire.open()
    assert wire.requests == []
    wire.greet()
    assert [request.generation_id for request, _, _ in wire.requests] == [7]
    wire.answer()
    assert asker.outcomes == {7: [7]}
    asker.network.pass_time(10 * TIMEOUT_MS)
    assert asker.outcomes == {7: [7]}
    assert len(asker.network.wires) == 1


def test_answers_go_to_their_questions_whatever_the_cuts_between_them() -> None:
    asker = Asker()
    wire = asker.connect(0)
    for number in range(1, 5):
        asker.ask(number)
    data = b"".join(
        frame_of(HeartbeatResponse(throttle_time_ms=request.generation_id), version, correlation_id)
        for request, version, correlation_id in wire.requests
    )
    for at in range(len(data)):
        wire.feed(data[at : at + 1])
    assert asker.outcomes == {number: [number] for number in range(5)}


def test_purposes_and_addresses_have_wires_of_their_own() -> None:
    asker = Asker()
    asker.ask(1)
    asker.ask(2, purpose=CONTROL)
    asker.ask(3, to=ELSEWHERE)
    stuck, other, third = asker.network.wires
    for wire in (other, third):
        wire.open()
        wire.greet()
        wire.answer()
    asker.network.pass_time(TIMEOUT_MS)
    assert asker.outcomes == {1: [None], 2: [2], 3: [3]}
    assert not stuck.is_closed, "it may open yet"
    assert not other.is_closed


def test_a_lost_wire_ends_every_question_and_rests_before_the_next_dial() -> None:
    asker = Asker()
    wire = asker.connect(1)
    asker.ask(2)
    wire.lose()
    assert asker.outcomes == {1: [None], 2: [None]}
    asker.ask(3, timeout_ms=2 * REST_MS)
    assert len(asker.network.wires) == 1
    asker.network.pass_time(REST_MS)
    assert len(asker.network.wires) == 2
    asker.network.connected().answer()
    assert asker.outcomes[3] == [3]


def test_nobody_dials_without_a_question() -> None:
    asker = Asker()
    wire = asker.connect(1)
    wire.answer()
    wire.lose()
    asker.network.pass_time(100 * REST_MS)
    assert len(asker.network.wires) == 1


def test_rests_grow_up_to_their_bound_and_a_greeting_ends_that() -> None:
    asker, starts = Asker(), list[int]()
    for number in range(8):
        asker.ask(number, timeout_ms=10 * REST_MS)
        asker.network.pass_time(REST_MS)
        starts.append(len(asker.network.wires))
        asker.network.last.lose(refused=True)
    assert starts == list(range(1, 9)), "each question had its dial, none had two"
    gaps = [_gap_ms(asker) for _ in range(20)]
    assert REST_MS_MAX // 2 < min(gaps) < max(gaps) < REST_MS_MAX * 3 // 2
    assert len(set(gaps)) > 10, "nodes that lost the same peer come back at different times"
    asker.network.pass_time(REST_MS)
    asker.connect(100).lose()
    assert _gap_ms(asker) < 2 * link_module.REST_MS_MIN


def _gap_ms(asker: Asker) -> int:
    """How long after a failure the next dial comes; that one fails too."""
    before, dials = asker.network.now_us, len(asker.network.wires)
    asker.ask(50, timeout_ms=10 * REST_MS)
    while len(asker.network.wires) == dials:
        asker.network.pass_time(1)
    gap_us = asker.network.now_us - before
    asker.network.last.lose(refused=True)
    return gap_us // 1000


def test_who_refuses_is_named() -> None:
    asker = Asker()
    asker.ask(1)
    asker.network.last.lose(refused=True)
    assert asker.refused == [THERE]
    assert asker.outcomes == {1: [None]}
    asker.ask(2)
    asker.network.pass_time(REST_MS)
    asker.network.last.lose(refused=False)
    assert asker.refused == [THERE]


def test_a_peer_that_hangs_is_given_up_with_everything_behind_it() -> None:
    asker = Asker()
    wire = asker.connect(1)
    asker.network.pass_time(TIMEOUT_MS // 2)
    asker.ask(2, timeout_ms=10 * TIMEOUT_MS)
    asker.network.pass_time(TIMEOUT_MS // 2 - 1)
    assert asker.outcomes == {1: [], 2: []}
    asker.network.pass_time(1)
    assert asker.outcomes == {1: [None], 2: [None]}
    assert wire.is_reset, "what it reads of this when it goes on was asked of somebody else meanwhile"


def test_a_peer_that_says_nothing_at_all_is_given_up_before_the_time_is_over() -> None:
    asker = Asker()
    asker.connect(1).answer()
    asker.ask(2, timeout_ms=10 * TIMEOUT_MS)
    asker.ask(3, timeout_ms=10 * TIMEOUT_MS, quiet_ms=TIMEOUT_MS)
    asker.network.pass_time(TIMEOUT_MS - 1)
    assert asker.outcomes == {1: [1], 2: [], 3: []}
    asker.network.pass_time(1)
    assert asker.outcomes == {1: [1], 2: [None], 3: [None]}


def test_a_peer_that_is_in_the_middle_of_its_answer_has_all_of_the_time() -> None:
    asker = Asker()
    wire = asker.connect(1)
    wire.answer()
    asker.ask(2, timeout_ms=4 * TIMEOUT_MS, quiet_ms=TIMEOUT_MS)
    for piece in frame_of(HeartbeatResponse(), *wire.requests[0][1:])[:7]:
        asker.network.pass_time(TIMEOUT_MS // 2)
        assert asker.outcomes[2] == []
        wire.feed(bytes([piece]))
    asker.network.pass_time(TIMEOUT_MS // 2)
    assert asker.outcomes[2] == [None]


def test_a_dial_that_hangs_is_begun_again() -> None:
    asker = Asker()
    asker.ask(1, timeout_ms=100 * TIMEOUT_MS)
    asker.network.pass_time(SETUP_MS_MAX)
    assert asker.network.last.is_closed
    assert asker.outcomes == {1: [None]}
    asker.ask(2, timeout_ms=100 * TIMEOUT_MS)
    asker.network.pass_time(REST_MS)
    asker.network.connected().answer()
    assert asker.outcomes[2] == [2]


def test_a_peer_that_opens_and_never_greets_is_given_up() -> None:
    asker = Asker()
    asker.ask(1, timeout_ms=100 * TIMEOUT_MS)
    asker.network.last.open()
    asker.network.pass_time(SETUP_MS_MAX)
    assert asker.network.last.is_closed
    assert asker.outcomes == {1: [None]}


def test_waiting_ends_though_the_clock_is_set_back() -> None:
    asker = Asker()
    asker.connect(1)
    asker.network.set_clock(-3_600_000)
    asker.network.pass_time(TIMEOUT_MS)
    assert asker.outcomes == {1: [None]}


def test_a_peer_that_breaks_the_protocol_is_hung_up_on() -> None:
    asker = Asker()
    wire = asker.connect(1)
    wire.feed(b"\0\0\0\4\0\0\1\1")
    assert wire.is_closed
    assert asker.outcomes == {1: [None]}
    assert asker.network.notes


def test_an_api_that_the_peer_does_not_know_costs_only_its_question() -> None:
    asker = Asker()
    asker.ask(1)
    wire = asker.network.last
    wire.spoken = [ApiVersionsRequest]
    wire.open()
    wire.greet()
    asker.network.pass_time(0)
    assert asker.outcomes == {1: [None]}
    assert not wire.is_closed


def test_too_many_questions_are_refused_and_few_of_them_are_under_way() -> None:
    asker = Asker()
    wire = asker.connect(0)
    for number in range(1, QUESTIONS_MAX + 10):
        asker.ask(number)
    assert len(wire.requests) == IN_FLIGHT_MAX
    asker.network.pass_time(0)
    assert [number for number, found in asker.outcomes.items() if found] == [*range(QUESTIONS_MAX, QUESTIONS_MAX + 10)]
    while wire.requests:
        wire.answer()
    assert all(asker.outcomes[number] == [number] for number in range(QUESTIONS_MAX))


def test_the_bytes_under_way_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "IN_FLIGHT_BYTES_MAX", 100_000)
    asker = Asker()
    wire = asker.connect(0)
    for number in range(1, 20):
        asker.ask(number, group="x" * 30_000)
    assert len(wire.requests) == 5
    for _ in range(20):
        wire.answer()
    assert asker.outcomes == {number: [number] for number in range(20)}


def test_the_number_of_links_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links_module, "LINKS_MAX", 1)
    asker = Asker()
    asker.ask(1)
    asker.ask(2, to=ELSEWHERE)
    asker.network.pass_time(0)
    assert asker.outcomes == {1: [], 2: [None]}


def test_closing_ends_every_question_and_the_wire() -> None:
    asker = Asker()
    wire = asker.connect(1)
    asker.ask(2, to=ELSEWHERE)
    asker.network.turn(lambda: asker.links.close(THERE, RAFT))
    assert wire.is_closed
    asker.network.pass_time(0)
    assert asker.outcomes == {1: [None], 2: []}
    asker.network.turn(asker.links.close_all)
    asker.network.pass_time(REST_MS)
    assert all(each.is_closed for each in asker.network.wires)
    assert asker.outcomes == {1: [None], 2: [None]}
    assert [each.is_reset for each in asker.network.wires] == [True, False], "the last word is not taken back"
    assert asker.network.deadlines.next_ms() is None


def test_an_asker_may_hang_up_or_ask_on_when_it_is_told() -> None:
    asker = Asker()
    wire = asker.connect(0)
    told = list[Response | None]()

    def hang_up(response: Response | None) -> None:
        told.append(response)
        asker.links.close(THERE, RAFT)
        asker.ask_inside(9)

    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    asker.network.turn(lambda: asker.links.ask(THERE, RAFT, request, TIMEOUT_MS, hang_up))
    asker.ask(2)
    data = b"".join(
        frame_of(HeartbeatResponse(throttle_time_ms=request.generation_id), version, correlation_id)
        for request, version, correlation_id in wire.requests
    )
    wire.feed(data)
    asker.network.pass_time(0)
    assert len(told) == 1
    assert told[0] is not None
    assert asker.outcomes == {0: [0], 2: [None], 9: []}
    asker.network.connected().answer()
    assert asker.outcomes[9] == [9]


def test_a_probe_tells_only_that_nobody_listens() -> None:
    asker = Asker()
    for _ in range(2):
        asker.network.turn(lambda: asker.links.probe(THERE))
    assert len(asker.network.wires) == 1, "one probe at a time"
    asker.network.last.lose(refused=True)
    assert asker.refused == [THERE]
    asker.network.turn(lambda: asker.links.probe(THERE))
    asker.network.last.open()
    asker.network.pass_time(HELD_MS)
    assert asker.network.last.is_closed
    asker.network.turn(lambda: asker.links.probe(THERE))
    asker.network.last.lose()
    asker.network.turn(lambda: asker.links.probe(THERE))
    asker.network.pass_time(SETUP_MS_MAX)
    assert asker.network.last.is_closed, "nobody waits for ever"
    assert asker.refused == [THERE]


def test_who_lets_a_probe_in_and_is_gone_then_is_looked_for_again() -> None:
    asker = Asker()
    asker.network.turn(lambda: asker.links.probe(THERE))
    asker.network.last.open()
    asker.network.last.lose()
    asker.network.last.lose(refused=True)
    assert len(asker.network.wires) == 2
    assert asker.refused == [THERE]


def test_who_hangs_up_on_every_probe_is_left_in_peace_after_some() -> None:
    asker = Asker()
    asker.network.turn(lambda: asker.links.probe(THERE))
    for _ in range(LOOKS_MAX):
        asker.network.last.open()
        asker.network.last.lose()
    assert len(asker.network.wires) == LOOKS_MAX
    assert asker.refused == []
    asker.network.turn(lambda: asker.links.probe(THERE))
    assert len(asker.network.wires) == LOOKS_MAX + 1, "the next question is another one"


@pytest.mark.parametrize("seed", range(scaled(50)))
def test_every_question_ends_exactly_once_whatever_happens(seed: int) -> None:
    asker, random = Asker(), Random(seed)
    for number in range(300):
        asker.ask(
            number,
            to=random.choice((THERE, ELSEWHERE)),
            purpose=random.choice((RAFT, CONTROL)),
            timeout_ms=random.randrange(1, 3 * SETUP_MS_MAX),
        )
        for wire in asker.network.wires:
            if not wire.is_closed:
                _let_something_happen(asker, wire, random)
        if random.random() < 0.3:
            asker.network.pass_time(random.randrange(REST_MS))
    asker.network.pass_time(10 * SETUP_MS_MAX)
    assert all(len(found) == 1 for found in asker.outcomes.values())
    assert any(found != [None] for found in asker.outcomes.values())
    assert asker.network.deadlines.next_ms() is None


def _let_something_happen(asker: Asker, wire: ToyWire, random: Random) -> None:
    event = random.randrange(12)
    if not wire.is_open:
        if event < 8:
            wire.open()
        elif event < 10:
            wire.lose(refused=event == 8)
    elif any(each is wire for each, _, _ in asker.network.greetings):
        if event < 6:
            asker.network.greetings.sort(key=lambda greeting: greeting[0] is wire)
            wire.greet()
    elif event < 8 and wire.requests:
        wire.answer()
    elif event == 11:
        wire.lose()
