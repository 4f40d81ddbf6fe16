"""Where a partition ends, as a leader says that has written nothing in its epoch yet."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.partition.leader import Leader
from penstock.core.partition.partition import Partition
from penstock.core.wire.api.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from penstock.core.wire.api.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.node.world import World, produce

LATEST = -1


def led(world: World, epoch: int) -> Partition:
    """A partition whose only replica has led on into an epoch."""
    partition = world.node.replicas.get("t", 0)
    assert partition is not None
    partition.leader_epoch = epoch
    return partition


def end_of(world: World, epoch: int) -> tuple[int, int]:
    wanted = OffsetForLeaderPartition(partition=0, current_leader_epoch=-1, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(replica_id=-1, topics=[OffsetForLeaderTopic(topic="t", partitions=[wanted])])
    found = world.client().ask(request, 4).topics[0].partitions[0]
    assert found.error_code == 0
    return found.leader_epoch, found.end_offset


def test_an_epoch_without_records_ends_where_the_log_does() -> None:
    world = World()
    world.create("t")
    led(world, 2)
    world.client().ask(produce("t", b"a", b"b"), 9)
    led(world, 5)
    assert [end_of(world, epoch) for epoch in range(7)] == [(0, 0), (1, 0), (2, 2), (2, 2), (2, 2), (5, 2), (-1, -1)]
    world.client().ask(produce("t", b"c"), 9)
    assert [end_of(world, epoch) for epoch in (4, 5, 6)] == [(2, 2), (5, 3), (-1, -1)]


def test_in_an_empty_log_every_epoch_has_ended_at_its_start() -> None:
    world = World()
    world.create("t")
    led(world, 3)
    assert [end_of(world, epoch) for epoch in (-1, 0, 2, 3, 4)] == [(-1, -1), (0, 0), (2, 0), (3, 0), (-1, -1)]


@pytest.mark.parametrize(
    ("version", "code"), [(4, ErrorCode.LEADER_NOT_AVAILABLE), (5, ErrorCode.OFFSET_NOT_AVAILABLE)]
)
def test_a_new_leader_says_in_words_of_the_time_that_it_does_not_know(
    version: int, code: ErrorCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World()
    world.create("t")

    def check_settled(self: Leader) -> None:
        raise ApiError(ErrorCode.OFFSET_NOT_AVAILABLE)

    monkeypatch.setattr(Leader, "check_settled", check_settled)
    wanted = ListOffsetsPartition(partition_index=0, timestamp=LATEST)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[wanted])])
    assert world.client().ask(request, version).topics[0].partitions[0].error_code == code
