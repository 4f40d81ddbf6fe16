"""Batches that hold more than they seem to, for a topic whose records the broker must read; and headers that lie."""

from __future__ import annotations

import time

from penstock.core.base.errors import ErrorCode
from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch, seal
from penstock.core.records.codecs import Codec
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from penstock.core.wire.frames import parse_response_header
from tests.robustness.hostile.target import Case, Peer, Target, frame_of

V = 9
TIMES = 2


def ask(peer: Peer, topic_name: str, batch: bytes | bytearray, times: int = 1) -> list[int]:
    """The error code of each."""
    data = PartitionProduceData(index=0, records=bytes(batch))
    topic = TopicProduceData(name=topic_name, partition_data=[data])
    frame = frame_of(ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic]), V)
    for _ in range(times):
        assert peer.send(frame)
    codes = []
    for _ in range(times):
        answer = peer.answer()
        assert answer is not None
        _, position = parse_response_header(answer, ProduceResponse.KEY, V)
        (found,) = ProduceResponse.decode(answer, V, position).responses
        codes.append(found.partition_responses[0].error_code)
    return codes


def read_topic(target: Target, name: str) -> str:
    target.broker.create_topic(name, cleanup_policy="compact")
    return name


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def bombs(target: Target) -> None:
    topic = read_topic(target, "bombs")
    fits = build_batch([(b"k", bytes(60_000_000), (), now_ms())], codec=Codec.GZIP)
    bursts = build_batch([(b"k", bytes(100_000_000), (), now_ms())], codec=Codec.GZIP)
    with target.connect() as peer:
        assert ask(peer, topic, fits, TIMES) == [ErrorCode.NONE] * TIMES
        assert ask(peer, topic, bursts, TIMES) == [ErrorCode.MESSAGE_TOO_LARGE] * TIMES


def tiny_records(target: Target) -> None:
    topic = read_topic(target, "tiny-records")
    batch = build_batch([(b"k", b"", (), now_ms())] * 100_000, codec=Codec.ZSTD)
    with target.connect() as peer:
        assert ask(peer, topic, batch, TIMES) == [ErrorCode.NONE] * TIMES


def lying_counts(target: Target) -> None:
    topic = read_topic(target, "lying-counts")
    honest = build_batch([(b"k", b"v", (), now_ms())])
    header, most = read_header(honest), 2**31 - 1
    with target.connect() as peer:
        for count in (most, 2, 1000):
            lie = seal(header._replace(count=count, last_offset_delta=count - 1), honest[61:])
            assert ask(peer, topic, lie) == [ErrorCode.INVALID_RECORD]
        assert ask(peer, topic, seal(header._replace(base_timestamp=-(2**63)), honest[61:])) == [
            ErrorCode.INVALID_TIMESTAMP
        ]
        assert ask(peer, topic, honest) == [ErrorCode.NONE]


CASES: dict[str, Case] = {"bombs": bombs, "tiny records": tiny_records, "lying counts": lying_counts}
