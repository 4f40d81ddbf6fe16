"""What an acknowledgement waits for: the write, the sync where that was asked for, and never something lost."""

from __future__ import annotations

import errno
from random import Random

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Append, FileFailure, Sync
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.node.world import World, fetch, found_in, produce, values_of


def outcome(answer: ProduceRequest) -> tuple[int, int]:
    result = answer.responses[0].partition_responses[0]
    return result.error_code, result.base_offset


def finish_kind(world: World, kind: type) -> None:
    """Finish the oldest pending operation of one kind."""
    at = next(number for number, (_, op, _) in enumerate(world.files.pending) if isinstance(op, kind))
    _, op, done = world.files.pending.pop(at)
    world.turn(lambda: done(world.files._do(op)))


@pytest.mark.parametrize("acks", [1, -1])
def test_the_reply_waits_for_the_write(acks: int) -> None:
    world = World()
    world.create("t")
    client = world.client()
    world.hold()
    client.send(produce("t", b"a", acks=acks), 9)
    assert client.replies() == []
    finish_kind(world, Append)
    assert [outcome(reply) for reply in client.replies()] == [(0, 0)]


def test_what_is_not_written_is_not_read() -> None:
    world = World()
    world.create("t")
    client = world.client()
    world.hold()
    client.send(produce("t", b"a"), 9)
    reader = world.client()
    reader.send(fetch({("t", 0): 0}), 11)
    assert found_in(reader.replies()[0])["t", 0].high_watermark == 0


def test_with_flush_messages_1_the_reply_waits_for_the_sync() -> None:
    world = World()
    world.create("t", flush_messages="1")
    client = world.client()
    world.hold()
    client.send(produce("t", b"a"), 9)
    finish_kind(world, Append)
    assert client.replies() == []
    world.pass_time(200, settle=False)
    while not (replies := client.replies()):
        assert world.files.pending, "nothing is under way and nobody was answered"
        synced = any(isinstance(op, Sync) for _, op, _ in world.files.pending)
        world.finish_one()
    assert synced or world.node.replicas.get("t", 0).log.synced_offset == 1
    assert outcome(replies[0]) == (0, 0)
    assert world.node.replicas.get("t", 0).log.synced_offset == 1


def test_with_flush_messages_1_nobody_waits_for_the_clock() -> None:
    world = World()
    world.create("t", flush_messages="1")
    assert outcome(world.client().ask(produce("t", b"a"), 9)) == (0, 0)


def test_a_failed_sync_fails_the_append_and_the_node() -> None:
    world = World()
    world.create("t", flush_messages="1")
    client = world.client()
    world.files.sync_failure = FileFailure(errno.EIO, "the disk is broken")
    client.send(produce("t", b"a"), 9)
    world.pass_time(300)
    assert [outcome(reply)[0] for reply in client.replies()] == [ErrorCode.KAFKA_STORAGE_ERROR]
    assert world.node.state == "failed"


def test_a_produce_that_takes_too_long_is_answered_and_its_record_stays() -> None:
    world = World()
    world.create("t")
    client = world.client()
    world.hold()
    client.send(produce("t", b"a", timeout_ms=500), 9)
    world.pass_time(499, settle=False)
    assert client.replies() == []
    world.pass_time(1, settle=False)
    assert outcome(client.replies()[0]) == (ErrorCode.REQUEST_TIMED_OUT, -1)
    world.release()
    assert client.replies() == []
    assert values_of(found_in(client.ask(fetch({("t", 0): 0}), 11))["t", 0].records) == [b"a"]


def test_a_failed_write_fails_exactly_what_was_lost() -> None:
    world = World()
    world.create("t")
    first, second, third = world.client(), world.client(), world.client()
    world.hold()
    first.send(produce("t", b"first"), 9)
    second.send(produce("t", b"second"), 9)
    third.send(produce("t", b"third"), 9)
    finish_kind(world, Append)
    world.files.space_bytes = 3
    finish_kind(world, Append)
    assert [outcome(reply) for reply in first.replies()] == [(0, 0)]
    assert [outcome(reply) for reply in second.replies()] == [(ErrorCode.KAFKA_STORAGE_ERROR, -1)]
    assert [outcome(reply) for reply in third.replies()] == [(ErrorCode.KAFKA_STORAGE_ERROR, -1)]
    world.files.space_bytes = None
    world.release()
    assert outcome(first.ask(produce("t", b"again"), 9)) == (0, 1)
    assert values_of(found_in(first.ask(fetch({("t", 0): 0}), 11))["t", 0].records) == [b"first", b"again"]
    assert third.replies() == []


