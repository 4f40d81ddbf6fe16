"""WriteTxnMarkers: what a transaction coordinator hears of each partition, and what its markers do there."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.offsets.records import offset_record
from penstock.core.groups.offsets.store import CommittedOffset
from penstock.core.groups.routing import partition_for_group
from penstock.core.node.coordination.groups import OFFSETS_TOPIC
from penstock.core.partition.partition import Partition
from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch
from penstock.core.rsm.result import Result, Transaction
from penstock.core.wire.api.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.node.test_coordinators import grouped, stable
from tests.node.world import Client, World

PRODUCER = 7
V2 = 2


def marker(
    *topics: tuple[str, list[int]], committed: bool = True, epoch: int = 0, coordinator: int = 0, version: int = 1
) -> WriteTxnMarkersRequest:
    named = [WritableTxnMarkerTopic(name=name, partition_indexes=indexes) for name, indexes in topics]
    one = WritableTxnMarker(
        producer_id=PRODUCER,
        producer_epoch=epoch,
        transaction_result=committed,
        topics=named,
        coordinator_epoch=coordinator,
        transaction_version=version,
    )
    return WriteTxnMarkersRequest(markers=[one])


def ask(client: Client, request: WriteTxnMarkersRequest) -> list[int]:
    answer = client.ask(request, V2)
    assert [each.producer_id for each in answer.markers] == [PRODUCER]
    return [each.error_code for topic in answer.markers[0].topics for each in topic.partitions]


def replica(world: World, index: int = 0) -> Partition:
    partition = world.node.replicas.get("t", index)
    assert partition is not None
    return partition


def begin(world: World, index: int = 0, epoch: int = 0, sequence: int = 0) -> None:
    """As if somebody had vouched for it."""
    partition = replica(world, index)
    batch = build_batch(
        [(None, b"v", (), 0)],
        producer_id=PRODUCER,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=True,
    )
    world.turn(lambda: partition.append_own(batch, read_header(batch), world.node.now_ms))


@pytest.fixture
def world() -> World:
    world = World()
    world.create("t", 2)
    return world


def test_a_marker_ends_the_transaction_in_each_partition(world: World) -> None:
    begin(world, 0)
    begin(world, 1)
    assert [replica(world, each).last_stable_offset for each in (0, 1)] == [0, 0]
    assert ask(world.client(), marker(("t", [1, 0]))) == [0, 0]
    assert [replica(world, each).last_stable_offset for each in (0, 1)] == [2, 2]


def test_the_answer_waits_for_the_commit(world: World) -> None:
    begin(world)
    client = world.client()
    world.hold()
    client.send(marker(("t", [0]), ("nowhere", [0])), V2)
    assert client.replies() == []
    world.release()
    (answer,) = client.replies()
    codes = [topic.partitions[0].error_code for topic in answer.markers[0].topics]
    assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_what_takes_too_long_is_to_be_sent_again(world: World) -> None:
    client = world.client()
    world.hold()
    client.send(marker(("t", [0])), V2)
    world.pass_time(30_000, settle=False)
    (answer,) = client.replies()
    assert answer.markers[0].topics[0].partitions[0].error_code == ErrorCode.REQUEST_TIMED_OUT
    world.release()
    assert client.replies() == []


def test_nothing_to_mark_is_answered_at_once(world: World) -> None:
    assert world.client().ask(WriteTxnMarkersRequest(markers=[]), 1).markers == []


def test_a_coordinator_that_was_replaced_is_fenced(world: World) -> None:
    client = world.client()
    begin(world)
    assert ask(client, marker(("t", [0]), coordinator=5)) == [0]
    begin(world, sequence=1)
    assert ask(client, marker(("t", [0]), coordinator=4)) == [ErrorCode.TRANSACTION_COORDINATOR_FENCED]
    assert replica(world).last_stable_offset == 2
    assert ask(client, marker(("t", [0]), coordinator=5)) == [0]


@pytest.mark.parametrize(
    ("version", "epoch", "code"),
    [
        (1, 2, ErrorCode.INVALID_PRODUCER_EPOCH),
        (1, 3, ErrorCode.NONE),
        (2, 3, ErrorCode.INVALID_PRODUCER_EPOCH),
        (2, 4, ErrorCode.NONE),
    ],
)
def test_epochs_are_checked_by_the_protocols_version(world: World, version: int, epoch: int, code: ErrorCode) -> None:
    begin(world, epoch=3)
    assert ask(world.client(), marker(("t", [0]), epoch=epoch, version=version)) == [code]
    assert replica(world).last_stable_offset == (0 if code else 2)


def test_a_marker_may_come_again(world: World) -> None:
    client = world.client()
    begin(world)
    assert ask(client, marker(("t", [0]), epoch=1, version=2)) == [0]
    assert ask(client, marker(("t", [0]), epoch=1, version=2)) == [0]
    begin(world, epoch=1)
    assert ask(client, marker(("t", [0]), epoch=1, version=2)) == [ErrorCode.INVALID_PRODUCER_EPOCH]


# Offsets in a transaction.


def offsets_index(world: World) -> int:
    topic = world.node.image.topic(OFFSETS_TOPIC)
    assert topic is not None
    return partition_for_group("g", len(topic))


def commit_in_transaction(world: World, offset: int, epoch: int = 0) -> None:
    record = offset_record("g", "t", 0, CommittedOffset(offset, -1, "", 0, None, world.topic_id("t")))
    result = Result([record], transaction=Transaction(PRODUCER, epoch))
    world.turn(lambda: world.node.coordinators.groups.find("g").run(lambda machine: result))


@pytest.mark.parametrize(("committed", "found"), [(True, 5), (False, -1)])
@pytest.mark.parametrize("restarted", [False, True])
def test_offsets_count_once_their_marker_says_so(committed: bool, found: int, restarted: bool) -> None:
    world, client = grouped()
    commit_in_transaction(world, 5)
    if restarted:
        world.restart()
        client = world.client()
    assert stable(client, 9, 0) == [(-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)]
    assert ask(client, marker((OFFSETS_TOPIC, [offsets_index(world)]), committed=committed)) == [0]
    assert stable(client, 9, 0) == [(found, 0)]
    world.restart()
    assert stable(world.client(), 9, 0) == [(found, 0)]


def test_a_machine_stays_where_its_log_refuses_a_marker() -> None:
    world, client = grouped()
    commit_in_transaction(world, 5, epoch=3)
    machine = world.node.coordinators.groups.find("g").machine
    place = (OFFSETS_TOPIC, [offsets_index(world)])
    assert ask(client, marker(place, epoch=2)) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert world.node.coordinators.groups.find("g").machine is machine
    assert stable(client, 9, 0) == [(-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)]


def test_while_a_machine_loads_a_marker_comes_too_early() -> None:
    world, client = grouped()
    host = world.node.coordinators.groups.find("g")
    host.driver = None
    place = (OFFSETS_TOPIC, [offsets_index(world)])
    assert ask(client, marker(place)) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
