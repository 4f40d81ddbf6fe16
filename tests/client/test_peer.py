"""The sans-IO connection: whatever way the bytes are cut, the same replies come out."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.peer.connection import PeerConnection
from penstock.core.peer.errors import PeerError, UnsupportedByPeer
from penstock.core.peer.versions import PeerVersions
from penstock.core.wire.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from penstock.core.wire.api.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from penstock.core.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from penstock.core.wire.api.metadata import MetadataRequest, MetadataResponse
from penstock.core.wire.api.produce import ProduceRequest
from penstock.core.wire.frames import FrameReader, parse_request_header, response_frame
from penstock.core.wire.registry import request_class
from penstock.core.wire.schema import Response

OFFERED = [(0, 0, 13), (1, 4, 17), (3, 0, 12), (12, 0, 4), (18, 0, 4)]
UNSUPPORTED_VERSION = 35


def offer(*ranges: tuple[int, int, int], error: int = 0) -> ApiVersionsResponse:
    keys = [ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in ranges]
    return ApiVersionsResponse(error_code=error, api_keys=keys)


def sent(peer: PeerConnection) -> list[tuple[Any, int, int]]:
    """(request, version, correlation id) of everything the peer wants to send."""
    data = b"".join(bytes(part) for part in peer.take_output())  # type: ignore[call-overload]
    found = []
    for frame in FrameReader().feed(data) if data else []:
        key, version, correlation_id, client_id, position = parse_request_header(frame)
        assert client_id == "tester"
        found.append((request_class(key).decode(frame, version, position), version, correlation_id))
    return found


def answer(message: Response, version: int, correlation_id: int) -> bytes:
    return b"".join(bytes(part) for part in response_frame(message, version, correlation_id))  # type: ignore[call-overload]


def greeted() -> PeerConnection:
    peer = PeerConnection("tester")
    peer.greet(10.0)
    ((_, version, correlation_id),) = sent(peer)
    assert peer.feed(answer(offer(*OFFERED), version, correlation_id)) == []
    assert peer.is_ready
    return peer


def test_greeting_asks_at_the_newest_version_and_learns_all_ranges() -> None:
    peer = PeerConnection("tester")
    peer.greet(10.0)
    ((request, version, correlation_id),) = sent(peer)
    assert (type(request), version) == (ApiVersionsRequest, 4)
    assert request.client_software_name == "penstock"
    assert not peer.is_ready
    peer.feed(answer(offer(*OFFERED), version, correlation_id))
    assert peer.versions is not None
    assert peer.versions.offered(1) == range(4, 18)
    assert peer.versions.offered(2) is None


def test_greeting_falls_back_when_the_broker_refuses_the_version() -> None:
    peer = PeerConnection("tester")
    peer.greet(10.0)
    ((_, _, first),) = sent(peer)
    assert peer.feed(answer(offer((18, 0, 2), error=UNSUPPORTED_VERSION), 0, first)) == []
    assert not peer.is_ready
    ((_, version, second),) = sent(peer)
    assert version == 2
    peer.feed(answer(offer(*OFFERED), version, second))
    assert peer.is_ready


def test_greeting_falls_back_to_zero_when_the_refusal_says_nothing() -> None:
    peer = PeerConnection("tester")
    peer.greet(10.0)
    ((_, _, first),) = sent(peer)
    peer.feed(answer(offer(error=UNSUPPORTED_VERSION), 0, first))
    ((_, version, second),) = sent(peer)
    assert version == 0
    with pytest.raises(PeerError, match="refuses"):
        peer.feed(answer(offer(error=UNSUPPORTED_VERSION), 0, second))


def test_requests_go_out_at_the_highest_common_version() -> None:
    peer = greeted()
    peer.ask(MetadataRequest(), MetadataResponse, 10.0)
    peer.ask(FetchRequest(), FetchResponse, 10.0, newest_version=12)
    assert [version for _, version, _ in sent(peer)] == [12, 12]


def test_an_api_without_a_common_version_is_refused_and_the_connection_stays_usable() -> None:
    peer = greeted()
    with pytest.raises(UnsupportedByPeer, match="Fetch in versions 4-17; needed: 4-3"):
        peer.ask(FetchRequest(), FetchResponse, 10.0, newest_version=3)
    with pytest.raises(UnsupportedByPeer, match="not at all"):
        PeerVersions({}).pick(FetchRequest)
    assert peer.in_flight == 0
    peer.ask(HeartbeatRequest(), HeartbeatResponse, 10.0)
    assert peer.in_flight == 1


@given(st.lists(st.integers(1, 9), max_size=40))
def test_replies_come_out_the_same_however_the_bytes_are_cut(cuts: list[int]) -> None:
    peer = greeted()
    numbers = [
        peer.ask(HeartbeatRequest(), HeartbeatResponse, 10.0),
        peer.ask(MetadataRequest(), MetadataResponse, 10.0),
        peer.ask(HeartbeatRequest(), HeartbeatResponse, 10.0),
    ]
    replies = [HeartbeatResponse(error_code=1), MetadataResponse(cluster_id="c"), HeartbeatResponse(error_code=2)]
    stream = b"".join(
        answer(reply, version, number) for reply, (_, version, number) in zip(replies, sent(peer), strict=True)
    )
    got, position = [], 0
    for cut in [*cuts, len(stream)]:
        if position < len(stream):
            got += peer.feed(stream[position : position + cut])
            position += cut
    assert [reply.correlation_id for reply in got] == numbers
    assert [reply.message for reply in got] == replies
    assert peer.in_flight == 0


def test_a_byte_at_a_time() -> None:
    peer = greeted()
    number = peer.ask(HeartbeatRequest(), HeartbeatResponse, 10.0)
    ((_, version, _),) = sent(peer)
    got = []
    for byte in answer(HeartbeatResponse(error_code=7), version, number):
        got += peer.feed(bytes([byte]))
    assert [reply.message for reply in got] == [HeartbeatResponse(error_code=7)]


def fetched(records: bytes) -> FetchResponse:
    partition = PartitionData(records=records)
    return FetchResponse(responses=[FetchableTopicResponse(partitions=[partition])])


def test_a_frame_that_the_driver_has_read_is_not_copied() -> None:
    peer = greeted()
    number = peer.ask(FetchRequest(), FetchResponse, 10.0)
    ((_, version, _),) = sent(peer)
    frame = answer(fetched(b"records" * 100), version, number)[4:]
    ((_, message),) = peer.take_frame(frame)
    assert isinstance(message, FetchResponse)
    records = message.responses[0].partitions[0].records
    assert isinstance(records, memoryview)
    assert records.obj is frame


def test_fetched_records_outlive_the_bytes_that_come_after_them() -> None:
    peer = greeted()
    first = peer.ask(FetchRequest(), FetchResponse, 10.0)
    second = peer.ask(FetchRequest(), FetchResponse, 10.0)
    version = sent(peer)[0][1]

    (one,) = peer.feed(answer(fetched(b"first" * 100), version, first))
    (two,) = peer.feed(answer(fetched(b"other" * 100), version, second))
    assert isinstance(one.message, FetchResponse)
    assert isinstance(two.message, FetchResponse)
    assert one.message.responses[0].partitions[0].records == b"first" * 100
    assert two.message.responses[0].partitions[0].records == b"other" * 100


def test_what_is_told_takes_no_place_in_the_queue() -> None:
    peer = greeted()
    peer.tell(ProduceRequest(acks=0))
    number = peer.ask(HeartbeatRequest(), HeartbeatResponse, 10.0)
    assert [type(request) for request, _, _ in sent(peer)] == [ProduceRequest, HeartbeatRequest]
    (reply,) = peer.feed(answer(HeartbeatResponse(), 4, number))
    assert reply.correlation_id == number


def test_the_earliest_deadline_counts_until_its_reply_is_in() -> None:
    peer = greeted()
    assert peer.next_deadline() is None
    first = peer.ask(HeartbeatRequest(), HeartbeatResponse, 7.0)
    peer.ask(HeartbeatRequest(), HeartbeatResponse, 9.0)
    assert peer.next_deadline() == 7.0
    peer.feed(answer(HeartbeatResponse(), 4, first))
    assert peer.next_deadline() == 9.0


@pytest.mark.parametrize(
    ("stream", "what"),
    [
        (answer(HeartbeatResponse(), 4, 99), "out of order"),
        (b"\x7f\xff\xff\xff", "cannot be read"),
        (b"\xff\xff\xff\xff", "cannot be read"),
        (b"\0\0\0\x02\0\0", "cannot be read"),
        (b"\0\0\0\x08\0\0\0\x01\0\0\0\0", "cannot be read"),
        (b"\0\0\0\x06\0\0\0\x01\x02\x01", "cannot be read"),
    ],
    ids=["other number", "huge frame", "negative frame", "no header", "short body", "cut tags"],
)
def test_bytes_that_break_the_protocol_are_the_peers_error(stream: bytes, what: str) -> None:
    peer = greeted()
    peer.ask(HeartbeatRequest(), HeartbeatResponse, 10.0)
    with pytest.raises(PeerError, match=what):
        peer.feed(stream)


def test_an_answer_that_nobody_asked_for_is_refused() -> None:
    with pytest.raises(PeerError, match="not asked"):
        greeted().feed(answer(HeartbeatResponse(), 4, 1))


def test_unknown_tags_in_a_reply_header_are_passed_over() -> None:
    peer = greeted()
    number = peer.ask(HeartbeatRequest(), HeartbeatResponse, 10.0)
    body = HeartbeatResponse(error_code=3).encode(4)
    frame = number.to_bytes(4, "big") + b"\x01\x05\x02ab" + body
    (reply,) = peer.feed(len(frame).to_bytes(4, "big") + frame)
    assert reply.message == HeartbeatResponse(error_code=3)
