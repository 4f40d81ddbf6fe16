"""The only voter: it leads at once, keeps its metadata in snapshots, and opens what older versions have left."""

from __future__ import annotations

from random import Random

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.framing import encode_record
from penstock.core.metadata.image import Image
from penstock.core.metadata.storage import Meta, encode_meta, uuid_text
from penstock.core.node.quorum import state_file
from penstock.core.raft.ids import TOPIC
from penstock.core.records.build import build_batch
from penstock.core.wire.api.api_versions import ApiVersionsRequest
from penstock.core.wire.api.describe_quorum import DescribeQuorumRequest
from penstock.core.wire.api.describe_quorum import RequestPartitionData as DescribedPartition
from penstock.core.wire.api.describe_quorum import RequestTopicData as DescribedTopic
from penstock.core.wire.api.vote import RequestPartitionData, RequestTopicData, VoteRequest
from penstock.core.wire.stored.cluster_metadata import (
    FeatureLevelRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from tests.log.memory_files import Disk, Inode
from tests.node.world import Client, World

FOLDER = f"/data/{TOPIC}-0"
SMALL = {"metadata.log.max.record.bytes.between.snapshots": "2000"}


def names(world: World, ending: str) -> list[str]:
    return sorted(path for path in world.files.paths() if path.startswith(FOLDER) and path.endswith(ending))


def shape(image: Image) -> dict[str, tuple[bytes, int]]:
    return {topic.name: (topic.id, len(topic)) for topic in image.topics.values()}


def on_controllers(world: World) -> Client:
    connection = world.node.connect("10.0.0.9", 1, "CONTROLLER")
    assert connection is not None
    world.clients[connection] = Client(world, connection)
    return world.clients[connection]


def test_it_leads_when_it_starts_without_waiting_for_any_deadline() -> None:
    world = World()
    assert world.node.quorum.leads
    assert world.node.quorum.leader_id == world.node.node_id
    first = world.node.quorum.epoch
    world.restart(clean=False)
    assert world.node.quorum.leads
    assert world.node.quorum.epoch > first


def test_its_vote_lasts_before_it_serves() -> None:
    world = World()
    world.disk.lose_power(Random(3))
    saved = state_file.decode(world.files.content(f"{FOLDER}/{state_file.FILE}"))
    assert saved.leader_id == 1
    assert saved.epoch == world.node.quorum.epoch


@pytest.mark.parametrize("clean", [True, False])
def test_snapshots_take_the_place_of_the_log(clean: bool) -> None:
    world = World(SMALL)
    for number in range(40):
        world.create(f"topic-{number}", partitions=3)
    kept = names(world, ".checkpoint")
    assert len(kept) == 2
    assert world.node.quorum.log.start_offset == int(kept[0].rpartition("/")[2][:20])
    assert world.node.quorum.log.segments[0].base_offset > 0
    before = shape(world.node.image)
    world.restart(clean=clean)
    assert shape(world.node.image) == before
    assert len(before) == 40
    assert world.node.quorum.uncommitted_image.offset == world.node.quorum.end_offset - 1


def test_a_snapshot_is_made_some_time_after_something_new() -> None:
    world = World({"metadata.log.max.snapshot.interval.ms": "60000"})
    world.create("t")
    assert names(world, ".checkpoint") == []
    world.pass_time(61_000)
    assert len(names(world, ".checkpoint")) == 1
    world.pass_time(200_000)
    assert len(names(world, ".checkpoint")) == 1, "nothing was new"


@pytest.mark.parametrize("operations", range(0, 60, 3))
def test_power_loss_while_a_snapshot_is_made(operations: int) -> None:
    world = World(SMALL)
    for number in range(6):
        world.create(f"topic-{number}", partitions=3)
    before = shape(world.node.image)
    world.hold()
    world.node.quorum._snapshotting._is_old = True
    world.turn(lambda: world.node.quorum._snapshotting.consider(world.node.quorum.committed_image))
    for _ in range(operations):
        if world.files.pending:
            world.finish_one()
    world.disk.lose_power(Random(operations))
    world.restart(clean=False)
    assert shape(world.node.image) == before
    assert names(world, ".part") == []


def test_a_folder_of_the_quorum_of_one_opens() -> None:
    """What was written before there was an election: records of epoch 1 and no state."""
    topic_id = bytes(range(16))
    records = [
        FeatureLevelRecord(name="metadata.version", feature_level=30),
        RegisterBrokerRecord(broker_id=1, incarnation_id=bytes(16), broker_epoch=0, fenced=False),
        TopicRecord(name="t", topic_id=topic_id),
        PartitionRecord(
            partition_id=0, topic_id=topic_id, replicas=[1], isr=[1], leader=1, leader_epoch=0, partition_epoch=0
        ),
    ]
    values = [(None, encode_record(record), (), 5) for record in records]
    batch = build_batch(values[:2], leader_epoch=1) + build_batch(values[2:], base_offset=2, leader_epoch=1)
    disk = Disk()
    for name, content in (
        ("/data/meta.properties", encode_meta(Meta(1, uuid_text(bytes(16)), 1, uuid_text(bytes(range(16)))))),
        (f"{FOLDER}/{0:020d}.log", bytes(batch)),
    ):
        disk.names[name] = disk.synced_names[name] = Inode(content)
    for folder in ("/data", FOLDER):
        disk.folders.add(folder)
        disk.synced_folders.add(folder)
    world = World(disk=disk)
    assert shape(world.node.image) == {"t": (topic_id, 1)}
    assert world.node.quorum.epoch == 2
    world.restart()
    assert shape(world.node.image) == {"t": (topic_id, 1)}


def test_a_damaged_vote_is_not_given_again() -> None:
    world = World()
    world.stop()
    world.disk.names[f"{FOLDER}/{state_file.FILE}"].live[:] = b"{"
    world._new_process()
    world.start()
    assert world.node.state == "failed"
    assert "quorum-state" in (world.node.failure or "")


def test_the_quorum_is_described() -> None:
    world = World()
    request = DescribeQuorumRequest(
        topics=[DescribedTopic(topic_name=TOPIC, partitions=[DescribedPartition(partition_index=0)])]
    )
    for client in (world.client(), on_controllers(world)):
        answer = client.ask(request)
        (partition,) = answer.topics[0].partitions
        assert (answer.error_code, partition.error_code, partition.leader_id) == (0, 0, 1)
        assert partition.high_watermark == world.node.quorum.end_offset
        assert [voter.replica_id for voter in partition.current_voters] == [1]
        assert [(node.node_id, node.listeners[0].name) for node in answer.nodes] == [(1, "CONTROLLER")]


def test_each_listener_serves_its_own_apis() -> None:
    world = World()
    request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
    to_brokers = {key.api_key for key in world.client().ask(request).api_keys}
    to_controllers = {key.api_key for key in on_controllers(world).ask(request).api_keys}
    produce, fetch, vote, describe_quorum = 0, 1, 52, 55
    assert {produce, fetch, describe_quorum} <= to_brokers
    assert vote not in to_brokers
    assert {fetch, vote, describe_quorum} <= to_controllers
    assert produce not in to_controllers


def test_a_vote_is_asked_of_controllers_only() -> None:
    world = World()
    partition = RequestPartitionData(partition_index=0, replica_epoch=0, replica_id=2, pre_vote=True)
    request = VoteRequest(topics=[RequestTopicData(topic_name=TOPIC, partitions=[partition])])
    answer = on_controllers(world).ask(request)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.FENCED_LEADER_EPOCH
    client = world.client()
    client.send(request)
    assert client.connection.closing