def test_a_retried_batch_does_not_hide_the_loss_of_a_later_one() -> None:
    """Two batches in flight, the first sent twice; the second is lost. Nobody may ever hear that it is there."""
    world = World()
    world.create("t")
    producer, retry = world.client(), world.client()
    world.hold()
    idempotent = {"producer_id": 7, "producer_epoch": 0}
    producer.send(produce("t", b"first", base_sequence=0, **idempotent), 9)
    producer.send(produce("t", b"second", base_sequence=1, **idempotent), 9)
    retry.send(produce("t", b"first", base_sequence=0, **idempotent), 9)
    finish_kind(world, Append)
    assert [outcome(reply) for reply in producer.replies()] == [(0, 0)]
    assert [outcome(reply) for reply in retry.replies()] == [(0, 0)], "a batch that is there is there for everybody"
    world.files.space_bytes = 0
    finish_kind(world, Append)
    assert [outcome(reply) for reply in producer.replies()] == [(ErrorCode.KAFKA_STORAGE_ERROR, -1)]
    world.files.space_bytes = None
    world.release()
    assert outcome(producer.ask(produce("t", b"second", base_sequence=1, **idempotent), 9)) == (0, 1)


def test_one_partition_twice_in_a_request_is_answered_for_both_batches() -> None:
    world = World()
    world.create("t")
    client = world.client()
    once = produce("t", b"a").topic_data[0].partition_data[0].records
    twice = [PartitionProduceData(index=0, records=once), PartitionProduceData(index=0, records=once)]
    world.hold()
    client.send(
        ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=twice)]), 9
    )
    finish_kind(world, Append)
    assert client.replies() == []
    finish_kind(world, Append)
    results = client.replies()[0].responses[0].partition_responses
    assert [(result.error_code, result.base_offset) for result in results] == [(0, 0), (0, 1)]


def test_a_closed_connection_cancels_its_reply_and_not_its_append() -> None:
    world = World()
    world.create("t")
    client = world.client()
    world.hold()
    client.send(produce("t", b"a"), 9)
    client.close()
    world.release()
    assert values_of(found_in(world.client().ask(fetch({("t", 0): 0}), 11))["t", 0].records) == [b"a"]


def test_deleting_the_topic_answers_those_who_wait() -> None:
    from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState

    world = World()
    world.create("t", flush_messages="1")
    client = world.client()
    world.hold()
    client.send(produce("t", b"a"), 9)
    world.client().send(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1000))
    world.release()
    replies = client.replies()
    assert len(replies) == 1
    assert outcome(replies[0])[0] in (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.KAFKA_STORAGE_ERROR)


def test_acks_0_takes_no_slot_and_gets_no_reply() -> None:
    world = World()
    world.create("t")
    client = world.client()
    world.hold()
    client.send(produce("t", b"a", acks=0), 9, answered=False)
    client.send(fetch({("t", 0): 0}), 11)
    assert len(client.replies()) == 1
    assert not client.connection.slots


@pytest.mark.parametrize("seed", range(20))
def test_replies_leave_in_the_order_of_their_requests(seed: int) -> None:
    """Several partitions, whose writes finish in any order."""
    chance = Random(seed)
    world = World()
    world.create("t", 4)
    client = world.client()
    world.hold()
    world.files.delay = chance
    sent = [chance.randrange(4) for _ in range(20)]
    got = []
    for partition in sent:
        client.send(produce("t", b"x", partition=partition), 9)
        if chance.random() < 0.4 and world.files.pending:
            world.finish_one()
        got += client.replies()
    world.settle()
    got += client.replies()
    # The client itself checks the correlation ids; the partitions say the same.
    assert [reply.responses[0].partition_responses[0].index for reply in got] == sent
