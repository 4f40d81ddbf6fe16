"""What whoever runs a node hears of a disk that fails it, and what becomes of the node."""

from __future__ import annotations

import errno
from collections.abc import Callable
from random import Random

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import (
    Append,
    File,
    FileFailure,
    FileOp,
    MakeDir,
    Read,
    Steps,
    Sync,
    SyncDir,
    Together,
    Unlink,
)
from penstock.core.base.steps import Tasks
from penstock.core.log.durable import SyncFailed
from penstock.core.node.housekeeping import DISK_CHECK_INTERVAL_MS
from penstock.core.node.node import MEANS_RETRY_MS
from penstock.core.node.observing.event_log import AGAIN_MS
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
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
    world.pass_time(AGAIN_MS)
    assert outcome(client.ask(produce("t", b"b"), 9)) == (0, 0)
    refuse_writes(monkeypatch, errno.EINVAL)
    client.ask(produce("t", b"c"), 9)
    monkeypatch.undo()
    assert len(errors_of(world)) == 2
    assert world.node.state == "running"
    assert values_of(found_in(client.ask(fetch({("t", 0): 0}), 11))["t", 0].records) == [b"b"]


def test_a_disk_that_refuses_even_the_doubt_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    honest = MemoryFiles._do

    def refuse(files: MemoryFiles, op: FileOp) -> object:
        return FileFailure(errno.EROFS, "read-only file system") if isinstance(op, Unlink) else honest(files, op)

    monkeypatch.setattr(MemoryFiles, "_do", refuse)
    world.turn(world.node.tasks.on_disk_failed)
    assert world.node.state == "failed"
    assert errors_of(world) == ["the data folder /data cannot be used: read-only file system"]


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


class Scarce(MemoryFiles):
    """Every other operation on files finds no descriptor."""

    asked = 0

    def _do(self, op: FileOp) -> object:
        if isinstance(op, Append | Sync | SyncDir | Read):
            self.asked += 1
            if self.asked % 2:
                return FileFailure(errno.EMFILE, "too many open files")
        return super()._do(op)


@pytest.mark.parametrize("delay", [None, Random(1)])
def test_what_finds_no_descriptor_is_asked_for_again(delay: Random | None) -> None:
    files = Scarce(delay=delay)
    tasks, waiting, outcomes = Tasks(files), list[Callable[[], None]](), list[object]()
    tasks.later = waiting.append
    failed = list[int]()
    tasks.on_disk_failed = lambda: failed.append(1)
    names = [File(f"/{number}") for number in range(5)]

    def steps() -> Steps[list[object]]:
        yield Append(names[0], b"first")
        yield Together([Append(file, b"x") for file in names])
        yield Together([Sync(file) for file in names])
        first: object = yield Read(names[0], 0, 9)
        last: object = yield Read(names[-1], 0, 9)
        return [first, last]

    tasks.run(steps(), outcomes.append)
    while not outcomes:
        files.finish_all()
        for act in [waiting.pop(0) for _ in list(waiting)]:
            act()
    assert outcomes == [[b"firstx", b"x"]]
    assert all(files.disk.names[file.path].synced for file in names)
    assert not failed
    assert not tasks.running


def test_a_node_outlives_a_lack_of_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.create("t", flush_messages="1")
    client = world.client()
    monkeypatch.setattr(world.files, "sync_failure", FileFailure(errno.EMFILE, "too many open files"))
    client.send(produce("t", b"a"), 9)
    world.pass_time(10 * MEANS_RETRY_MS)
    assert world.node.state == "running"
    assert not world.node.lineage.is_doubtful
    monkeypatch.undo()
    world.pass_time(2 * MEANS_RETRY_MS)
    (answer,) = client.replies()
    assert outcome(answer) == (0, 0)
    assert not errors_of(world)


def test_what_is_created_on_a_full_disk_is_created_once_and_the_disk_is_named_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The metadata log still has room in its file, and the folder of a new partition finds none."""
    world = World()
    honest = MemoryFiles._do

    def refuse(files: MemoryFiles, op: FileOp) -> object:
        return FileFailure(errno.ENOSPC, "no space left") if isinstance(op, MakeDir) else honest(files, op)

    monkeypatch.setattr(MemoryFiles, "_do", refuse)
    world.files.space_bytes = 1 << 30
    world.pass_time(DISK_CHECK_INTERVAL_MS)
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    answer = world.client().ask(CreateTopicsRequest(topics=[topic], timeout_ms=1000))
    assert answer.topics[0].error_code == ErrorCode.NONE, "it is decided: who asked again would hear that it exists"
    world.pass_time(3 * AGAIN_MS)
    assert [level for level, _ in world.notes if level != "info"] == ["warning"], "the disk is full"
    monkeypatch.undo()
    world.files.space_bytes = None
    world.pass_time(AGAIN_MS)
    assert outcome(world.client().ask(produce("t", b"a"), 9)) == (0, 0)
