"""Who may read where: consumers at leaders and followers, near and far; followers that are throttled."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Slice
from penstock.core.node.replication.throttling import Throttling
from penstock.core.partition.follower import Follower
from penstock.core.partition.readers import COMMITTED, ISOLATION_COMMITTED, REPLICA, UNCOMMITTED, Reader, reader_of
from penstock.core.partition.replicated import ReplicatedLeader
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from penstock.sim.planted import planting
from penstock.sim.planted_cluster import CLUSTER_BUGS
from tests.log.memory_files import MemoryFiles, drive
from tests.metadata.cluster import SETTINGS, topic_id
from tests.partition.broker import Broker, FetchSlot
from tests.partition.stage import NOW_MS, Stage, answer, assignment, batch_at, settings_of
from tests.partition.world import Shape, World

CONSUMERS = (UNCOMMITTED, COMMITTED)
KEY = ("plain", 0)
QUIET = Shape(brokers=3, in_sync_min=2, slow_disks=False, synced=False, through_wire=False)


@pytest.fixture(scope="module")
def world() -> World:
    """Three brokers that have replicated something, and have come to rest."""
    world = World(1, QUIET)
    world.run_until(world.now_ms + 300)
    for producer in world.producers:
        producer.stop()
    world.run_until(world.now_ms + 300)
    return world


def leader_and_follower(world: World) -> tuple[Broker, Broker]:
    leader = world.brokers[world.controller.partition(KEY).leader]
    assert isinstance(leader.partitions[KEY], ReplicatedLeader)
    follower = next(each for each in world.brokers.values() if isinstance(each.partitions[KEY], Follower))
    return leader, follower


def read(broker: Broker, version: int = 17, **fields: Any) -> PartitionData:
    """What a consumer gets that reads the partition from its start."""
    name, index = KEY
    wanted = FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20)
    topics = [FetchTopic(topic=name, topic_id=topic_id(name), partitions=[wanted])]
    request = FetchRequest(max_wait_ms=0, min_bytes=1, topics=topics, session_epoch=-1, **fields)
    answers: list[FetchResponse] = []
    slot: Any = FetchSlot(broker, answers.append)
    slot.version = version
    answer = broker.fetching.fetch(request, slot)
    if isinstance(answer, FetchResponse):
        slot.reply(answer)
    else:
        broker.run_steps(slot, answer)  # type: ignore[arg-type]  # a fetch's steps give its response
    return answers[0].responses[0].partitions[0]


def test_a_follower_serves_what_it_knows_to_be_committed(world: World) -> None:
    leader, follower = leader_and_follower(world)
    ours, theirs = read(follower), read(leader)
    assert ours.error_code == ErrorCode.NONE
    assert ours.high_watermark == theirs.high_watermark > 0
    assert ours.records == theirs.records
    assert ours.records


def test_a_client_that_knows_nothing_of_that_is_sent_to_the_leader(world: World) -> None:
    _, follower = leader_and_follower(world)
    assert read(follower, version=10).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_reader_is_sent_to_the_replica_in_its_rack_if_that_is_wished(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, follower = leader_and_follower(world)
    monkeypatch.setattr(
        leader, "rack_of", lambda broker_id: "near" if broker_id == follower.id else "far", raising=False
    )
    assert read(leader, rack_id="near").preferred_read_replica == -1
    monkeypatch.setattr(leader.limits, "reads_near", True)
    sent = read(leader, rack_id="near")
    assert (sent.preferred_read_replica, sent.records) == (follower.id, b"")
    assert read(leader, rack_id="far").preferred_read_replica == -1
    assert read(leader, rack_id="nowhere").records


def with_a_tail() -> tuple[Follower, ReplicatedLeader]:
    """Replicas of which both have two batches, and know of the first one only that it is committed."""
    follower = Stage().follow()
    follower.take(answer(batch_at(0, 3, b"a") + batch_at(1, 3, b"b"), high_watermark=1), NOW_MS)
    leader = Stage(filled=2, known=1).lead()
    assert follower.log.written_offset == leader.log.written_offset == 2
    return follower, leader


def check_tail_is_hidden(reader: Reader) -> None:
    for partition in with_a_tail():
        assert partition.visible_end(reader) == 1
        assert partition.read_cached(1, 1 << 20, reader, min_one=True) is None
        assert drive(MemoryFiles(), partition.read(1, 1 << 20, reader, min_one=True)) is None


@pytest.mark.parametrize("reader", CONSUMERS)
def test_no_consumer_reads_past_the_high_watermark(reader: Reader) -> None:
    check_tail_is_hidden(reader)


@pytest.mark.parametrize("reader", CONSUMERS)
def test_a_follower_that_serves_its_tail_is_found_out(reader: Reader) -> None:
    with planting(CLUSTER_BUGS["uncommitted tail served"]()), pytest.raises(AssertionError):
        check_tail_is_hidden(reader)


def test_a_replica_gets_the_tail() -> None:
    _, leader = with_a_tail()
    assert leader.visible_end(REPLICA) == 2
    assert isinstance(leader.read_cached(1, 1 << 20, REPLICA, min_one=True), Slice)


@pytest.mark.parametrize("isolation", range(-128, 128))
def test_no_request_makes_a_consumer_a_replica(isolation: int) -> None:
    assert reader_of(isolation) is (COMMITTED if isolation == ISOLATION_COMMITTED else UNCOMMITTED)


def throttling_of(sending: int, fetching: int) -> Throttling:
    throttling = Throttling(1)
    changes = {"leader.replication.throttled.rate": str(sending), "follower.replication.throttled.rate": str(fetching)}
    throttling.configure(SETTINGS.with_dynamic({}, changes), NOW_MS)
    return throttling


@pytest.mark.parametrize(
    ("listed", "is_slow"), [("*", True), ("0:1", True), ("3:1, 0:1", True), ("0:2", False), ("", False)]
)
def test_only_copies_that_the_topic_names_are_throttled(listed: str, is_slow: bool) -> None:
    leader = Stage().lead(assignment(isr=(1, 2)))
    leader.configure(settings_of(leader_replication_throttled_replicas=listed.replace(" ", "")))
    throttling = throttling_of(1_000, 1_000)
    assert throttling.slows_sending(leader, 3) is is_slow
    assert not throttling.slows_sending(leader, 2), "who is in sync stays in sync"
    assert not throttling_of(2**63 - 1, 1_000).slows_sending(leader, 3)
    follower = Stage().follow()
    follower.configure(settings_of(follower_replication_throttled_replicas=listed.replace(" ", "")))
    assert throttling.slows_fetching(follower) is is_slow
