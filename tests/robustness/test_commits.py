"""Commits without end over a few keys: the offsets topic stays small, and is read back in no time."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path

import pytest

from penstock.client.link import Link
from penstock.core.base.errors import ErrorCode
from penstock.core.node.coordination.groups import OFFSETS_TOPIC
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from penstock.core.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from penstock.core.wire.api.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic, OffsetFetchResponse
from penstock.testing import Broker
from tests.robustness.good_client import TIMEOUT_S
from tests.waiting import wait_until

COMMITS, BYTES_MAX = 50_000, 2_500_000
COMMITS_SOAK, BYTES_MAX_SOAK = 1_000_000, 5_000_000
RELOAD_S_MAX, RELOAD_S_MAX_SOAK = 5.0, 1.0
"""Who measures is alone on the machine; beside other tests it is only seen that nobody reads all there ever was."""
KEYS = 10
IN_FLIGHT = 200


def commit_of(partition: int, offset: int) -> OffsetCommitRequest:
    part = OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset, committed_metadata="")
    topics = [OffsetCommitRequestTopic(name="t", partitions=[part])]
    return OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, member_id="", topics=topics)


def commit_all(link: Link, count: int) -> None:
    """One commit per request, many requests in flight."""
    tickets: deque[int] = deque()
    for number in range(count + IN_FLIGHT):
        if number < count:
            request = commit_of(number % KEYS, number)
            tickets.append(link.post(request, OffsetCommitResponse, TIMEOUT_S, newest_version=8))
        if number >= IN_FLIGHT:
            answer = link.collect(tickets.popleft(), OffsetCommitResponse)
            assert answer.topics[0].partitions[0].error_code == 0


def find(link: Link) -> ErrorCode:
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
    return ErrorCode(link.call(request, FindCoordinatorResponse, TIMEOUT_S).coordinators[0].error_code)


def committed(link: Link) -> list[int] | None:
    """The committed offsets, or None while they are being read back."""
    topics = [OffsetFetchRequestTopic(name="t", partition_indexes=list(range(KEYS)))]
    answer = link.call(
        OffsetFetchRequest(group_id="g", topics=topics), OffsetFetchResponse, TIMEOUT_S, newest_version=7
    )
    if answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return None
    assert answer.error_code == 0
    return [partition.committed_offset for partition in answer.topics[0].partitions]


def is_small(broker: Broker, bytes_max: int) -> bool:
    """Whether the segments are, and those that are about to take their place. One that goes while it is looked at is
    being replaced: then nobody knows yet."""
    names = Path(broker.folder, f"{OFFSETS_TOPIC}-0").iterdir()
    try:
        return sum(path.stat().st_size for path in names if path.name.endswith((".log", ".log.swap"))) < bytes_max
    except FileNotFoundError:
        return False


def check(commits: int, bytes_max: int, reload_s_max: float) -> None:
    settings = {
        "offsets.topic.num.partitions": 1,
        "log.cleaner.backoff.ms": 100,
    }
    with Broker(settings, beside=True) as broker:
        broker.create_topic("t", KEYS)
        link = Link(broker.host, broker.port, "test", TIMEOUT_S)
        wait_until(lambda: find(link) is ErrorCode.NONE, what="a coordinator")
        commit_all(link, commits)
        wait_until(lambda: is_small(broker, bytes_max), timeout_s=60, what=f"less than {bytes_max} bytes")
        expected = [commits - KEYS + key for key in range(KEYS)]
        assert committed(link) == expected
        link.close()
        broker.stop()
        broker.start()
        begun = time.monotonic()
        link = Link(broker.host, broker.port, "test", TIMEOUT_S)
        wait_until(lambda: committed(link) is not None, what="the groups are loaded")
        assert time.monotonic() - begun < reload_s_max
        assert committed(link) == expected
        link.close()


@pytest.mark.slow
def test_many_commits_stay_small() -> None:
    check(COMMITS, BYTES_MAX, RELOAD_S_MAX)


@pytest.mark.soak
def test_a_million_commits_stay_small() -> None:
    check(COMMITS_SOAK, BYTES_MAX_SOAK, RELOAD_S_MAX_SOAK)
