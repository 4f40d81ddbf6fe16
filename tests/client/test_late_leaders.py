"""A leader that has not heard of its topic yet, as happens a moment after it was created, is asked again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import LATEST, list_offsets
from penstock.client.producing import Producer
from penstock.client.reading import Reader
from penstock.core.base.errors import ErrorCode
from penstock.core.records.build import build_batch
from penstock.core.wire.api.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from penstock.core.wire.api.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from penstock.core.wire.api.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from penstock.core.wire.schema import Response
from tests.client.fake_broker import FakeBroker

WHERE = TopicPartition("t", 0)
NOT_YET = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
IDS_FROM = 13
"""The versions of Fetch and Produce that name a topic by its id."""


def offsets(request: Any, version: int, code: ErrorCode) -> Response:
    found = ListOffsetsPartitionResponse(partition_index=0, error_code=code, offset=7)
    return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=[found])])


def produced(request: Any, version: int, code: ErrorCode) -> Response:
    (topic,) = request.topic_data
    taken = [PartitionProduceResponse(index=0, error_code=code, base_offset=0)]
    return ProduceResponse(
        responses=[TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=taken)]
    )


def fetched(request: Any, version: int, code: ErrorCode) -> Response:
    (topic,) = request.topics
    records = None if code else bytes(build_batch([(None, b"v", (), 1)]))
    data = PartitionData(partition_index=0, error_code=code, high_watermark=1, last_stable_offset=1, records=records)
    return FetchResponse(
        responses=[FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=[data])]
    )


def ask_offsets(client: Client) -> object:
    return list_offsets(client, {WHERE: LATEST})[WHERE].offset


def produce(client: Client) -> object:
    with Producer(client, idempotent=False) as producer:
        producer.send("t", None, b"v")
    return None


def fetch(client: Client) -> object:
    return [record.value for chunk in Reader(client, {WHERE: 0}).poll() for record in chunk.records]


CASES: dict[str, tuple[Callable[[Any, int, ErrorCode], Response], Callable[[Client], object], object]] = {
    "ListOffsets": (offsets, ask_offsets, 7),
    "Produce": (produced, produce, None),
    "Fetch": (fetched, fetch, [b"v"]),
}


@pytest.mark.parametrize("code", NOT_YET)
@pytest.mark.parametrize("api", CASES)
def test_it_is_asked_again(api: str, code: ErrorCode) -> None:
    answer, ask, expected = CASES[api]
    codes = iter([code, code])
    with FakeBroker() as broker, Client(broker.address, timeout=5) as client:
        broker.on(api, lambda request, version: answer(request, version, next(codes, ErrorCode.NONE)))
        assert ask(client) == expected
        assert len(broker.seen(api)) == 3


@pytest.mark.parametrize("api", CASES)
def test_a_topic_that_is_gone_is_not_waited_for(api: str) -> None:
    answer, ask, _ = CASES[api]
    with FakeBroker() as broker, Client(broker.address, timeout=60) as client:

        def refuse(request: Any, version: int) -> Response:
            broker.topics.clear()
            return answer(request, version, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

        broker.on(api, refuse)
        with pytest.raises(ClientError) as refused:
            ask(client)
    assert refused.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
