"""Ten thousand partitions with the files that a plain account may open."""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.link import Link
from penstock.core.records.build import build_batch
from penstock.core.wire.api.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from penstock.testing import Broker
from tests.robustness.good_client import TIMEOUT_S, now_ms, take
from tests.robustness.process import open_files

OPEN_FILES_MAX = 4096
PARTITIONS = 10_000
CHUNK = 1_000
LATEST = -1
CREATE_S_MAX = 60.0
MEMORY_DISK = Path("/dev/shm")
"""This is about open files, not about how long a disk takes to sync fifty thousand of them."""


@contextmanager
def open_files_limit(count: int) -> Iterator[None]:
    """For this process and those it starts meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def produce_to_all(link: Link) -> None:
    for start in range(0, PARTITIONS, CHUNK):
        data = [
            PartitionProduceData(index=index, records=bytes(build_batch([(None, b"%d" % index, (), now_ms())])))
            for index in range(start, start + CHUNK)
        ]
        request = ProduceRequest(
            acks=-1, timeout_ms=30_000, topic_data=[TopicProduceData(name="many", partition_data=data)]
        )
        answer = link.call(request, ProduceResponse, TIMEOUT_S, newest_version=12)
        assert {each.error_code for each in answer.responses[0].partition_responses} == {0}


def end_offsets(link: Link) -> list[int]:
    partitions = [ListOffsetsPartition(partition_index=index, timestamp=LATEST) for index in range(PARTITIONS)]
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name="many", partitions=partitions)])
    answer = link.call(request, ListOffsetsResponse, TIMEOUT_S)
    found = {each.partition_index: each.offset for each in answer.topics[0].partitions if each.error_code == 0}
    return [found[index] for index in range(PARTITIONS)]


@pytest.mark.slow
def test_ten_thousand_partitions_within_4096_open_files() -> None:
    with (
        open_files_limit(OPEN_FILES_MAX),
        tempfile.TemporaryDirectory(dir=MEMORY_DISK if MEMORY_DISK.is_dir() else None) as folder,
        Broker(folder=folder, beside=True) as broker,
    ):
        with Client(broker.bootstrap, timeout=CREATE_S_MAX) as client:
            Admin(client).create_topic("many", partitions=PARTITIONS)
        link = Link(broker.host, broker.port, "test", TIMEOUT_S)
        produce_to_all(link)
        produce_to_all(link)
        assert open_files(broker.pid) < OPEN_FILES_MAX
        assert [take(link, "many", 0, index) for index in range(0, PARTITIONS, 777)] == [
            [b"%d" % index] * 2 for index in range(0, PARTITIONS, 777)
        ]
        link.close()
        broker.stop()
        broker.start()
        assert "recovered" not in broker.talk(), "a clean stop leaves nothing to recover"
        link = Link(broker.host, broker.port, "test", TIMEOUT_S)
        assert end_offsets(link) == [2] * PARTITIONS
        assert take(link, "many", 1, PARTITIONS - 1) == [b"%d" % (PARTITIONS - 1)]
        link.close()
