"""A full disk refuses writes with the right error, lets everybody read, and is forgotten once there is room."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from penstock.client.link import Link
from penstock.core.base.errors import ErrorCode
from penstock.core.records.build import build_batch
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from penstock.testing import Broker
from tests.robustness.good_client import TIMEOUT_S, now_ms, take
from tests.robustness.small_disk import SmallDisk, counted_disk, small_disk
from tests.waiting import wait_until

RECORD_BYTES = 2_000
TRIES_MAX = 10_000

Disks = Callable[[Path, pytest.MonkeyPatch], AbstractContextManager[SmallDisk]]


def put(link: Link, value: bytes, topic: str = "t") -> ErrorCode:
    batch = bytes(build_batch([(None, value, (), now_ms())]))
    data = [PartitionProduceData(index=0, records=batch)]
    request = ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[TopicProduceData(name=topic, partition_data=data)])
    answer = link.call(request, ProduceResponse, TIMEOUT_S, newest_version=12)
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


def everything(link: Link) -> list[bytes | None]:
    found: list[bytes | None] = []
    while values := take(link, "t", len(found), max_wait_ms=0):
        found += values
    return found


def create(link: Link, name: str) -> ErrorCode:
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    answer = link.call(CreateTopicsRequest(topics=[topic], timeout_ms=1000), CreateTopicsResponse, TIMEOUT_S)
    return ErrorCode(answer.topics[0].error_code)


@pytest.mark.slow
@pytest.mark.parametrize("disks", [small_disk, counted_disk])
def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disks: Disks) -> None:
    with disks(tmp_path / "disk", monkeypatch) as disk, Broker(folder=disk.folder) as broker:
        link = Link(broker.host, broker.port, "test", TIMEOUT_S)
        assert create(link, "t") is ErrorCode.NONE
        kept = [b"%d" % number + bytes(RECORD_BYTES) for number in range(20)]
        assert {put(link, value) for value in kept} == {ErrorCode.NONE}
        disk.fill()
        for number in range(TRIES_MAX):
            value = b"tight %d" % number + bytes(RECORD_BYTES)
            code = put(link, value)
            if code is not ErrorCode.NONE:
                break
            kept.append(value)
        assert code is ErrorCode.KAFKA_STORAGE_ERROR
        assert put(link, b"refused" + bytes(RECORD_BYTES)) is ErrorCode.KAFKA_STORAGE_ERROR
        assert everything(link) == kept
        # The metadata log may still have room: then it is decided, and nobody is told that it failed.
        decided = create(link, "other")
        assert decided in (ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR)
        assert decided is not ErrorCode.NONE or create(link, "other") is ErrorCode.TOPIC_ALREADY_EXISTS
        disk.free()
        last = b"room again"
        wait_until(lambda: put(link, last) is ErrorCode.NONE, what="the node takes records again")
        kept.append(last)
        assert everything(link) == kept
        # Refused or not: what the metadata log took before the disk was full is acted upon now.
        there = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
        wait_until(lambda: create(link, "other") in there, what="the metadata log takes records again")
        wait_until(lambda: put(link, last, "other") is ErrorCode.NONE, what="the other topic takes records")
        link.close()
        broker.stop()
        broker.start()
        link = Link(broker.host, broker.port, "test", TIMEOUT_S)
        assert everything(link) == kept
        link.close()
