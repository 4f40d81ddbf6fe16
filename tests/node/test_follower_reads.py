"""Whichever way a follower is served, the same is asked first: its epoch, its limits, its throttle."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Slice
from penstock.core.node.fetching.fetch_session import CachedPartition, FetchSession
from penstock.core.node.fetching.follower_reads import FollowerReads
from penstock.core.node.replication.throttling import Throttling
from penstock.core.partition.partition import Partition
from penstock.core.partition.replicated import ReplicatedLeader
from tests.log.helpers import TOPIC_ID
from tests.log.memory_files import drive
from tests.metadata.cluster import SETTINGS
from tests.partition.stage import NOW_MS, Stage, assignment, produce

FOLLOWER = 3
Way = Callable[["Town", int, bool], Slice | None]


class Town:
    """A leader, and a follower that is not in sync and may be throttled."""

    def __init__(self, rate_bytes: int = 2**63 - 1) -> None:
        self.stage = Stage(leader_replication_throttled_replicas="*", min_insync_replicas="1")
        self.leader = self.stage.lead(assignment(isr=(1,)))
        self.current: Partition = self.leader
        produce(self.leader, b"a", acks=1)
        throttling = Throttling(1)
        throttling.configure(SETTINGS.with_dynamic({}, {"leader.replication.throttled.rate": str(rate_bytes)}), NOW_MS)
        topic = SimpleNamespace(name="orders", id=TOPIC_ID)
        node: Any = SimpleNamespace(
            replication=SimpleNamespace(throttling=throttling, clock=lambda: self.stage.now_ms),
            image=SimpleNamespace(topic_by_id=lambda topic_id: topic),
            replicas=SimpleNamespace(get=lambda name, index: self.current),
        )
        self.node, self.reads = node, FollowerReads(node.replication)
        session = FetchSession(session_id=1, by_id=True)
        session.replica, session.reads_followers = (FOLLOWER, 30), True
        self.cached = CachedPartition(session, "orders", TOPIC_ID, 0)
        self.cached.partition, self.cached.leader_epoch, self.cached.max_bytes = self.leader, 5, 1 << 20

    def cached(self, room_bytes: int, first: bool) -> Slice | None:
        leader, diverging = self.cached.admit(self.node)
        assert diverging is None
        piece = self.reads.read_cached(leader, FOLLOWER, 0, room_bytes, first)
        assert piece is None or isinstance(piece, Slice)
        return piece

    def cold(self, room_bytes: int, first: bool) -> Slice | None:
        leader = self.cached.resolve_again(self.node)
        steps = self.reads.read(leader, FOLLOWER, 0, room_bytes, first)
        piece: Slice | None = drive(self.stage.files, steps)
        return piece


WAYS = pytest.mark.parametrize("way", [Town.cached, Town.cold])


@WAYS
def test_a_follower_gets_what_is_not_committed(way: Way) -> None:
    town = Town()
    assert way(town, 1 << 20, True)


@WAYS
def test_in_another_epoch_nothing_is_read(way: Way) -> None:
    town = Town()
    for epoch, code in ((4, ErrorCode.FENCED_LEADER_EPOCH), (6, ErrorCode.UNKNOWN_LEADER_EPOCH)):
        town.cached.leader_epoch = epoch
        with pytest.raises(ApiError) as refused:
            way(town, 1 << 20, True)
        assert refused.value.code is code


@WAYS
def test_a_role_that_is_over_serves_nobody(way: Way) -> None:
    town = Town()
    town.leader.remove()
    town.current = town.stage.follow(assignment(leader=2))
    with pytest.raises(ApiError) as refused:
        way(town, 1 << 20, True)
    assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER


@WAYS
def test_only_the_first_may_be_larger_than_the_room(way: Way) -> None:
    town = Town()
    assert way(town, 0, False) is None
    assert way(town, 0, True)


@WAYS
def test_one_may_overdraw_the_throttle_and_the_next_waits(way: Way) -> None:
    """However many are looked at before the disk is asked for the first of them."""
    town = Town(rate_bytes=10)
    assert way(town, 1 << 20, True)
    for again in (Town.cached, Town.cold):
        assert again(town, 1 << 20, True) is None
    town.stage.now_ms += 3_600_000
    assert way(town, 1 << 20, True)


@WAYS
def test_who_is_in_sync_is_never_held_back(way: Way) -> None:
    town = Town(rate_bytes=10)
    leader: ReplicatedLeader = town.leader
    leader.update(assignment(isr=(1, FOLLOWER), partition_epoch=8))
    for _ in range(3):
        assert way(town, 1 << 20, True)
