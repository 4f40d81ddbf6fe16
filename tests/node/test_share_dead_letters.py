"""Records that a share group gives up become dead letters first, where the group says so: nothing vanishes past the
limit."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import FileFailure
from penstock.core.delivery.dead_letter import Letter, own_headers, read_letter
from penstock.core.metadata.image import TOPIC_RESOURCE
from penstock.core.records.batch import iterate_headers
from penstock.core.records.build import build_batch
from penstock.core.records.codecs import Codec
from penstock.core.records.record import Record, iterate
from penstock.core.wire.api.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.node.sharing import ACCEPT, REJECT, RELEASE, Member, Said, begun, publish, stored
from tests.node.world import NOW_MS, World, fetch, found_in
from tests.settings_act.trial import alter

DLQ = "t.dlq"


def a_world(**own: str) -> World:
    return begun(penstock_share_on_failure="dlq", share_delivery_count_limit="2", **own)


def records(world: World) -> list[Record]:
    if world.node.image.topic(DLQ) is None:
        return []
    data = bytes(found_in(world.client().ask(fetch({(DLQ, 0): 0}), 11))[DLQ, 0].records or b"")
    return [record for at, _ in iterate_headers(data) for record in iterate(data, at)]


def letters(world: World) -> list[tuple[bytes | None, Letter]]:
    found = []
    for record in records(world):
        letter = read_letter(record.headers)
        assert letter is not None
        found.append((record.value, letter))
    return found


def publish_batch(world: World, batch: bytes) -> None:
    data = PartitionProduceData(index=0, records=batch)
    topic = TopicProduceData(name="t", partition_data=[data])
    world.client().ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic]), 9)


def take_last(member: Member) -> None:
    """The first record, delivered as often as it may be."""
    member.take(0)
    member.code((0, 0, [RELEASE]))
    assert member.take(0) == {0: [(0, 0, 2)]}


def told(member: Member, *said: Said, wait_ms: int = 5_000) -> int:
    """What a member hears of its words once the letters are written."""
    member.begin_saying(*said)
    member.world.settle()
    member.world.pass_time(wait_ms)
    (answer,) = member.heard()
    code: int = answer.responses[0].partitions[0].error_code
    return code


def test_a_record_delivered_as_often_as_it_may_be_becomes_a_dead_letter() -> None:
    world = a_world()
    batch = build_batch([(b"k", b"poison", [("h", b"v")], NOW_MS)])
    publish_batch(world, bytes(batch))
    member = Member(world)
    take_last(member)
    assert told(member, (0, 0, [RELEASE])) == 0
    (letter,) = letters(world)
    assert letter == (
        b"poison",
        Letter(
            "t", 0, 0, NOW_MS, "DELIVERY_COUNT_LIMIT", "it was delivered 2 times, and nobody accepted it", 2, "group=g"
        ),
    )
    (record,) = records(world)
    assert (record.key, own_headers(record.headers)) == (b"k", [("h", b"v")])
    assert sum(stored(world)) == 1
    assert member.take() == {}
    assert world.node.sharing.counts.buried == 1


def test_a_rejected_record_becomes_one_at_once_and_an_accepted_one_never() -> None:
    world = a_world()
    publish(world, b"good", b"bad", b"fine")
    member = Member(world)
    member.take(0)
    assert told(member, (0, 2, [ACCEPT, REJECT, ACCEPT])) == 0
    assert [(value, letter.reason, letter.attempts) for value, letter in letters(world)] == [(b"bad", "REJECTED", 1)]
    assert sum(stored(world)) == 3


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_locks_that_run_out_for_the_last_time_bury_whole_batches(codec: Codec) -> None:
    world = a_world(share_record_lock_duration_ms="1000")
    for first in (0, 3):
        values = [(None, b"%d" % (first + each), (), NOW_MS) for each in range(3)]
        publish_batch(world, bytes(build_batch(values, codec=codec)))
    member = Member(world)
    for _ in range(12):
        member.take(0)
        world.pass_time(1_100)
    world.pass_time(5_000)
    assert [value for value, _ in letters(world)] == [b"%d" % each for each in range(6)]
    assert {letter.offset for _, letter in letters(world)} == set(range(6))
    assert sum(stored(world)) == 6


def test_a_member_that_goes_gives_up_too() -> None:
    world = a_world()
    publish(world, b"poison")
    member = Member(world)
    take_last(member)
    member.client.close()
    world.settle()
    world.pass_time(5_000)
    assert [value for value, _ in letters(world)] == [b"poison"]
    assert sum(stored(world)) == 1


def test_without_the_setting_nothing_is_written() -> None:
    world = begun(share_delivery_count_limit="2")
    publish(world, b"poison")
    member = Member(world)
    take_last(member)
    assert told(member, (0, 0, [RELEASE])) == 0
    assert letters(world) == []
    assert sum(stored(world)) == 1


def test_what_cannot_be_buried_stays_and_is_buried_later() -> None:
    world = a_world(share_record_lock_duration_ms="1000")
    publish(world, b"poison")
    world.create(DLQ)
    log = world.node.replicas.get(DLQ, 0).log  # type: ignore[union-attr]
    log.blocked = "for good"
    member = Member(world)
    take_last(member)
    assert told(member, (0, 0, [REJECT]), wait_ms=32_000) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert sum(stored(world)) == 0, "it is not done with"
    assert Member(world, "other").take(0, max_wait_ms=0) == {}, "and nobody gets it"
    log.blocked = None
    world.pass_time(40_000)
    assert {value for value, _ in letters(world)} == {b"poison"}
    assert sum(stored(world)) == 1


def test_a_letter_that_is_too_large_is_kept_until_it_fits() -> None:
    world = a_world(share_record_lock_duration_ms="1000")
    publish(world, b"x" * 5_000)
    world.create(DLQ, max_message_bytes="1000")
    member = Member(world)
    take_last(member)
    assert told(member, (0, 0, [REJECT])) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert any("max.message.bytes" in text for _, text in world.notes)
    assert (letters(world), sum(stored(world))) == ([], 0)
    assert alter(world, TOPIC_RESOURCE, DLQ, {"max.message.bytes": "10000"}) == 0
    world.pass_time(5_000)
    assert [len(value or b"") for value, _ in letters(world)] == [5_000]
    assert sum(stored(world)) == 1


def test_a_disk_that_does_not_read_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = a_world(share_record_lock_duration_ms="1000")
    publish(world, b"poison")
    member = Member(world)
    take_last(member)

    def fail(*_: object) -> Any:
        raise FileFailure(5, "it is broken")
        yield

    with monkeypatch.context() as broken:
        broken.setattr("penstock.core.node.sharing.dead_letters.read_piece", fail)
        assert told(member, (0, 0, [RELEASE])) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.pass_time(5_000)
    assert [value for value, _ in letters(world)] == [b"poison"]


def test_what_was_deleted_meanwhile_is_no_letter() -> None:
    world = a_world()
    publish(world, b"a", b"b")
    member = Member(world)
    member.take(0)
    cut = DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(partition_index=0, offset=1)])
    member.begin_saying((0, 1, [REJECT]))
    world.client().ask(DeleteRecordsRequest(topics=[cut], timeout_ms=1_000))
    world.pass_time(5_000)
    assert [value for value, _ in letters(world)][-1:] == [b"b"]
    assert sum(stored(world)) >= 2
