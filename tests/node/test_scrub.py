"""The scrub finds what nobody reads, says so once, and leaves everything else as it is."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.log.damage import DAMAGE_FILE
from penstock.core.node.health_check import complaints
from penstock.core.node.scrub import PASS_INTERVAL_MS
from tests.node.test_acks import outcome
from tests.node.test_disk_trouble import errors_of
from tests.node.world import World, fetch, found_in, produce, values_of

FOLDER = "/data/t-0"
FIRST = f"{FOLDER}/{0:020d}.log"


def world_with_segments(*, is_one: bool = False) -> World:
    """Three segments with one batch each, the first two sealed; or all batches in the active one."""
    world = World()
    world.create("t")
    client, log = world.client(), world.node.replicas.get("t", 0).log
    for value in (b"a", b"b", b"c"):
        if log.end_offset and not is_one:
            world.turn(lambda: log.roll(world.now_ms))
            world.settle()
        assert outcome(client.ask(produce("t", value), 9))[0] == 0
    return world


def let_days_pass(world: World, count: int) -> None:
    """Without all that a node does every second."""
    for _ in range(count):
        world.now_ms += PASS_INTERVAL_MS
        world.turn(world.node.tick)
        world.settle()
        world.pass_time(2_000)


def test_what_is_whole_is_read_once_a_day() -> None:
    world = world_with_segments()
    let_days_pass(world, 1)
    once = world.node.metrics.scrubbed_bytes
    assert once > 0
    let_days_pass(world, 1)
    assert world.node.metrics.scrubbed_bytes == 2 * once == 4 * len(world.files.content(FIRST))
    assert not errors_of(world)


def test_damage_is_named_once_and_the_rest_is_served() -> None:
    world = world_with_segments()
    live = world.disk.names[FIRST].live
    live[-1] ^= 1
    let_days_pass(world, 3)
    (text,) = errors_of(world)
    assert text.startswith(f"t-0 is damaged in {FIRST} at byte 0: offsets 0 to 0 ({len(live)} bytes)")
    assert "penstock storage repair" in text
    assert list(complaints(world.node)) == [text.partition(";")[0]]
    # There is no other replica, so that the next start is not made to leave it out.
    assert f"{FOLDER}/{DAMAGE_FILE}" not in world.disk.names
    found = found_in(world.client().ask(fetch({("t", 0): 1}), 11))["t", 0]
    assert values_of(found.records) == [b"b"]
    live[-1] ^= 1
    let_days_pass(world, 1)
    assert not list(complaints(world.node))


def test_an_index_is_made_anew() -> None:
    world = world_with_segments()
    path = f"{FOLDER}/{0:020d}.timeindex"
    index = world.files.content(path)
    assert index
    world.disk.names[path].live[3] ^= 1
    let_days_pass(world, 2)
    assert world.files.content(path) == index
    assert world.node.metrics.indexes_rebuilt == 1
    assert not errors_of(world)


def test_who_reads_damage_hears_so_and_keeps_the_connection() -> None:
    world = world_with_segments()
    world.restart()
    # The magic byte: the reader cannot tell where the next batch begins.
    world.disk.names[FIRST].live[16] = 7
    client = world.client()
    for _ in range(2):
        found = found_in(client.ask(fetch({("t", 0): 0}), 11))["t", 0]
        assert found.error_code == ErrorCode.CORRUPT_MESSAGE
    # The scrub looks there at once, and tells health and metrics.
    world.pass_time(2_000)
    assert len(list(complaints(world.node))) == 1
    assert values_of(found_in(client.ask(fetch({("t", 0): 1}), 11))["t", 0].records)[:1] == [b"b"]
    assert len(errors_of(world)) == 1


@pytest.mark.parametrize(("at", "byte"), [(16, 7), (6, 1)], ids=["magic", "offset"])
def test_an_active_segment_in_which_a_reader_met_damage_is_sealed_and_looked_through(at: int, byte: int) -> None:
    world = world_with_segments(is_one=True)
    world.restart()
    log = world.node.replicas.get("t", 0).log
    live = world.disk.names[FIRST].live
    live[at] = byte
    client = world.client()
    assert found_in(client.ask(fetch({("t", 0): 0}), 11))["t", 0].error_code == ErrorCode.CORRUPT_MESSAGE
    world.pass_time(3_000)
    assert [segment.base_offset for segment in log.segments] == [0, 3]
    (text,) = errors_of(world)
    assert text.startswith(f"t-0 is damaged in {FIRST} at byte 0: offsets 0 to 2 ")
    assert list(complaints(world.node)) == [text.partition(";")[0]]
    assert outcome(client.ask(produce("t", b"d"), 9)) == (0, 3)
    assert values_of(found_in(client.ask(fetch({("t", 0): 3}), 11))["t", 0].records) == [b"d"]


def test_a_suspect_that_is_deleted_is_not_waited_for() -> None:
    world = world_with_segments(is_one=True)
    world.restart()
    world.disk.names[FIRST].live[16] = 7
    log = world.node.replicas.get("t", 0).log
    assert found_in(world.client().ask(fetch({("t", 0): 0}), 11))["t", 0].error_code == ErrorCode.CORRUPT_MESSAGE
    log.is_gone = True
    world.pass_time(3_000)
    assert len(log.segments) == 1
    assert not world.node.scrub._suspects
