"""Microseconds per message for the codecs on the hot path: `python bench/micro_wire.py`."""

import timeit
from collections.abc import Callable
from typing import Any

from penstock.core.wire.api.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from penstock.core.wire.api.metadata import MetadataRequest, MetadataRequestTopic
from penstock.core.wire.api.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from penstock.core.wire.frames import FrameReader, parse_request_header, request_frame, response_frame

ROUNDS = 20_000
REPEATS = 5
ELEMENTS_MAX = 2_000
BATCH = bytes(168)
TOPIC_ID = bytes(range(16))

produce_request = ProduceRequest(
    acks=-1,
    timeout_ms=30_000,
    topic_data=[TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=3, records=BATCH)])],
)
incremental_fetch = FetchRequest(
    max_wait_ms=500,
    min_bytes=1,
    max_bytes=52_428_800,
    session_id=77,
    session_epoch=12,
    topics=[FetchTopic(topic_id=TOPIC_ID, partitions=[FetchPartition(partition=3, fetch_offset=99)])],
)
metadata_request = MetadataRequest(topics=[MetadataRequestTopic(name=f"topic-{number}") for number in range(5)])


def build_produce_response() -> ProduceResponse:
    partition = PartitionProduceResponse(index=3, base_offset=1234, log_start_offset=0)
    return ProduceResponse(responses=[TopicProduceResponse(name="orders", partition_responses=[partition])])


def build_fetch_response(partitions: int) -> FetchResponse:
    answers = [
        PartitionData(
            partition_index=index, high_watermark=99, last_stable_offset=99, log_start_offset=0, records=BATCH
        )
        for index in range(partitions)
    ]
    return FetchResponse(session_id=77, responses=[FetchableTopicResponse(topic_id=TOPIC_ID, partitions=answers)])


def measure(title: str, work: Callable[[], object]) -> None:
    best = min(timeit.repeat(work, number=ROUNDS, repeat=REPEATS)) / ROUNDS
    print(f"{best * 1e6:8.2f} us  {title}")


def main() -> None:
    produce_bytes = memoryview(bytearray(produce_request.encode(11)))
    fetch_bytes = memoryview(bytearray(incremental_fetch.encode(17)))
    metadata_bytes = memoryview(bytearray(metadata_request.encode(12)))
    parts: list[Any] = request_frame(produce_request, 0, 11, 7, "bench-client")
    frame = b"".join(parts)
    produce_response = build_produce_response()
    fetch_1, fetch_10 = build_fetch_response(1), build_fetch_response(10)
    reader = FrameReader()

    def read_frame() -> None:
        reader.get_buffer()[: len(frame)] = frame
        reader.received(len(frame))

    measure("cut one frame from the stream", read_frame)
    measure("parse a request header", lambda: parse_request_header(frame[4:]))
    measure("decode ProduceRequest v11, 1 partition", lambda: ProduceRequest.decode(produce_bytes, 11))
    measure("the same, counted", lambda: ProduceRequest.decode_counted(produce_bytes, 11, 0, ELEMENTS_MAX))
    measure("build ProduceResponse", build_produce_response)
    measure("encode ProduceResponse v11, 1 partition", lambda: produce_response.encode(11))
    measure("frame ProduceResponse v11", lambda: response_frame(produce_response, 11, 7))
    measure("decode FetchRequest v17, incremental, 1 partition", lambda: FetchRequest.decode(fetch_bytes, 17))
    measure("the same, counted", lambda: FetchRequest.decode_counted(fetch_bytes, 17, 0, ELEMENTS_MAX))
    measure("decode MetadataRequest v12, 5 topics", lambda: MetadataRequest.decode(metadata_bytes, 12))
    measure("the same, counted", lambda: MetadataRequest.decode_counted(metadata_bytes, 12, 0, ELEMENTS_MAX))
    measure("encode FetchResponse v17, 1 partition", lambda: fetch_1.encode_parts(17))
    measure("encode FetchResponse v17, 10 partitions", lambda: fetch_10.encode_parts(17))
    measure("build FetchResponse, 10 partitions", lambda: build_fetch_response(10))


if __name__ == "__main__":
    main()
