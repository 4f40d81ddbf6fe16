"""Large metadata changes take some turns to be written; decisions see them at once, and nobody sees half of one."""

from __future__ import annotations

import errno

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import FileFailure
from penstock.core.node.quorum import submissions
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.node.world import Client, World


@pytest.fixture(autouse=True)
def two_records_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submissions, "ENCODED_PER_TURN_MAX", 2)


def create(*names: str, partitions: int = 9) -> CreateTopicsRequest:
    topics = [CreatableTopic(name=name, num_partitions=partitions, replication_factor=1) for name in names]
    return CreateTopicsRequest(topics=topics, timeout_ms=1000)


def codes(client: Client) -> list[int]:
    return [topic.error_code for answer in client.replies() for topic in answer.topics]


def test_decisions_see_what_is_still_being_written() -> None:
    world = World()
    first, second = world.client(), world.client()
    world.hold()
    first.send(create("t"), 7)
    second.send(create("t"), 7)
    world.release()
    assert codes(first) == [ErrorCode.NONE]
    assert codes(second) == [ErrorCode.TOPIC_ALREADY_EXISTS]
    topic = world.node.image.topic("t")
    assert topic is not None
    assert len(topic) == 9


def test_what_is_submitted_meanwhile_comes_after_it() -> None:
    world = World()
    client, other = world.client(), world.client()
    world.hold()
    client.send(create("a"), 7)
    other.send(create("b", "c", partitions=1), 7)
    other.send(create("d"), 7)
    assert world.node.quorum.uncommitted_image.topic("d") is not None
    assert world.node.image.topic("a") is None
    world.release()
    assert codes(client) + codes(other) == [ErrorCode.NONE] * 4
    before = world.node.quorum.uncommitted_image
    world.restart()
    after = world.node.quorum.uncommitted_image
    assert sorted(after.topics) == sorted(before.topics) == ["a", "b", "c", "d"]
    assert {name: len(topic) for name, topic in after.topics.items()} == {"a": 9, "b": 1, "c": 1, "d": 9}
    # Every offset that was foretold is the one that was given.
    assert after.offset == world.node.quorum.end_offset - 1


def test_a_failed_disk_undoes_all_that_was_not_written() -> None:
    world = World()
    client, other = world.client(), world.client()
    world.hold()
    client.send(create("a"), 7)
    other.send(create("b"), 7)
    world.node.quorum.log.fail(FileFailure(errno.EIO, "input/output error"))
    world.settle()
    assert codes(client) + codes(other) == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    assert list(world.node.quorum.uncommitted_image.topics) == []


@pytest.mark.parametrize("turns", range(6))
def test_a_crash_leaves_all_of_it_or_nothing(turns: int) -> None:
    world = World()
    client = world.client()
    world.hold()
    client.send(create("t"), 7)
    for _ in range(turns):
        world.finish_one()
    world.restart(clean=False)
    topic = world.node.image.topic("t")
    assert topic is None or len(topic) == 9


@pytest.mark.parametrize(("first", "second"), [("a.b", "a_b"), ("a_b", "a.b"), ("a.b_c", "a_b.c")])
def test_names_that_metrics_cannot_tell_apart(first: str, second: str) -> None:
    world = World()
    client = world.client()

    def ask(*names: str) -> list[int]:
        return [topic.error_code for topic in client.ask(create(*names, partitions=1), 7).topics]

    assert ask(first) == [ErrorCode.NONE]
    assert ask(second, "ab", "a-b") == [ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.NONE, ErrorCode.NONE]
    world.restart()
    client = world.client()
    assert ask(second) == [ErrorCode.INVALID_TOPIC_EXCEPTION]
    client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name=first)], timeout_ms=1000), 6)
    assert ask(second, first) == [ErrorCode.NONE, ErrorCode.INVALID_TOPIC_EXCEPTION]
