"""A node alone whose metadata is not what was written: nothing that was synced is cut, and no crash stops it."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.node.quorum import synced_note
from penstock.core.node.quorum.synced_note import FILE, Noted
from tests.examples import examples
from tests.log.memory_files import drive
from tests.node.quorum.test_alone import FOLDER, SMALL, names, shape
from tests.node.world import World

TOPICS = {f"topic-{number}" for number in range(8)}


def made(settings: dict[str, str] | None = None) -> World:
    world = World(settings)
    for topic in sorted(TOPICS):
        world.create(topic)
    return world


def overwrite(world: World, path: str, position: int) -> bytes:
    """Four bytes, as a disk may give them back; what stood there."""
    data = world.disk.names[path].live
    before = bytes(data[position : position + 4])
    data[position : position + 4] = bytes(each ^ 0x5A for each in before)
    return before


def begin_again(world: World) -> None:
    world.seed += 1
    world.now_ms += 1000
    world._new_process()
    world.start()


def assert_refused(world: World, path: str) -> None:
    failure = world.node.failure or ""
    assert world.node.state == "failed"
    assert path in failure
    assert "penstock storage repair __cluster_metadata-0" in failure
    assert "\n" not in failure


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("position", [300, 600, 900])
def test_damage_refuses_the_start_and_changes_nothing(clean: bool, position: int) -> None:
    world = made()
    if clean:
        world.stop()
    (path,) = names(world, ".log")
    before = overwrite(world, path, position)
    found = bytes(world.disk.names[path].live)
    begin_again(world)
    assert_refused(world, path)
    assert bytes(world.disk.names[path].live) == found
    world.disk.names[path].live[position : position + 4] = before
    begin_again(world)
    assert world.node.state == "running"
    assert shape(world.node.image).keys() == TOPICS


@examples(25)
@given(clean=st.booleans(), power_lost=st.booleans(), share=st.floats(0, 1))
def test_damage_anywhere_is_refused_or_does_no_harm(clean: bool, power_lost: bool, share: float) -> None:
    """Not every byte of an index or of a batch's header says anything, but no topic may be missing."""
    world = made()
    world.pass_time(2_000)
    if clean:
        world.stop()
    elif power_lost:
        world.disk.lose_power(Random(1))
    (path,) = names(world, ".log")
    overwrite(world, path, int(share * (len(world.disk.names[path].live) - 4)))
    begin_again(world)
    if world.node.state == "failed":
        assert_refused(world, "at byte")
    else:
        assert shape(world.node.image).keys() == TOPICS


@pytest.mark.parametrize("power_lost", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_what_a_crash_has_torn_is_cut_and_named(power_lost: bool, seed: int) -> None:
    world = made()
    (path,) = names(world, ".log")
    whole = len(world.disk.names[path].live)
    world.hold()
    world.node.submit(world.node.cluster.lone_registration(), lambda code: None)
    if power_lost:
        world.disk.lose_power(Random(seed))
    data = world.disk.names[path].live
    del data[whole:]
    data += bytes(10 + seed)
    begin_again(world)
    assert world.node.state == "running", world.node.failure
    assert shape(world.node.image).keys() == TOPICS
    (said,) = [text for level, text in world.notes if "cut after a crash" in text]
    assert f"{path} at byte {whole}" in said


def test_a_stop_is_noted_as_a_clean_one_until_the_next_start() -> None:
    world = made()
    path = f"{FOLDER}/{FILE}"
    world.stop()
    assert Noted(world.node.quorum.end_offset, is_clean=True) == noted(world)
    begin_again(world)
    assert not noted(world).is_clean
    assert noted(world).offset == world.node.quorum.end_offset
    world.disk.names[path].live[:] = b"\n12 1 00000000\n"
    assert noted(world) == Noted()


def noted(world: World) -> Noted:
    found: Noted = drive(world.files, synced_note.read(FOLDER))
    return found


def test_an_older_snapshot_and_the_log_do_where_the_newest_is_damaged() -> None:
    world = World(SMALL)
    for topic in sorted(TOPICS):
        world.create(topic, partitions=10)
    world.stop()
    _, newest = names(world, ".checkpoint")
    overwrite(world, newest, 100)
    begin_again(world)
    assert world.node.state == "running", world.node.failure
    assert shape(world.node.image).keys() == TOPICS
    assert names(world, ".damaged") == [f"{newest}.damaged"]


def test_a_log_that_ends_early_is_damaged_too() -> None:
    world = made()
    (path,) = names(world, ".log")
    world.restart()
    world.stop()
    del world.disk.names[path].live[-300:]
    begin_again(world)
    assert world.node.state == "failed"
