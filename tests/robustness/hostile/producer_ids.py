"""Producer ids without end: asked for and never used, asked for by who does not listen, and used once each."""

from __future__ import annotations

import socket

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.records.build import build_batch
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from penstock.core.wire.frames import parse_response_header
from tests.robustness.hostile.target import Case, Peer, Target, frame_of

V, PRODUCE_V = 4, 9
ROUNDS, AT_ONCE = 20, 1_000
DEAF, DEAF_FRAMES, DEAF_TIMES, TAKES_NO_MORE_S = 2, 2_000, 1_500, 0.5
"""In all 114 MB for each of them: several times what the buffers of the machine hold on the way."""
EARS_BYTES = 1 << 16
USED_ONCE = 15_000
"""More than a partition remembers."""


def asking() -> bytes:
    return frame_of(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), V)


def ids(peer: Peer, count: int) -> list[int]:
    assert peer.send(asking() * count)
    found = []
    for _ in range(count):
        answer = peer.answer()
        assert answer is not None
        _, position = parse_response_header(answer, InitProducerIdResponse.KEY, V)
        response = InitProducerIdResponse.decode(answer, V, position)
        assert response.error_code == ErrorCode.NONE
        found.append(response.producer_id)
    return found


def flood(target: Target) -> None:
    """Each of them is an id of its own."""
    with target.connect() as peer:
        found = [each for _ in range(ROUNDS) for each in ids(peer, AT_ONCE)]
    assert len(set(found)) == ROUNDS * AT_ONCE


def deaf(target: Target) -> None:
    """Nobody reads the answers: after some of them the node takes no more requests."""
    frames = asking() * DEAF_FRAMES
    peers = [target.connect() for _ in range(DEAF)]
    for peer in peers:
        # Or the machine lets its buffer grow and hears for the deaf.
        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, EARS_BYTES)
        peer.socket.settimeout(TAKES_NO_MORE_S)
        with pytest.raises(TimeoutError):
            send_without_end(peer, frames)
    for peer in peers:
        peer.socket.close()


def send_without_end(peer: Peer, frames: bytes) -> None:
    """The time-out is that of each few frames: a node that is only slow is not one that takes no more."""
    for _ in range(DEAF_TIMES):
        peer.socket.sendall(frames)


def used_once(target: Target) -> None:
    """A producer id per batch, each with a sequence of its own."""
    target.broker.create_topic("used-once")
    with target.connect() as peer:
        for _ in range(USED_ONCE // AT_ONCE):
            batches = [
                build_batch([(None, b"v", (), 1)], producer_id=each, producer_epoch=0, base_sequence=0)
                for each in ids(peer, AT_ONCE)
            ]
            assert peer.send(b"".join(map(producing, batches)))
            assert {code_of(peer.answer()) for _ in batches} == {ErrorCode.NONE}


def producing(batch: bytearray) -> bytes:
    data = PartitionProduceData(index=0, records=bytes(batch))
    topic = TopicProduceData(name="used-once", partition_data=[data])
    return frame_of(ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic]), PRODUCE_V)


def code_of(answer: bytes | None) -> int:
    assert answer is not None
    _, position = parse_response_header(answer, ProduceResponse.KEY, PRODUCE_V)
    (found,) = ProduceResponse.decode(answer, PRODUCE_V, position).responses
    return found.partition_responses[0].error_code


CASES: dict[str, Case] = {"producer ids": flood, "producer ids, unheard": deaf}
LONG_CASES: dict[str, Case] = {"producer ids, used once": used_once}
