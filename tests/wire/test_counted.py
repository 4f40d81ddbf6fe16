"""What clients send is decoded within a number of elements, counted before any of them is made."""

from __future__ import annotations

import pytest

from penstock.core.wire.api.describe_groups import DescribeGroupsRequest
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchTopic
from penstock.core.wire.api.heartbeat import HeartbeatRequest
from penstock.core.wire.errors import DecodeError, TooManyElements
from penstock.core.wire.registry import API_KEYS, request_class
from penstock.core.wire.varint import TAGGED_FIELDS_MAX, encode_varint, skip_tagged_fields
from tests.wire.arbitrary import Arbitrary

UNCOUNTED = 1 << 30


def fetch(topics: int, partitions: int) -> FetchRequest:
    asked = [FetchPartition(partition=index, fetch_offset=0) for index in range(partitions)]
    return FetchRequest(max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic="t", partitions=asked)] * topics)


def test_nested_arrays_count_in_all() -> None:
    data = fetch(3, 4).encode(11)
    request, left = FetchRequest.decode_counted(data, 11, 0, 20)
    assert len(request.topics) == 3
    assert left == 20 - 3 - 3 * 4
    assert FetchRequest.decode_counted(data, 11, 0, 15)[1] == 0
    with pytest.raises(TooManyElements, match="partitions has 4 elements"):
        FetchRequest.decode_counted(data, 11, 0, 14)


def test_a_claim_is_refused_before_anything_is_made() -> None:
    """The bytes could hold what is claimed, and none of them is looked at: they are no strings."""
    data = encode_varint(1_000_001) + b"\xff" * 2_000_000
    with pytest.raises(TooManyElements, match="1000000 elements"):
        DescribeGroupsRequest.decode_counted(data, 5, 0, 1_000)


def test_a_claim_beyond_the_end_is_no_matter_of_how_many_are_allowed() -> None:
    with pytest.raises(DecodeError, match="more than the rest of the message can hold") as caught:
        DescribeGroupsRequest.decode_counted(encode_varint(1_000_001) + b"\0", 5, 0, UNCOUNTED)
    assert not isinstance(caught.value, TooManyElements)


@pytest.mark.parametrize(("request_type", "version"), [(HeartbeatRequest, 4), (FetchRequest, 17)])
def test_tagged_fields_count(request_type: type[FetchRequest | HeartbeatRequest], version: int) -> None:
    """Of a message that knows none, and of one that knows some."""
    plain = request_type().encode(version)
    assert plain[-1] == 0
    data = plain[:-1] + encode_varint(50) + b"\x63\x00" * 50
    assert request_type.decode_counted(data, version, 0, 50)[1] == 0
    with pytest.raises(TooManyElements, match="tagged fields"):
        request_type.decode_counted(data, version, 0, 49)


def test_a_header_has_few_tagged_fields() -> None:
    data = encode_varint(TAGGED_FIELDS_MAX + 1) + b"\0\0" * (TAGGED_FIELDS_MAX + 1)
    with pytest.raises(DecodeError, match="tagged fields"):
        skip_tagged_fields(data, 0, TAGGED_FIELDS_MAX)


@pytest.mark.parametrize("key", API_KEYS)
def test_counting_changes_nothing_else(key: int) -> None:
    request_type, arbitrary = request_class(key), Arbitrary(key)
    for version in request_type.VERSIONS:
        data = arbitrary.message(request_type, version).encode(version)
        counted, left = request_type.decode_counted(data, version, 0, UNCOUNTED)
        assert counted == request_type.decode(data, version)
        assert 0 <= UNCOUNTED - left <= len(data)
