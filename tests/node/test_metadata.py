"""The metadata path: what was committed is there after a restart, and nothing else."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import FileFailure, Steps
from penstock.core.metadata.features import METADATA_LEVEL, METADATA_VERSION
from penstock.core.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE, Image
from penstock.core.node.housekeeping import Housekeeping
from penstock.core.wire.api.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.core.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest
from penstock.core.wire.api.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from penstock.core.wire.stored.cluster_metadata import FeatureLevelRecord
from tests.log.memory_files import Inode
from tests.node.world import World, fetch, found_in, produce, values_of

SET, DELETE = 0, 1


def alter(world: World, kind: int, name: str, operation: int = SET, **configs: str | None) -> int:
    changes = [
        AlterableConfig(name=key.replace("_", "."), config_operation=operation, value=value)
        for key, value in configs.items()
    ]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=changes)
    answer = world.client().ask(IncrementalAlterConfigsRequest(resources=[resource]))
    return int(answer.responses[0].error_code)


def delete(world: World, name: str) -> int:
    answer = world.client().ask(DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=1000))
    return int(answer.responses[0].error_code)


def add_partitions(world: World, name: str, count: int) -> int:
    wanted = CreatePartitionsTopic(name=name, count=count, assignments=None)
    answer = world.client().ask(CreatePartitionsRequest(topics=[wanted], timeout_ms=1000))
    return int(answer.results[0].error_code)


def content(image: Image) -> dict[str, Any]:
    """An image as plain values, without what every start adds to it."""
    return {
        "topics": {
            name: (topic.id, [topic.partition(index) for index in range(len(topic))])
            for name, topic in image.topics.items()
        },
        "names": dict(image.names.items()),
        "configs": {key: value for key, value in image.configs.items() if value},
        "features": image.features,
        "next_producer_id": image.next_producer_id,
    }


@pytest.mark.parametrize("clean", [True, False])
def test_a_restart_folds_the_same_image(clean: bool) -> None:
    world = World()
    world.create("kept", 3, retention_ms="1000")
    world.create("deleted", 2)
    world.create("again", 2)
    assert add_partitions(world, "kept", 5) == 0
    assert alter(world, TOPIC_RESOURCE, "kept", cleanup_policy="compact") == 0
    assert alter(world, BROKER_RESOURCE, "", log_cleaner_backoff_ms="1234") == 0
    assert delete(world, "deleted") == 0
    assert delete(world, "again") == 0
    world.create("again", 1)
    before = content(world.node.image)
    world.restart(clean=clean)
    assert content(world.node.image) == before
    assert sorted((each.topic, each.index) for each in world.node.replicas) == [
        ("again", 0),
        *(("kept", index) for index in range(5)),
    ]
    assert not [path for path in world.files.paths() if "deleted-" in path], "the folders of a deleted topic go"


def test_records_of_a_topic_do_not_reach_the_one_created_after_it() -> None:
    world = World()
    world.create("t")
    client = world.client()
    client.ask(produce("t", b"old"), 9)
    assert delete(world, "t") == 0
    world.create("t")
    client.ask(produce("t", b"new"), 9)
    for clean in (True, False):
        world.restart(clean=clean)
        answer = world.client().ask(fetch({("t", 0): 0}), 11)
        assert values_of(found_in(answer)["t", 0].records) == [b"new"]


def test_a_change_is_answered_once_it_is_synced_and_acted_upon() -> None:
    world = World()
    client = world.client()
    world.hold()
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    client.send(CreateTopicsRequest(topics=[topic], timeout_ms=1000))
    while not (replies := client.replies()):
        assert world.node.replicas.get("t", 0) is None or world.node.quorum.log.synced_offset > 0
        world.finish_one()
    assert replies[0].topics[0].error_code == 0
    assert world.node.replicas.get("t", 0) is not None
    assert world.node.quorum.log.synced_offset == world.node.quorum.end_offset


def test_decisions_see_each_other_before_they_are_committed() -> None:
    world = World()
    first, second = world.client(), world.client()
    world.hold()
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    first.send(CreateTopicsRequest(topics=[topic], timeout_ms=1000))
    second.send(CreateTopicsRequest(topics=[topic], timeout_ms=1000))
    world.release()
    assert [reply.topics[0].error_code for reply in first.replies()] == [0]
    assert [reply.topics[0].error_code for reply in second.replies()] == [ErrorCode.TOPIC_ALREADY_EXISTS]


def test_a_disk_that_does_not_sync_refuses_changes() -> None:
    world = World()
    world.files.sync_failure = FileFailure(5, "broken")
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    answer = world.client().ask(CreateTopicsRequest(topics=[topic], timeout_ms=1000))
    assert answer.topics[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_full_disk_refuses_a_change_and_forgets_it() -> None:
    world = World()
    world.files.space_bytes = 0
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=1000)
    first, second = world.client(), world.client()
    first.send(request)
    second.send(request)
    world.settle()
    codes = [reply.topics[0].error_code for client in (first, second) for reply in client.replies()]
    assert len(codes) == 2
    assert codes[0] == ErrorCode.KAFKA_STORAGE_ERROR
    assert codes[1] in (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.TOPIC_ALREADY_EXISTS)
    assert world.client().ask(request).topics[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    world.files.space_bytes = None
    world.settle()
    world.create("t")
    world.client().ask(produce("t", b"a"), 9)
    before = content(world.node.image)
    world.restart(clean=False)
    assert content(world.node.image) == before


# The folder


def start_after(change: Any, **settings: str) -> World:
    """A world whose disk was changed between two runs."""
    world = World()
    world.stop()
    change(world)
    later = World(settings, disk=world.disk, start=False)
    later.start()
    return later


def meta(world: World, old: bytes, new: bytes) -> None:
    inode = world.disk.names["/data/meta.properties"]
    assert old in inode.live
    inode.live[:] = inode.live.replace(old, new)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda world: meta(world, b"version=1", b"version=7"), "format version 7, this Penstock reads up to 1"),
        (lambda world: meta(world, b"node.id=1", b"node.id=9"), "belongs to node 9, but node.id is 1"),
        (lambda world: meta(world, b"version=1", b"nonsense"), "meta.properties is damaged"),
    ],
)
def test_a_folder_that_is_not_ours_is_refused_in_one_line(change: Any, reason: str) -> None:
    world = start_after(change)
    assert world.node.state == "failed"
    assert world.node.failure is not None
    assert reason in world.node.failure
    assert "\n" not in world.node.failure


def test_a_folder_with_strangers_is_refused_and_left_alone() -> None:
    world = World(start=False)
    world.disk.folders.add("/data")
    world.disk.names["/data/letters.txt"] = Inode(b"dear diary")
    world.start()
    assert world.node.state == "failed"
    assert "holds 'letters.txt' but no meta.properties" in (world.node.failure or "")
    assert world.files.paths() == ["/data/letters.txt"]


def test_metadata_of_a_newer_level_is_refused_in_one_line() -> None:
    world = World()
    done: list[ErrorCode] = []
    newer = FeatureLevelRecord(name=METADATA_VERSION, feature_level=METADATA_LEVEL + 1)
    world.turn(lambda: world.node.submit([newer], done.append))
    world.settle()
    assert done == [ErrorCode.NONE]
    world.stop()
    later = World(disk=world.disk, start=False)
    later.start()
    assert later.node.state == "failed"
    assert f"the metadata is at level {METADATA_LEVEL + 1}" in (later.node.failure or "")
    assert "\n" not in (later.node.failure or "")


def test_the_same_folder_keeps_its_cluster_id() -> None:
    world = World()
    cluster = world.node.meta.cluster_id
    world.restart()
    assert world.node.meta.cluster_id == cluster


# Producer ids


def test_producer_ids_never_repeat() -> None:
    world = World()
    given: list[int] = []
    for clean in (True, False, True):
        client = world.client()
        for _ in range(5):
            answer = client.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000))
            assert answer.error_code == 0
            given.append(answer.producer_id)
        world.restart(clean=clean)
    assert len(set(given)) == len(given)
    assert given == sorted(given)


def test_ids_asked_for_while_a_block_is_on_its_way_differ_too() -> None:
    world = World()
    clients = [world.client() for _ in range(3)]
    world.hold()
    for client in clients:
        client.send(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000))
    world.release()
    ids = [client.replies()[0].producer_id for client in clients]
    assert len(set(ids)) == 3


# Settings that change while the node runs


def test_dynamic_broker_settings_act_at_once_and_after_a_restart() -> None:
    world = World()
    world.create("t")
    assert alter(world, BROKER_RESOURCE, "1", max_connections="3", message_max_bytes="1000") == 0
    for _ in range(2):
        partition = world.node.replicas.get("t", 0)
        assert partition is not None
        assert partition.rules.max_message_bytes == 1000
        assert world.node.limits.connections_max == 3
        world.restart()
    assert alter(world, BROKER_RESOURCE, "1", DELETE, max_connections=None, message_max_bytes=None) == 0
    partition = world.node.replicas.get("t", 0)
    assert partition is not None
    assert partition.rules.max_message_bytes > 1000


def test_the_cleaner_takes_a_new_pause_without_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []

    def look(self: Housekeeping) -> Steps[None]:
        looks.append(world.now_ms)
        yield from ()

    monkeypatch.setattr(Housekeeping, "_clean", look)
    world = World({"log.cleaner.backoff.ms": "60000"})
    assert alter(world, BROKER_RESOURCE, "", log_cleaner_backoff_ms="500") == 0
    world.pass_time(62_000)
    assert [after - before for before, after in pairwise(looks)] == [500] * 4


def test_an_invalid_broker_setting_is_refused() -> None:
    world = World()
    assert alter(world, BROKER_RESOURCE, "1", max_connections="many") != 0


def test_topic_settings_act_on_what_comes_after() -> None:
    world = World()
    world.create("t")
    client = world.client()
    assert alter(world, TOPIC_RESOURCE, "t", max_message_bytes="100") == 0
    answer = client.ask(produce("t", bytes(500)), 9)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.MESSAGE_TOO_LARGE
    latest = ListOffsetsTopic(name="t", partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
    assert client.ask(ListOffsetsRequest(topics=[latest])).topics[0].partitions[0].offset == 0


# Connections


def test_limits_on_connections() -> None:
    world = World(
        {"max.connections": "3", "max.connections.per.ip": "2", "max.connections.per.ip.overrides": "10.0.0.9:1"}
    )
    first, _ = world.client("10.0.0.1"), world.client("10.0.0.1")
    assert world.node.connect("10.0.0.1", 1) is None
    assert world.node.connect("10.0.0.9", 1) is not None
    assert world.node.connect("10.0.0.2", 1) is None
    first.close()
    assert world.node.connect("10.0.0.9", 1) is None
    assert world.node.connect("10.0.0.2", 1) is not None
    assert world.node.metrics.connections_refused == 3


def test_idle_connections_are_closed_and_waiting_ones_are_not() -> None:
    world = World({"connections.max.idle.ms": "10000"})
    world.create("t")
    idle, waiting, busy = world.client(), world.client(), world.client()
    waiting.send(fetch({("t", 0): 0}, max_wait_ms=60_000), 11)
    for _ in range(6):
        world.pass_time(2_000)
        busy.ask(fetch({("t", 0): 0}), 11)
    assert idle.connection.closing
    assert not waiting.connection.closing
    assert not busy.connection.closing
