"""Share fetches at one node, with the share coordinator on the same: what members get, and when."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.node.serving.access import Operation, Resource
from penstock.core.node.serving.context import RequestContext
from penstock.core.node.serving.gates import AllowAll
from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch
from penstock.core.records.control import EndTransaction, build_end_transaction
from penstock.core.wire.api.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.node.sharing import (
    ACCEPT,
    REJECT,
    RELEASE,
    RENEW,
    Member,
    begun,
    configure,
    publish,
    set_up,
    stored,
    values_in,
)
from tests.node.world import World


class NoTopics(AllowAll):
    """Groups may be read, and no topic."""

    def allows(self, context: RequestContext, operation: Operation, resource: Resource, name: str) -> bool:
        return resource is not Resource.TOPIC


def test_two_members_share_what_there_is() -> None:
    world = begun()
    publish(world, b"a", b"b")
    publish(world, b"c")
    one, other = Member(world, "one"), Member(world, "other")
    answer = one.fetch(0, max_records=1)
    assert values_in(answer) == [b"a", b"b"], "whole batches are given"
    assert answer.acquisition_lock_timeout_ms == 30_000
    assert values_in(other.fetch(0)) == [b"c"]
    assert one.take() == {}
    assert one.code((0, 1, [ACCEPT])) == 0
    assert stored(world) == (0, 2), "the write was made before the start has moved"
    assert other.code((2, 2, [ACCEPT])) == 0
    assert one.take() == {}


def test_a_limit_of_records_is_kept_when_asked_for() -> None:
    world = begun()
    publish(world, *[b"x"] * 5)
    member = Member(world)
    assert member.take(0, max_records=2, share_acquire_mode=1) == {0: [(0, 1, 1)]}
    assert member.take(max_records=2, share_acquire_mode=1) == {0: [(2, 3, 1)]}


def test_who_finds_nothing_is_woken_by_records() -> None:
    world = begun()
    member = Member(world)
    member.send(0, max_wait_ms=10_000)
    assert member.heard() == []
    publish(world, b"new")
    (answer,) = member.heard()
    assert values_in(answer) == [b"new"]


def test_who_finds_nothing_hears_so_in_the_end() -> None:
    world = begun()
    member = Member(world)
    member.send(0, max_wait_ms=10_000)
    world.pass_time(9_999)
    assert member.heard() == []
    world.pass_time(1)
    (answer,) = member.heard()
    assert (answer.error_code, answer.responses) == (0, [])


def test_fewer_bytes_than_asked_for_wait() -> None:
    world = begun()
    publish(world, b"x")
    member = Member(world)
    member.send(0, max_wait_ms=1_000, min_bytes=10_000)
    assert member.heard() == []
    publish(world, b"y" * 10_000)
    (answer,) = member.heard()
    assert len(values_in(answer)) == 2


def test_bytes_of_all_partitions_count_together() -> None:
    world = begun(partitions=2)
    publish(world, b"x" * 600, partition=0)
    member = Member(world)
    member.send(0, 1, max_wait_ms=1_000, min_bytes=1_000)
    assert member.heard() == []
    publish(world, b"y" * 600, partition=1)
    (answer,) = member.heard()
    assert sorted(values_in(answer), key=str) == [b"x" * 600, b"y" * 600]


def test_what_is_released_goes_to_whoever_waits() -> None:
    world = begun()
    publish(world, b"a")
    one, other = Member(world, "one"), Member(world, "other")
    assert one.take(0) == {0: [(0, 0, 1)]}
    other.send(0, max_wait_ms=10_000)
    assert one.code((0, 0, [RELEASE])) == 0
    (answer,) = other.heard()
    assert answer.responses[0].partitions[0].acquired_records[0].delivery_count == 2


def test_a_lock_that_runs_out_gives_records_back() -> None:
    world = begun(share_record_lock_duration_ms="1000")
    publish(world, b"a")
    one, other = Member(world, "one"), Member(world, "other")
    one.take(0)
    other.send(0, max_wait_ms=10_000)
    world.pass_time(999)
    assert other.heard() == []
    world.pass_time(1)
    assert len(other.heard()) == 1
    assert one.code((0, 0, [ACCEPT])) == ErrorCode.INVALID_RECORD_STATE


def test_locks_that_run_out_one_after_another_are_looked_at_together() -> None:
    world = begun(share_record_lock_duration_ms="1000")
    publish(world, *[b"x"] * 10)
    member = Member(world)
    for first in range(10):
        assert member.take(0, max_records=1, share_acquire_mode=1) == {0: [(first, first, 1)]}
        world.pass_time(1)
    expired = world.node.sharing.counts
    world.pass_time(990)
    assert expired.expired == 1
    world.pass_time(24)
    assert expired.expired == 1
    world.pass_time(1)
    assert expired.expired == 10


def test_a_lock_is_renewed() -> None:
    world = begun(share_record_lock_duration_ms="1000")
    publish(world, b"a")
    member = Member(world)
    member.take(0)
    world.pass_time(900)
    assert member.code((0, 0, [RENEW]), renews=True) == 0
    world.pass_time(900)
    assert member.code((0, 0, [ACCEPT])) == 0


def test_a_group_may_forbid_that() -> None:
    world = begun(share_renew_acknowledge_enable="false")
    publish(world, b"a")
    member = Member(world)
    member.take(0)
    assert member.code((0, 0, [RENEW]), renews=True) == ErrorCode.INVALID_RECORD_STATE


def test_a_renewal_by_the_way_fetches_nothing() -> None:
    world = begun()
    publish(world, b"a")
    member = Member(world)
    member.take(0)
    publish(world, b"b")
    nothing = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0}
    assert member.take(said={0: [(0, 0, [RENEW])]}, is_renew_ack=True, **nothing) == {}
    assert member.fetch(said={0: [(0, 0, [RENEW])]}, is_renew_ack=True).error_code == ErrorCode.INVALID_REQUEST


def test_acknowledgements_come_with_a_fetch() -> None:
    world = begun()
    publish(world, b"a")
    publish(world, b"b")
    member = Member(world)
    assert member.take(0, max_records=1) == {0: [(0, 0, 1)]}
    answer = member.fetch(said={0: [(0, 0, [ACCEPT])]})
    (told,) = answer.responses[0].partitions
    assert (told.acknowledge_error_code, told.error_code) == (0, 0)
    assert [each.first_offset for each in told.acquired_records] == [1]
    answer = member.fetch(said={0: [(0, 0, [ACCEPT])]})
    assert answer.responses[0].partitions[0].acknowledge_error_code == 0, "it is done with"
    answer = member.fetch(said={0: [(7, 7, [ACCEPT])]})
    assert answer.responses[0].partitions[0].acknowledge_error_code == ErrorCode.INVALID_REQUEST


def test_a_record_is_given_up_after_so_many_deliveries() -> None:
    world = begun(share_delivery_count_limit="2")
    publish(world, b"poison")
    member = Member(world)
    for delivery in (1, 2):
        assert member.take(*[0][: member.epoch == 0]) == {0: [(0, 0, delivery)]}
        assert member.code((0, 0, [RELEASE])) == 0
    assert member.take() == {}
    publish(world, b"next")
    assert member.take() == {0: [(1, 1, 1)]}


def test_rejected_records_and_gaps_are_done_with() -> None:
    world = begun()
    publish(world, b"a", b"b", b"c")
    member = Member(world)
    member.take(0)
    assert member.code((0, 2, [0, REJECT, ACCEPT])) == 0
    assert stored(world) == (0, 3)
    assert member.take() == {}


def test_no_more_than_so_many_are_out() -> None:
    world = begun(share_partition_max_record_locks="100")
    for _ in range(3):
        publish(world, *[b"x"] * 60)
    member = Member(world)
    assert member.take(0) == {0: [(0, 119, 1)]}, "to the end of the batch"
    assert member.take() == {}
    assert member.code((0, 59, [ACCEPT])) == 0
    assert member.take() == {0: [(120, 179, 1)]}


def test_the_next_leader_knows_what_was_acknowledged() -> None:
    world = begun()
    publish(world, *[b"x"] * 4)
    member = Member(world)
    member.take(0)
    assert member.code((0, 0, [ACCEPT]), (2, 2, [RELEASE])) == 0
    world.restart(clean=False)
    assert Member(world).take(0) == {0: [(1, 1, 1), (2, 2, 2), (3, 3, 1)]}


def test_the_next_leader_knows_how_often_it_was_delivered() -> None:
    world = begun(share_record_lock_duration_ms="1000")
    publish(world, b"x")
    Member(world).take(0)
    world.pass_time(1_000)
    world.settle()
    world.restart(clean=False)
    assert Member(world).take(0) == {0: [(0, 0, 2)]}


@pytest.mark.parametrize(
    ("said", "renews"),
    [
        ([(1, 0, [ACCEPT])], False),
        ([(0, 1, [])], False),
        ([(0, 2, [ACCEPT, ACCEPT])], False),
        ([(0, 0, [5])], False),
        ([(0, 0, [RENEW])], False),
        ([(1, 2, [ACCEPT]), (0, 0, [ACCEPT])], False),
    ],
)
def test_what_makes_no_sense(said: list[tuple[int, int, list[int]]], renews: bool) -> None:
    world = begun()
    publish(world, b"a", b"b", b"c")
    member = Member(world)
    member.take(0)
    assert member.code(*said, renews=renews) == ErrorCode.INVALID_REQUEST


def test_an_older_version_does_not_renew() -> None:
    world = begun()
    publish(world, b"a")
    member = Member(world, version=1)
    member.take(0)
    assert member.code((0, 0, [RENEW])) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("own", "expected"),
    [({}, 3), ({"share_auto_offset_reset": "earliest"}, 0), ({"share_auto_offset_reset": "by_duration:PT1H"}, 0)],
)
def test_where_a_group_begins_that_has_not_begun(own: dict[str, str], expected: int) -> None:
    world = begun(start_offset=-1, **own)
    publish(world, b"a", b"b", b"c")
    member = Member(world)
    assert bool(member.take(0)) == (expected == 0)
    publish(world, b"d")
    if expected:
        assert member.take() == {0: [(expected, expected, 1)]}


def test_aborted_records_are_passed_over_where_the_group_asks_for_it() -> None:
    world = begun(share_isolation_level="read_committed")
    partition = world.node.replicas.get("t", 0)
    assert partition is not None
    for producer, commits in ((1, False), (2, True)):
        told = {"producer_id": producer, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
        batch = build_batch([(None, b"v%d" % producer, (), 0)], **told)
        for each in (batch, build_end_transaction(EndTransaction(commits, 0), producer, 0, 0)):
            world.turn(lambda each=each: partition.append_own(each, read_header(each), world.now_ms))  # type: ignore[misc]
    member = Member(world)
    assert member.take(0) == {0: [(1, 3, 1)]}, "the markers are gaps, and clients say so"
    configure(world, "g", share_isolation_level="read_uncommitted")
    other = Member(world, group="g", name="other")
    assert other.take(0) == {}


def test_records_that_are_deleted_are_not_waited_for() -> None:
    world = begun()
    publish(world, b"a")
    publish(world, b"b")
    member = Member(world)
    assert member.take(0, max_records=1) == {0: [(0, 0, 1)]}
    cut = DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(partition_index=0, offset=1)])
    assert (
        world.client().ask(DeleteRecordsRequest(topics=[cut], timeout_ms=1000)).topics[0].partitions[0].error_code == 0
    )
    assert member.take() == {0: [(1, 1, 1)]}
    assert member.code((0, 0, [ACCEPT])) == 0
    assert member.code((1, 1, [ACCEPT])) == 0


def test_partitions_are_added_and_forgotten() -> None:
    world = begun(partitions=2)
    publish(world, b"a", partition=0)
    publish(world, b"b", partition=1)
    member = Member(world)
    assert member.take(1) == {1: [(0, 0, 1)]}
    assert member.take(0) == {0: [(0, 0, 1)]}
    member.fetch(forgotten=[0])
    publish(world, b"c", partition=0)
    assert member.take() == {}


def test_a_topic_that_goes_while_somebody_waits() -> None:
    world = begun()
    member = Member(world)
    member.send(0, max_wait_ms=10_000)
    topic = DeleteTopicState(name="t")
    world.client().ask(DeleteTopicsRequest(topics=[topic], timeout_ms=1000))
    (answer,) = member.heard()
    code = answer.responses[0].partitions[0].error_code
    assert code in (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.NOT_LEADER_OR_FOLLOWER)


def test_partitions_that_are_not_there() -> None:
    world = begun()
    member = Member(world)
    answer = member.fetch(9)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert member.code((0, 0, [ACCEPT]), partition=9) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert member.code((0, 0, [ACCEPT])) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "it was never fetched"


@pytest.mark.parametrize(
    "values", [{"group_id": None}, {"member_id": ""}, {"member_id": "x" * 37}, {"member_id": None}]
)
def test_requests_that_name_nobody(values: dict[str, str | None]) -> None:
    world = begun()
    member = Member(world)
    request = member.request(0)
    for name, value in values.items():
        setattr(request, name, value)
    assert world.client().ask(request).error_code == ErrorCode.INVALID_REQUEST


def test_a_state_that_was_set_up_anew_fences_its_leader() -> None:
    world = begun()
    publish(world, b"a")
    member = Member(world)
    member.take(0)
    set_up(world, "g", 0, state_epoch=2)
    assert member.code((0, 0, [ACCEPT])) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert member.take() == {0: [(0, 0, 1)]}


def test_a_topic_that_a_member_may_not_read() -> None:
    """Rights are looked at anew each time: a session names its partitions only once."""
    world = begun()
    publish(world, b"a", b"b")
    member = Member(world)
    member.take(0)
    world.node.gates = world.node.gates._replace(authorizer=NoTopics())
    assert member.code((0, 0, [ACCEPT])) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    answer = member.fetch(said={0: [(0, 0, [ACCEPT])]})
    (told,) = answer.responses[0].partitions
    refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert (told.error_code, told.acknowledge_error_code, told.acquired_records) == (refused, refused, [])


def test_a_coordinator_that_is_not_there() -> None:
    world = World()
    world.create("t")
    publish(world, b"a")
    assert Member(world).take(0) == {}
