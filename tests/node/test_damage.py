"""A node one of whose logs is damaged: that partition is offline and named, the others are served."""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.node.health_check import complaints
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.node.test_acks import outcome
from tests.node.test_disk_trouble import errors_of
from tests.node.world import World, fetch, found_in, produce, values_of

FILE = "/data/t-0/00000000000000000000.log"


def world_with_damage() -> World:
    """Of two partitions the first one lacks its last bytes after a clean stop."""
    world = World()
    world.create("t", 2)
    client = world.client()
    for partition in (0, 0, 1):
        assert outcome(client.ask(produce("t", b"a", partition=partition), 9))[0] == 0
    world.stop()
    del world.disk.names[FILE].live[-5:]
    world.restart(clean=False)
    return world


def test_a_damaged_partition_is_offline_and_the_rest_is_served() -> None:
    world = world_with_damage()
    client = world.client()
    assert world.node.state == "running"
    assert outcome(client.ask(produce("t", b"b"), 9))[0] == ErrorCode.KAFKA_STORAGE_ERROR
    assert outcome(client.ask(produce("t", b"b", partition=1), 9))[0] == 0
    found = found_in(client.ask(fetch({("t", 0): 0, ("t", 1): 0}), 11))
    assert found["t", 0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert values_of(found["t", 1].records) == [b"a", b"b"]


def test_damage_is_named_once() -> None:
    world = world_with_damage()
    (text,) = errors_of(world)
    assert text.startswith(f"t-0 is offline: damaged in {FILE} at byte ")
    assert "offsets 1 to 1 " in text
    assert "penstock storage repair" in text
    assert list(complaints(world.node)) == [text.partition(";")[0]]


def test_damage_stays_offline_through_another_stop() -> None:
    world = world_with_damage()
    for clean in (True, False):
        world.restart(clean=clean)
        assert list(world.node.replicas.offline) == [("t", 0)]


def test_a_damaged_partition_can_be_deleted() -> None:
    world = world_with_damage()
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1000)
    assert world.client().ask(request, 6).responses[0].error_code == 0
    world.settle()
    assert not world.node.replicas.offline
    assert not [path for path in world.disk.names if path.startswith("/data/t-")]
    world.create("t")
    assert outcome(world.client().ask(produce("t", b"c"), 9)) == (0, 0)
