"""Messages as values, and what encoding does with fields that a version lacks."""

from collections.abc import Sized
from typing import Any

import pytest

from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    LeaderIdAndEpoch,
    PartitionData,
)
from penstock.core.wire.api.list_groups import ListGroupsRequest
from penstock.core.wire.api.metadata import MetadataRequest, MetadataRequestTopic
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from penstock.core.wire.errors import EncodeError
from penstock.core.wire.schema import Message, array, int32, string
from penstock.core.wire.stored.consumer_group import ConsumerGroupMemberMetadataValue
from tests.wire.catalog import all_messages


class FileSlice:
    """A stand-in for bytes that lie in a file."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size


def fetch_response(*records: Sized | None) -> FetchResponse:
    partitions = [PartitionData(partition_index=index, records=value) for index, value in enumerate(records)]
    return FetchResponse(responses=[FetchableTopicResponse(partitions=partitions)])


# Values


def test_constructor_takes_keywords_and_fills_defaults() -> None:
    request = FetchRequest(max_wait_ms=500)
    assert (request.max_wait_ms, request.max_bytes, request.cluster_id, request.topics) == (500, 0x7FFFFFFF, None, [])


def test_each_instance_has_its_own_lists() -> None:
    first, second = FetchRequest(), FetchRequest()
    first.topics.append(FetchTopic())
    assert second.topics == []


def test_unknown_names_are_refused() -> None:
    anything: Any = FetchRequest
    with pytest.raises(TypeError):
        anything(max_wait=500)
    with pytest.raises(AttributeError):
        anything().max_wait = 500


def test_equality_goes_by_type_and_fields() -> None:
    assert MetadataRequestTopic(name="a") == MetadataRequestTopic(name="a")
    assert MetadataRequestTopic(name="a") != MetadataRequestTopic(name="b")
    assert MetadataRequestTopic(name="a") != CreatableTopic(name="a")


def test_repr_reads_like_the_constructor() -> None:
    text = repr(MetadataRequest(topics=[MetadataRequestTopic(name="a")]))
    assert text.startswith("MetadataRequest(topics=[MetadataRequestTopic(topic_id=")
    assert "name='a'" in text


def test_facts_of_a_message() -> None:
    assert ProduceRequest.KEY == 0
    assert list(ProduceRequest.VERSIONS) == list(range(3, 14))
    assert [ProduceRequest.is_flexible(version) for version in (3, 8, 9, 13)] == [False, False, True, True]


def test_no_two_messages_share_a_name() -> None:
    names = [message.__name__ for message in all_messages()]
    assert len(set(names)) == len(names) == 270


def test_a_message_declared_anywhere_gets_codecs() -> None:
    class Note(Message, versions="0-1", flexible="1+"):
        lines: list[str] = array(string)
        size: int = int32(versions="1+", default=7)

    note = Note(lines=["a", "bc"])
    assert note.encode(0) == b"\0\0\0\2\0\1a\0\2bc"
    assert note.encode(1) == b"\3\2a\3bc\0\0\0\7\0"
    assert Note.decode(note.encode(0), 0) == note


# Fields that a version lacks


def test_ignorable_fields_are_dropped() -> None:
    request = FetchRequest(rack_id="r1")
    assert FetchRequest.decode(request.encode(4), 4).rack_id == ""
    assert FetchRequest.decode(request.encode(11), 11).rack_id == "r1"


def test_other_fields_are_refused_unless_default() -> None:
    with pytest.raises(EncodeError, match="states_filter"):
        ListGroupsRequest(states_filter=["Stable"]).encode(3)
    assert ListGroupsRequest().encode(3) == b"\0"


def test_a_refused_field_deep_inside() -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=None)])
    with pytest.raises(EncodeError):
        request.encode(4)
    assert MetadataRequest.decode(request.encode(10), 10) == request


def test_null_that_is_not_allowed() -> None:
    nothing: Any = None
    with pytest.raises(EncodeError, match="FetchRequest version 4"):
        FetchRequest(topics=nothing).encode(4)


def test_numbers_out_of_range() -> None:
    with pytest.raises(EncodeError):
        CreateTopicsRequest(timeout_ms=2**31).encode(7)


def test_unknown_version() -> None:
    with pytest.raises(EncodeError, match="ProduceRequest has no version 2"):
        ProduceRequest().encode(2)


@pytest.mark.parametrize(("version", "length"), [(2, 0x8000), (7, 0x8000)])
def test_string_longer_than_the_protocol_allows(version: int, length: int) -> None:
    with pytest.raises(EncodeError):
        CreateTopicsRequest(topics=[CreatableTopic(name="x" * length)]).encode(version)


# Tagged fields


def test_a_tagged_struct_is_none_until_it_is_sent() -> None:
    response = fetch_response(b"")
    partition = response.responses[0].partitions[0]
    assert partition.current_leader is None
    silent = response.encode(12)
    partition.current_leader = LeaderIdAndEpoch()
    assert response.encode(12) == silent
    partition.current_leader = LeaderIdAndEpoch(leader_id=1, leader_epoch=5)
    assert FetchResponse.decode(response.encode(12), 12) == response


def test_a_nullable_tagged_struct_tells_null_from_absent() -> None:
    absent = ConsumerGroupMemberMetadataValue()
    null = ConsumerGroupMemberMetadataValue(classic_member_metadata=None)
    assert absent.classic_member_metadata is not None
    assert absent.encode(0) != null.encode(0)
    assert ConsumerGroupMemberMetadataValue.decode(null.encode(0), 0) == null
    assert ConsumerGroupMemberMetadataValue.decode(absent.encode(0), 0) == absent


# Record batches


def test_decoded_records_are_writable_views_of_the_frame() -> None:
    partition = PartitionProduceData(records=b"batch")
    encoded = ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=[partition])]).encode(11)
    frame = bytearray(encoded)
    decoded = ProduceRequest.decode(memoryview(frame), 11).topic_data[0].partition_data[0].records
    assert isinstance(decoded, memoryview)
    decoded[0:1] = b"B"
    assert frame == encoded.replace(b"batch", b"Batch")


@pytest.mark.parametrize("version", [4, 11, 12, 17])
def test_parts_keep_records_as_they_are(version: int) -> None:
    slices: list[Sized] = [FileSlice(300), memoryview(b"abc"), FileSlice(5)]
    response = fetch_response(slices[0], None, b"", [slices[1], FileSlice(0), slices[2]])
    parts: list[Any] = response.encode_parts(version, prefix=b"head")
    assert [part for part in parts if not isinstance(part, bytes)] == slices
    joined = b"".join(bytes(len(part)) if isinstance(part, FileSlice) else part for part in parts)
    assert joined.startswith(b"head")
    same = fetch_response(bytes(300), None, b"", b"abc" + bytes(5))
    assert joined.removeprefix(b"head") == same.encode(version)


def test_a_message_without_records_is_one_part() -> None:
    assert MetadataRequest().encode_parts(9, b"head") == [b"head" + MetadataRequest().encode(9)]
