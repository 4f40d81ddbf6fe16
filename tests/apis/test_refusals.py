"""Every API can refuse every request, in every version, and says of each thing asked for that it was not done."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.apis.table import load_apis
from penstock.core.base.errors import ErrorCode
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.delete_groups import DeleteGroupsRequest
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.core.wire.api.describe_groups import DescribeGroupsRequest
from penstock.core.wire.api.elect_leaders import ElectLeadersRequest, TopicPartitions
from penstock.core.wire.api.heartbeat import HeartbeatRequest
from penstock.core.wire.api.join_group import JoinGroupRequest
from penstock.core.wire.api.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from penstock.core.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from penstock.core.wire.api.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from penstock.core.wire.fields import ARRAY, STRUCT, Field
from penstock.core.wire.refusals import codes_in, overwritten, says
from penstock.core.wire.registry import response_class
from penstock.core.wire.schema import Response, Struct

APIS = load_apis()
CODE = ErrorCode.NOT_COORDINATOR
VALUES: dict[str, Any] = {"string": "name", "uuid": b"i" * 16, "bytes": b"x", "records": None, "bool": False}


def sample(kind: type[Struct], version: int) -> Any:
    """A request in which each array holds two things."""
    fields = [field for field in kind.SPEC.fields if field.exists_in(version)]
    return kind(**{field.name: value(field, version) for field in fields})


def value(field: Field, version: int) -> Any:
    if field.kind == ARRAY:
        assert field.element is not None
        return [value(field.element, version) for _ in range(2)]
    if field.kind == STRUCT:
        assert field.struct is not None
        return sample(field.struct.python_class, version)
    return VALUES.get(field.kind, 7)


def refuse(request: Any, version: int, code: ErrorCode = CODE) -> Any:
    return APIS[request.KEY].refuse(request, version, code, "why")


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_every_request_can_be_refused_in_every_version(api: Api) -> None:
    for version in api.versions:
        answer = refuse(sample(api.request, version), version)
        codes = codes_in(answer)
        # A place that a version does not have stays what it was.
        assert CODE in codes, f"{api.name} {version} has no place for an error"
        assert set(codes) <= {CODE, 0}
        assert response_class(api.key).decode(answer.encode(version), version)


def test_each_thing_asked_for_is_named() -> None:
    commit = OffsetCommitRequest(
        topics=[OffsetCommitRequestTopic(name="t", partitions=[OffsetCommitRequestPartition(partition_index=3)])]
    )
    answer = refuse(commit, 8)
    assert (answer.topics[0].name, answer.topics[0].partitions[0].partition_index) == ("t", 3)
    assert [each.group_id for each in refuse(DescribeGroupsRequest(groups=["a", "b"]), 5).groups] == ["a", "b"]
    assert [each.group_id for each in refuse(DeleteGroupsRequest(groups_names=["a"]), 2).results] == ["a"]
    topics = refuse(CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=5)]), 7).topics
    assert [(each.name, each.num_partitions, each.error_message) for each in topics] == [("t", -1, "why")]


def test_what_has_no_offset_says_so() -> None:
    listed = refuse(
        ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=[ListOffsetsPartition(partition_index=4)])]), 7
    )
    assert (listed.topics[0].partitions[0].partition_index, listed.topics[0].partitions[0].offset) == (4, -1)
    produced = refuse(
        ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData(index=2)])]), 9
    )
    partition = produced.responses[0].partition_responses[0]
    assert (partition.index, partition.base_offset, partition.error_message) == (2, -1, "why")


def test_the_place_depends_on_the_version() -> None:
    old = OffsetFetchRequest(topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[1])])
    assert refuse(old, 1).topics[0].partitions[0].error_code == CODE
    assert refuse(old, 1).topics[0].partitions[0].committed_offset == -1
    assert refuse(old, 7).error_code == CODE
    several = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g")])
    assert [(each.group_id, each.error_code) for each in refuse(several, 8).groups] == [("g", CODE)]
    by_name = refuse(DeleteTopicsRequest(topic_names=["t"]), 3).responses
    assert [(each.name, each.error_code) for each in by_name] == [("t", CODE)]
    by_id = refuse(DeleteTopicsRequest(topics=[DeleteTopicState(name=None, topic_id=b"i" * 16)]), 6).responses
    assert [(each.name, each.topic_id) for each in by_id] == [(None, b"i" * 16)]


def test_answers_that_kafka_makes_in_another_way() -> None:
    assert refuse(JoinGroupRequest(member_id="me"), 5).member_id == "me"
    assert refuse(HeartbeatRequest(), 4, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS).error_code == ErrorCode.NONE
    asked = ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="t", partitions=[1])])
    elected = refuse(asked, 2)
    assert elected.error_code == CODE
    assert elected.replica_election_results[0].partition_result[0].error_code == CODE
    assert refuse(asked, 0).error_code == 0


def test_an_answer_that_cannot_be_given_any_more_says_so_instead() -> None:
    answer: Response = refuse(DescribeGroupsRequest(groups=["a"]), 5, ErrorCode.NONE)
    assert not says(answer, CODE)
    assert says(overwritten(answer, CODE), CODE)  # type: ignore[arg-type]  # it is the response that was given
