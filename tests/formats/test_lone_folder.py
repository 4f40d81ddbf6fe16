"""The folder of a node of a former version, stopped or killed, is opened by today's: all is there, and nothing is
complained of."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.node.health_check import complaints
from penstock.core.records.batch import iterate_headers
from penstock.core.records.record import iterate
from penstock.core.wire.api.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from penstock.core.wire.api.describe_groups import DescribeGroupsRequest
from penstock.core.wire.api.metadata import MetadataRequest
from penstock.core.wire.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.formats.archive import SUFFIX
from tests.formats.lone_folder import (
    CHANGED,
    COMMITTED,
    COMPACTED,
    DELETED,
    FOLDER,
    GROUP,
    MEMBER,
    NOTE,
    PARTITIONS,
    SETTINGS,
    WRITTEN,
    Lone,
    unpacked,
)
from tests.log.memory_files import Disk, Inode
from tests.node.world import World, fetch, found_in, produce, values_of

ARCHIVES = sorted(FOLDER.glob(f"*{SUFFIX}"))
TOPIC_RESOURCE = 2
BYTES_MAX = 1 << 20
OFFSET_BYTES = 8
ENDS_WITH = "\0"
"""The client that committed sends its string's last byte too."""


def disk_of(folder: Path) -> Disk:
    """A folder's files as a disk that has synced them."""
    disk = Disk()
    for path in [folder, *sorted(folder.rglob("*"))]:
        name = f"/data/{path.relative_to(folder)}".removesuffix("/.")
        if path.is_dir():
            disk.folders.add(name)
        else:
            disk.names[name] = Inode(path.read_bytes())
    disk.synced_names, disk.synced_folders = dict(disk.names), set(disk.folders)
    return disk


def open_today(lone: Lone) -> World:
    """Some seconds after the former node ended."""
    world = World(SETTINGS, disk_of(lone.folder), start=False)
    world.now_ms = lone.made_ms + 5000
    world.start()
    assert world.node.state == "running", world.node.failure
    return world


def batches_of(world: World, topic: str, partition: int) -> bytes:
    """All of a partition: an answer ends where a segment does."""
    client, data, offset = world.client(), b"", 0
    while True:
        answer = client.ask(fetch({(topic, partition): offset}, partition_bytes=BYTES_MAX), 11)
        more = bytes(found_in(answer)[topic, partition].records or b"")
        if not more:
            return data
        data += more
        _, last = list(iterate_headers(more))[-1]
        offset = last.last_offset + 1


def records_of(data: bytes) -> list[tuple[int, str, str]]:
    return [
        (record.offset, bytes(record.key or b"").decode(), bytes(record.value or b"").decode())
        for position, _ in iterate_headers(data)
        for record in iterate(data, position)
    ]


def check_records(world: World, lone: Lone) -> None:
    for index in range(PARTITIONS):
        assert records_of(batches_of(world, WRITTEN, index)) == lone.records[f"{WRITTEN}-{index}"]
    # More of them may have been compacted away before the end.
    found = {key: (at, value) for at, key, value in records_of(batches_of(world, COMPACTED, 0))}
    assert found == {key: (at, value) for at, key, value in lone.records[f"{COMPACTED}-0"]}


def check_topics(world: World) -> None:
    topics = world.client().ask(MetadataRequest(topics=None), 12).topics
    assert sorted(topic.name for topic in topics) == ["__consumer_offsets", COMPACTED, WRITTEN]
    assert not [path for path in world.disk.folders if DELETED in path]
    assert not list(world.node.replicas.strays)
    key, value = CHANGED
    resource = DescribeConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=WRITTEN, configuration_keys=None)
    (described,) = world.client().ask(DescribeConfigsRequest(resources=[resource])).results
    shown = {config.name: config.value for config in described.configs}
    assert (shown[key], shown["retention.ms"]) == (value, "-1")


def check_group(world: World, lone: Lone) -> None:
    topic = OffsetFetchRequestTopics(name=WRITTEN, partition_indexes=[0])
    asked = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=[topic])])
    (committed,) = world.client().ask(asked, 8).groups[0].topics[0].partitions
    assert (committed.error_code, committed.committed_offset, (committed.metadata or "").rstrip(ENDS_WITH)) == (
        0,
        COMMITTED,
        NOTE,
    )
    (group,) = world.client().ask(DescribeGroupsRequest(groups=[GROUP])).groups
    assert group.group_state == "Stable"
    assert [(each.member_id, each.client_id) for each in group.members] == [
        (each["id"], MEMBER) for each in lone.members
    ]
    assert WRITTEN.encode() in bytes(group.members[0].member_metadata)


def check_idempotence(world: World) -> None:
    """The last batch, sent once more as a producer sends it, is recognised."""
    data = batches_of(world, WRITTEN, 0)
    position, last = list(iterate_headers(data))[-1]
    part = PartitionProduceData(index=0, records=bytes(OFFSET_BYTES) + data[position + OFFSET_BYTES :])
    topic = TopicProduceData(name=WRITTEN, partition_data=[part])
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic])
    (answer,) = world.client().ask(request, 9).responses[0].partition_responses
    assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, last.base_offset)
    assert batches_of(world, WRITTEN, 0) == data


def check_calm(world: World, *expected: str) -> None:
    said = [note for note in world.notes if "is the controller" not in note[1]]
    assert said == [("info", text) for text in expected]
    assert list(complaints(world.node)) == []
    assert not [path for path in world.files.paths() if "damaged" in path]


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda archive: archive.name.removesuffix(SUFFIX))
def test_all_is_there_and_goes_on(archive: Path) -> None:
    recovered = ("recovered 5 partition(s): the last stop was not a clean one",) if "killed" in archive.name else ()
    with unpacked(archive) as lone:
        world = open_today(lone)
    check_calm(world, *recovered)
    check_records(world, lone)
    check_topics(world)
    check_group(world, lone)
    check_idempotence(world)
    # What the older node left on its way out is gone after a while.
    world.pass_time(120_000)
    assert not [path for path in world.files.paths() if path.endswith((".deleted", ".cleaned", ".swap"))]
    written = len(lone.records[f"{WRITTEN}-0"])
    (answer,) = world.client().ask(produce(WRITTEN, b"more"), 9).responses[0].partition_responses
    assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, written)
    world.notes.clear()
    world.restart()
    check_calm(world)
    assert values_of(batches_of(world, WRITTEN, 0))[-1] == b"more"
    assert len(records_of(batches_of(world, WRITTEN, 0))) == written + 1


def test_there_is_one_of_either_end_and_they_are_small() -> None:
    assert len(ARCHIVES) >= 2
    assert all(archive.stat().st_size < 100_000 for archive in ARCHIVES)
