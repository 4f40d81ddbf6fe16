"""What whoever runs a node hears of a disk that fails it, and what becomes of the node."""

from __future__ import annotations

import errno

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Append, FileFailure
from penstock.core.log.durable import SyncFailed
from penstock.core.node.disk_trouble import TELL_AGAIN_MS
from tests.log.memory_files import MemoryFiles
from tests.node.test_acks import outcome
from tests.node.world import World, fetch, found_in, produce, values_of


def errors_of(world: World) -> list[str]:
    return [text for level, text in world.notes if level == "error"]


def refuse_writes(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(files: MemoryFiles, op: Append) -> None:
        raise FileFailure(number, "refused")

    monkeypatch.setattr(MemoryFiles, "_append", refuse)


def test_writes_that_fail_are_told_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.create("t")
    client = world.client()
    refuse_writes(monkeypatch, errno.EINVAL)
    for _ in range(3):
        assert outcome(client.ask(produce("t", b"a"), 9))[0] == ErrorCode.KAFKA_STORAGE_ERROR
    assert errors_of(world) == ["a write to /data/t-0 failed and was undone: refused"]
    monkeypatch.undo()
    world.pass_time(TELL_AGAIN_MS)
    assert outcome(client.ask(produce("t", b"b"), 9)) == (0, 0)
    refuse_writes(monkeypatch, errno.EINVAL)
    client.ask(produce("t", b"c"), 9)
    monkeypatch.undo()
    assert len(errors_of(world)) == 2
    assert world.node.state == "running"
    assert values_of(found_in(client.ask(fetch({("t", 0): 0}), 11))["t", 0].records) == [b"b"]


def test_that_the_disk_is_full_is_said_elsewhere() -> None:
    world = World()
    world.create("t")
    log = world.node.replicas.get("t", 0).log
    world.node.disk_full = True
    world.turn(lambda: log.context.on_loss(log, FileFailure(errno.ENOSPC, "no space left")))
    assert errors_of(world) == []


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_a_sync_that_fails_ends_the_node_in_one_line(number: int) -> None:
    world = World()
    world.create("t", partitions=2)
    for index in (0, 1):
        log = world.node.replicas.get("t", index).log
        world.turn(lambda log=log: log.fail(SyncFailed(number, "it failed")))  # type: ignore[misc]
    world.settle()
    assert world.node.state == "failed"
    (text,) = errors_of(world)
    assert text == world.node.failure
    assert text.startswith("the disk has failed /data/t-0: it failed;")


def test_a_log_without_room_for_what_it_needs_is_named_and_the_node_stays() -> None:
    world = World()
    world.create("t")
    log = world.node.replicas.get("t", 0).log
    world.turn(lambda: log.fail(FileFailure(errno.EDQUOT, "quota exceeded")))
    assert errors_of(world) == ["/data/t-0 takes no writes until this node is started again: quota exceeded"]
    assert world.node.state == "running"
