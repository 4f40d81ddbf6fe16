"""DeleteRecords on several nodes: the answer waits for the replicas that are alive."""

from __future__ import annotations

from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.settings_act.town import Town
from tests.settings_act.trial import Place, Trial

RECORDS = 10


def town() -> tuple[Town, int, int]:
    """Topic `t` with a leader and a follower, neither of them the controller."""
    town = Town(Trial("broker.rack", None, Place.FILE)).begin()
    leader, follower = town.others
    town.create(leader, follower)
    for _ in range(RECORDS):
        assert town.append(leader) == 0
    return town, leader, follower


def deletion(offset: int, timeout_ms: int = 10_000) -> DeleteRecordsRequest:
    wanted = DeleteRecordsPartition(partition_index=0, offset=offset)
    return DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="t", partitions=[wanted])], timeout_ms=timeout_ms)


def outcome(answer: Any) -> tuple[int, int]:
    (result,) = answer.topics[0].partitions
    return result.error_code, result.low_watermark


def start_of(town: Town, number: int) -> int:
    replica = town.node(number).replicas.get("t", 0)
    assert replica is not None
    return replica.log.start_offset


def test_it_is_answered_when_the_follower_has_deleted_too() -> None:
    cluster, leader, follower = town()
    assert outcome(cluster.ask(leader, deletion(4))) == (0, 4)
    assert start_of(cluster, follower) == 4
    assert outcome(cluster.ask(leader, deletion(-1))) == (0, RECORDS)
    assert start_of(cluster, follower) == RECORDS


def test_what_is_deleted_already_is_answered_at_once() -> None:
    cluster, leader, _ = town()
    cluster.ask(leader, deletion(4))
    before_s = cluster.now_s
    assert outcome(cluster.ask(leader, deletion(2))) == (0, 4)
    assert cluster.now_s - before_s < 0.1


def test_a_follower_that_is_alive_and_does_not_say_so_is_waited_for() -> None:
    cluster, leader, follower = town()
    cluster.separate(leader, follower)
    code, low = outcome(cluster.ask(leader, deletion(4, timeout_ms=300)))
    assert (code, low) == (ErrorCode.REQUEST_TIMED_OUT, 0)
    assert start_of(cluster, leader) == 4


def test_a_follower_that_is_gone_is_not_waited_for() -> None:
    cluster, leader, follower = town()
    cluster.crash(follower)
    cluster.wait(lambda: cluster.partition().isr == (leader,))
    assert outcome(cluster.ask(leader, deletion(4))) == (0, 4)
