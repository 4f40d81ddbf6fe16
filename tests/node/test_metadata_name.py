"""The metadata log's name belongs to nobody else: no client gets a topic by it, and one in an old log opens nothing."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.log.names import METADATA_DIR, METADATA_TOPIC
from penstock.core.metadata.image import TOPIC_RESOURCE
from penstock.core.node.node import Node
from penstock.core.wire.api.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.core.wire.api.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from penstock.core.wire.api.incremental_alter_configs import AlterConfigsResource, IncrementalAlterConfigsRequest
from penstock.core.wire.api.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from penstock.core.wire.api.metadata import MetadataRequest, MetadataRequestTopic
from penstock.core.wire.stored.cluster_metadata import PartitionRecord, TopicRecord
from penstock.sim.cluster import ClusterNodes
from tests.log.helpers import NOW_MS, SMALL, TOPIC_ID, load
from tests.log.memory_files import MemoryFiles, drive
from tests.node.towns import Town
from tests.node.world import World, fetch, found_in, produce, values_of

ID = b"m" * 16
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def wanted(**fields: Any) -> CreateTopicsRequest:
    topic = CreatableTopic(name=METADATA_TOPIC, num_partitions=1, replication_factor=1)
    return CreateTopicsRequest(topics=[topic], timeout_ms=1000, **fields)


def of_an_older_version(node: Node, *replicas: int) -> None:
    """Write into the metadata log what let a client create it."""
    partition = PartitionRecord(
        topic_id=ID, partition_id=0, replicas=list(replicas), isr=list(replicas), leader=replicas[0]
    )
    node.submit([TopicRecord(name=METADATA_TOPIC, topic_id=ID), partition], lambda code: None)


@pytest.mark.parametrize("validate_only", [False, True])
def test_nobody_creates_it(validate_only: bool) -> None:
    world = World()
    answer = world.client().ask(wanted(validate_only=validate_only)).topics[0]
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert answer.error_message == "Creation of internal topic __cluster_metadata is prohibited."
    assert world.node.quorum.uncommitted_image.topic(METADATA_TOPIC) is None


def test_asking_for_its_metadata_does_not_create_it() -> None:
    world = World()
    request = MetadataRequest(topics=[MetadataRequestTopic(name=METADATA_TOPIC)], allow_auto_topic_creation=True)
    assert world.client().ask(request).topics[0].error_code == UNKNOWN
    assert world.node.quorum.uncommitted_image.topic(METADATA_TOPIC) is None
    assert not [note for note in world.notes if METADATA_TOPIC in note[1]]


def test_everybody_else_is_told_that_there_is_no_such_topic() -> None:
    client = World().client()
    answers = {
        "produce": client.ask(produce(METADATA_TOPIC, b"x"), 9).responses[0].partition_responses[0],
        "fetch": found_in(client.ask(fetch({(METADATA_TOPIC, 0): 0}), 11))[METADATA_TOPIC, 0],
        "offsets": client.ask(
            ListOffsetsRequest(
                topics=[
                    ListOffsetsTopic(
                        name=METADATA_TOPIC, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)]
                    )
                ]
            )
        )
        .topics[0]
        .partitions[0],
        "delete": client.ask(
            DeleteTopicsRequest(topics=[DeleteTopicState(name=METADATA_TOPIC)], timeout_ms=1000)
        ).responses[0],
        "delete records": client.ask(
            DeleteRecordsRequest(
                topics=[
                    DeleteRecordsTopic(
                        name=METADATA_TOPIC, partitions=[DeleteRecordsPartition(partition_index=0, offset=1)]
                    )
                ],
                timeout_ms=1000,
            )
        )
        .topics[0]
        .partitions[0],
        "partitions": client.ask(
            CreatePartitionsRequest(
                topics=[CreatePartitionsTopic(name=METADATA_TOPIC, count=2, assignments=None)], timeout_ms=1000
            )
        ).results[0],
        "settings": client.ask(
            DescribeConfigsRequest(
                resources=[DescribeConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=METADATA_TOPIC)]
            )
        ).results[0],
        "alter": client.ask(
            IncrementalAlterConfigsRequest(
                resources=[AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=METADATA_TOPIC, configs=[])]
            )
        ).responses[0],
    }
    assert {name: answer.error_code for name, answer in answers.items()} == dict.fromkeys(answers, UNKNOWN)


def test_a_topic_of_that_name_in_an_old_log_opens_nothing_and_can_be_deleted() -> None:
    world = World()
    world.create("t")
    client = world.client()
    client.ask(produce("t", b"kept"), 9)
    world.turn(lambda: of_an_older_version(world.node, 1))
    world.settle()
    for clean in (True, False):
        world.restart(clean=clean)
        assert world.node.image.topic(METADATA_TOPIC) is not None
        assert world.node.replicas.get(METADATA_TOPIC, 0) is None
    gone = DeleteTopicsRequest(topics=[DeleteTopicState(name=METADATA_TOPIC)], timeout_ms=1000)
    assert world.client().ask(gone).responses[0].error_code == 0
    assert any(METADATA_DIR + "/" in path for path in world.files.paths())
    for clean in (False, True):
        world.restart(clean=clean)
        assert sorted(world.node.image.topics) == ["t"]
        assert values_of(found_in(world.client().ask(fetch({("t", 0): 0}), 11))["t", 0].records) == [b"kept"]


def test_three_nodes_that_are_killed_after_it_was_deleted_have_all_they_had() -> None:
    town = Town(3, ClusterNodes(3, {}))
    town.boot(1, 2, 3)
    assert town.create(1, "t", 3) == 0
    assert town.create(2, METADATA_TOPIC, 3) == ErrorCode.INVALID_REQUEST
    town.wait(town.has_leader)
    of_an_older_version(town.node(town.leader), 1, 2, 3)
    town.wait(lambda: all(town.node(each).image.topic(METADATA_TOPIC) for each in (1, 2, 3)))
    gone = DeleteTopicsRequest(topics=[DeleteTopicState(name=METADATA_TOPIC)], timeout_ms=20_000)
    assert town.ask(3, gone).responses[0].error_code == 0
    town.wait(lambda: not any(town.node(each).image.topic(METADATA_TOPIC) for each in (1, 2, 3)))
    for each in (1, 2, 3):
        town.world.sites[each].crash(1_000_000)
    town.wait(lambda: not any(map(town.is_running, (1, 2, 3))))
    town.wait(lambda: all(map(town.is_running, (1, 2, 3))))
    town.wait(lambda: all(town.node(each).replicas.get("t", 1) is not None for each in (1, 2, 3)))
    assert all(sorted(town.node(each).image.topics) == ["t"] for each in (1, 2, 3))


def test_the_log_directory_refuses_whoever_would_open_it() -> None:
    files = MemoryFiles()
    directory = load(files)
    with pytest.raises(AssertionError, match="belongs to the quorum"):
        drive(files, directory.create(METADATA_TOPIC, TOPIC_ID, 0, SMALL, NOW_MS))
    log = drive(files, directory.create("t", TOPIC_ID, 0, SMALL, NOW_MS))
    log.topic = METADATA_TOPIC
    with pytest.raises(AssertionError, match="belongs to the quorum"):
        directory.discard(log)
    assert files.paths()
