"""Every broker knows the schemas, whoever has the topic in which they are."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.node.schemas.knowledge import SchemaKnowledge
from penstock.core.node.schemas.reader import SchemaReader
from penstock.core.records.build import build_batch
from penstock.core.wire.api.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from penstock.core.wire.api.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from penstock.sim.cluster import ClusterNodes
from penstock.sim.scheduler import SECOND
from tests.node.towns import Town
from tests.schema_topic.records import Record, schema

NAMED = b"\0\0\0\0\7payload"
HERE, THERE, OTHER = 1, 2, 3
"""The machine that leads the topic of schemas, one that leads a topic that demands them, and another one."""


@pytest.fixture
def town() -> Town:
    town = Town(3, ClusterNodes(3))
    town.boot(1, 2, 3)
    create(town, "_schemas", [HERE])
    create(town, "t", [THERE], "id")
    return town


def create(town: Town, name: str, replicas: list[int], validation: str = "off", on_failure: str = "reject") -> None:
    configs = {"penstock.value.schema.validation": validation, "penstock.schema.validation.on.failure": on_failure}
    topic = CreatableTopic(
        name=name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=replicas)],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )
    answer = town.ask(HERE, CreateTopicsRequest(topics=[topic], timeout_ms=20_000))
    assert answer.topics[0].error_code == 0, answer
    town.wait(lambda: all(town.node(each).image.topic(name) is not None for each in (1, 2, 3)))
    town.wait(lambda: town.node(replicas[0]).replicas.get(name, 0) is not None)


def produce(town: Town, machine: int, topic: str, *records: tuple[bytes | None, bytes | None]) -> Any:
    now_ms = town.world.scheduler.now_us // 1000
    batch = bytes(build_batch([(key, value, (), now_ms) for key, value in records]))
    named = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch)])
    known = town.node(machine).image.topic(topic)
    named.topic_id = bytes(16) if known is None else known.id
    answer = town.ask(machine, ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[named]))
    return answer.responses[0].partition_responses[0]


def register(town: Town, *records: Record) -> None:
    assert produce(town, HERE, "_schemas", *records).error_code == 0


def code(town: Town) -> ErrorCode:
    return ErrorCode(produce(town, THERE, "t", (None, NAMED)).error_code)


def reader_of(town: Town) -> SchemaReader:
    schemas = town.node(THERE).replicas.schemas
    assert isinstance(schemas, SchemaKnowledge)
    return schemas.reader


def test_a_node_that_does_not_have_the_topic_fetches_it(town: Town) -> None:
    register(town, schema("t-value", 1, 7))
    assert code(town) is ErrorCode.NONE
    register(town, schema("t-value", 1, 7, deleted=True))
    town.pass_time(0.2)
    assert code(town) is ErrorCode.INVALID_RECORD


def test_what_is_not_there_may_be_under_way_for_a_second(town: Town) -> None:
    scheduler = town.world.scheduler
    began_us = scheduler.now_us
    refused = produce(town, THERE, "t", (None, NAMED))
    assert refused.error_code == ErrorCode.INVALID_RECORD
    assert scheduler.now_us - began_us >= 1_000_000
    register(town, schema("t-value", 1, 7))
    assert code(town) is ErrorCode.NONE


def test_a_node_that_cannot_reach_the_topic_says_come_again(town: Town) -> None:
    """It knows what it knew; of the rest it cannot say that it is not there."""
    register(town, schema("t-value", 1, 7))
    assert code(town) is ErrorCode.NONE
    town.world.sites[HERE].crash(10**9)
    town.pass_time(3)
    assert code(town) is ErrorCode.NONE
    other = produce(town, THERE, "t", (None, b"\0\0\0\0\x08"))
    assert other.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert other.error_message == "this node has not read all schemas yet"


def test_records_that_are_gone_are_folded_no_more(town: Town) -> None:
    """Whoever has read them already keeps what it read; the next process begins with what is left."""
    register(town, schema("t-value", 1, 7))
    register(town, schema("t-value", 2, 8, '"int"'))
    assert code(town) is ErrorCode.NONE
    cut = DeleteRecordsTopic(name="_schemas", partitions=[DeleteRecordsPartition(partition_index=0, offset=1)])
    town.ask(HERE, DeleteRecordsRequest(topics=[cut], timeout_ms=5_000))
    town.world.sites[THERE].crash(1_000)
    town.pass_time(0.1)
    town.wait(lambda: town.is_running(THERE))
    town.wait(lambda: reader_of(town).is_complete)
    town.wait(lambda: (known := town.node(THERE).replicas.get("t", 0)) is not None and known.leads)
    reader = reader_of(town)
    assert (reader.table.by_id(7), reader.next_offset) == (None, 2)
    assert reader.table.by_id(8) is not None


def test_another_topic_of_the_name_is_another_one(town: Town) -> None:
    register(town, schema("t-value", 1, 7))
    assert code(town) is ErrorCode.NONE
    town.ask(HERE, DeleteTopicsRequest(topics=[DeleteTopicState(name="_schemas")], timeout_ms=5_000))
    town.pass_time(1)
    create(town, "_schemas", [HERE])
    town.pass_time(1)
    assert code(town) is ErrorCode.INVALID_RECORD


def test_dead_letters_go_to_whoever_leads_their_topic(town: Town) -> None:
    register(town, schema("t-value", 1, 7))
    create(town, "u.dlq", [HERE])
    create(town, "u", [THERE], "id", "dlq")
    register(town, schema("u-value", 1, 7))
    answer = produce(town, THERE, "u", (None, NAMED), (None, b"plain"), (None, NAMED))
    assert (answer.error_code, answer.base_offset) == (0, 0)
    letters = town.node(HERE).replicas.get("u.dlq", 0)
    assert letters is not None
    assert letters.high_watermark == 1


def test_dead_letters_wait_for_whoever_leads_their_topic(town: Town) -> None:
    create(town, "u.dlq", [OTHER])
    create(town, "u", [THERE], "id", "dlq")
    register(town, schema("u-value", 1, 7))
    assert produce(town, THERE, "u", (None, NAMED)).error_code == 0
    town.world.sites[OTHER].crash(3 * SECOND)
    began_us = town.world.scheduler.now_us
    assert produce(town, THERE, "u", (None, NAMED), (None, b"plain")).error_code == 0
    assert town.world.scheduler.now_us - began_us > 2 * SECOND
