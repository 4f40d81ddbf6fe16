"""What is found in the metadata log's folder after a crash, or after somebody has been there."""

from __future__ import annotations

from penstock.core.node.quorum.synced_note import FILE
from penstock.core.records.batch import iterate_headers, stamp
from tests.node.quorum.test_alone import FOLDER, SMALL, names, shape
from tests.node.world import World


def made() -> World:
    """A node with two snapshots and some log behind the newer one, stopped."""
    world = World(SMALL)
    for number in range(30):
        world.create(f"topic-{number}", partitions=3)
    world.stop()
    assert len(names(world, ".checkpoint")) == 2
    return world


def end_of(path: str) -> int:
    return int(path.removeprefix(f"{FOLDER}/")[:20])


def begin_again(world: World) -> None:
    world._new_process()
    world.start()


def remove(world: World, *paths: str) -> None:
    for path in paths:
        del world.disk.names[path]


def test_a_snapshot_beyond_the_log_replaces_it() -> None:
    """It came from a leader, and the machine stopped before the log was emptied for it."""
    world = made()
    remove(world, *names(world, ".log"), *names(world, "index"), f"{FOLDER}/{FILE}")
    newest = end_of(names(world, ".checkpoint")[-1])
    begin_again(world)
    assert world.node.state == "running"
    assert world.node.quorum.log.start_offset == newest
    assert world.node.quorum.end_offset > newest
    assert set(shape(world.node.image)) < {f"topic-{number}" for number in range(30)}


def test_a_log_that_contradicts_the_newest_snapshot_gives_way() -> None:
    """Its records are of other epochs: they were never committed, or the leader would not have sent the snapshot."""
    world = made()
    for path in names(world, ".log"):
        data = world.disk.names[path].live
        for position, header in iterate_headers(bytes(data)):
            view = memoryview(data)[position : position + header.size]
            stamp(view, header.base_offset, 0)
            view.release()
    remove(world, f"{FOLDER}/leader-epoch-checkpoint")
    newest = end_of(names(world, ".checkpoint")[-1])
    begin_again(world)
    assert world.node.state == "running"
    assert world.node.quorum.log.start_offset == newest


def test_a_folder_without_its_snapshots_is_refused() -> None:
    world = made()
    remove(world, *names(world, ".checkpoint"))
    begin_again(world)
    assert world.node.state == "failed"
    assert "lost its snapshots" in (world.node.failure or "")


def test_a_damaged_snapshot_is_refused_in_one_line() -> None:
    world = made()
    newest = names(world, ".checkpoint")[-1]
    for path in names(world, ".checkpoint"):
        world.disk.names[path].live[-3] ^= 1
    begin_again(world)
    assert world.node.state == "failed"
    assert newest in (world.node.failure or "")
    assert "\n" not in (world.node.failure or "")


def test_what_was_being_written_is_removed() -> None:
    world = made()
    part = f"{FOLDER}/{999:020d}-{9:010d}.checkpoint.part"
    world.disk.names[part] = world.disk.names[names(world, ".checkpoint")[0]]
    begin_again(world)
    assert part not in world.files.paths()
    assert world.node.state == "running"
