"""The blocking driver against a scripted broker: routing, trying again, and giving up in words."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.client import blocking
from penstock.client.admin import Admin
from penstock.client.blocking import Client, parse_addresses
from penstock.client.errors import ClientError, TimedOut, Unreachable, check
from penstock.client.groups import Groups
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import EARLIEST, list_offsets
from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.api_versions import ApiVersion, ApiVersionsResponse
from penstock.core.wire.api.create_topics import CreatableTopicResult, CreateTopicsResponse
from penstock.core.wire.api.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from penstock.core.wire.api.find_coordinator import Coordinator, FindCoordinatorResponse
from penstock.core.wire.api.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from penstock.core.wire.api.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from penstock.core.wire.schema import Response
from tests.client.fake_broker import FakeBroker


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker() as one:
        yield one


def offsets_answer(*errors_then_offset: int) -> Any:
    """A ListOffsets handler that fails with each error in turn and then gives the offset."""
    left = list(errors_then_offset)

    def handler(request: Any, _version: int) -> Response:
        value = left.pop(0) if len(left) > 1 else left[0]
        failed = len(left) > 1 or value != errors_then_offset[-1]
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[
                        ListOffsetsPartitionResponse(
                            partition_index=partition.partition_index,
                            error_code=value if failed else 0,
                            offset=-1 if failed else value,
                        )
                        for partition in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    return handler


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("a:1", [("a", 1)]),
        ("a:1, b:2,", [("a", 1), ("b", 2)]),
        ("a", [("a", 9092)]),
        ("[::1]:7", [("::1", 7)]),
        ("[::1]", [("::1", 9092)]),
        (["x:3"], [("x", 3)]),
    ],
)
def test_addresses(text: Any, addresses: list[tuple[str, int]]) -> None:
    assert parse_addresses(text) == addresses


@pytest.mark.parametrize("text", ["", " , ", "a:b", ":9", "a:70000", "a:-1"])
def test_what_is_no_address_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ClientError) as failure:
        parse_addresses(text)
    assert failure.value.hint is not None


def test_nobody_at_the_address_is_said_at_once_with_the_address() -> None:
    port = closed_port()
    with Client(f"127.0.0.1:{port}", timeout=30) as client, pytest.raises(Unreachable) as failure:
        client.topics()
    assert f"127.0.0.1:{port}" in str(failure.value)
    assert "penstock up" in (failure.value.hint or "")


def test_the_first_bootstrap_address_that_answers_is_used(broker: FakeBroker) -> None:
    with Client(f"127.0.0.1:{closed_port()},{broker.address}") as client:
        assert [topic.name for topic in client.topics()] == ["t"]


def test_every_dead_address_is_named() -> None:
    first, second = closed_port(), closed_port()
    with Client(f"127.0.0.1:{first},127.0.0.1:{second}") as client, pytest.raises(Unreachable) as failure:
        client.topics()
    assert str(first) in str(failure.value)
    assert str(second) in str(failure.value)


def test_a_silent_broker_is_given_up_after_the_timeout(broker: FakeBroker) -> None:
    broker.on("Metadata", lambda *_: None)
    with Client(broker.address, timeout=0.2) as client, pytest.raises(TimedOut) as failure:
        client.topics()
    assert "Metadata" in str(failure.value)


def test_someone_else_at_the_port_is_told_from_a_broker() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def babble() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(64)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=babble)
        thread.start()
        with Client(f"127.0.0.1:{port}", timeout=5) as client, pytest.raises(Unreachable, match="cannot be read"):
            client.topics()
        thread.join()


def test_transient_errors_are_tried_again_until_they_pass(broker: FakeBroker) -> None:
    where = TopicPartition("t", 0)
    broker.on("ListOffsets", offsets_answer(ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.LEADER_NOT_AVAILABLE, 42))
    with Client(broker.address) as client:
        assert list_offsets(client, {where: EARLIEST})[where].offset == 42
    assert len(broker.seen("ListOffsets")) == 3
    # A partition that has moved is looked up again before it is asked again.
    assert len(broker.seen("Metadata")) == 3


def test_errors_that_waiting_does_not_cure_are_raised_at_once(broker: FakeBroker) -> None:
    broker.on("ListOffsets", offsets_answer(ErrorCode.TOPIC_AUTHORIZATION_FAILED, 1))
    with Client(broker.address) as client, pytest.raises(ClientError, match="TOPIC_AUTHORIZATION_FAILED"):
        list_offsets(client, {TopicPartition("t", 0): EARLIEST})
    assert len(broker.seen("ListOffsets")) == 1


def test_transient_errors_end_with_the_time(broker: FakeBroker) -> None:
    broker.on("ListOffsets", offsets_answer(*[ErrorCode.LEADER_NOT_AVAILABLE] * 1000, 1))
    with Client(broker.address, timeout=0.3) as client, pytest.raises(ClientError, match="LEADER_NOT_AVAILABLE"):
        list_offsets(client, {TopicPartition("t", 0): EARLIEST})
    assert 2 < len(broker.seen("ListOffsets")) < 20


def test_a_missing_topic_is_missing_soon(broker: FakeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking, "UNKNOWN_TOPIC_SECONDS_MAX", 0.05)
    with Client(broker.address, timeout=30) as client, pytest.raises(ClientError) as failure:
        client.topic("nope")
    assert failure.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert "topic create" in (failure.value.hint or "")


def test_a_partition_that_is_not_there_is_named(broker: FakeBroker) -> None:
    with Client(broker.address) as client, pytest.raises(ClientError, match="no partition 1"):
        client.leader(TopicPartition("t", 1))


def test_partitions_are_asked_at_their_leaders() -> None:
    with FakeBroker(1, {"t": 2}) as one, FakeBroker(2, {"t": 2}) as two:
        one.cluster = two.cluster = [one, two]
        one.leaders = two.leaders = {("t", 0): 1, ("t", 1): 2}
        one.on("ListOffsets", offsets_answer(10))
        two.on("ListOffsets", offsets_answer(20))
        places = {TopicPartition("t", 0): EARLIEST, TopicPartition("t", 1): EARLIEST}
        with Client(one.address) as client:
            found = list_offsets(client, places)
        assert [found[where].offset for where in places] == [10, 20]


def test_a_connection_that_was_dropped_while_idle_is_replaced(broker: FakeBroker) -> None:
    with Client(broker.address) as client:
        client.topics()
        broker.drop_connections()
        # Nothing was asked on it, so nothing has to be asked again: this call does not retry.
        assert client.refresh(()).cluster_id == "fake"


def test_when_the_broker_it_knows_dies_another_one_is_asked() -> None:
    with FakeBroker(1) as one, FakeBroker(2) as two:
        one.cluster = two.cluster = [one, two]
        with Client(one.address) as client:
            client.topics()
            one.close()
            assert [topic.name for topic in client.topics()] == ["t"]
        assert len(two.seen("Metadata")) == 1


def test_a_connection_that_breaks_under_a_request_is_replaced_and_the_request_sent_again(broker: FakeBroker) -> None:
    answers: list[Any] = [ConnectionError, offsets_answer(5)]

    def once_broken(request: Any, version: int) -> Any:
        answer = answers.pop(0)
        return answer if answer is ConnectionError else answer(request, version)

    broker.on("ListOffsets", once_broken)
    with Client(broker.address) as client:
        assert list_offsets(client, {TopicPartition("t", 0): EARLIEST})[TopicPartition("t", 0)].offset == 5


def test_group_requests_follow_their_coordinator() -> None:
    with FakeBroker(1) as one, FakeBroker(2) as two:
        one.cluster = two.cluster = [one, two]
        answers = [ErrorCode.NOT_COORDINATOR, ErrorCode.NONE]

        def commit(request: Any, _version: int) -> Response:
            partition = OffsetCommitResponsePartition(partition_index=0, error_code=answers.pop(0))
            return OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name="t", partitions=[partition])])

        def find(request: Any, _version: int) -> Response:
            node = 1 if len(answers) == 2 else 2
            return FindCoordinatorResponse(coordinators=[Coordinator(key="g", node_id=node)])

        for broker in (one, two):
            broker.on("OffsetCommit", commit)
            broker.on("FindCoordinator", find)
        with Client(one.address) as client:
            Groups(client).commit("g", {TopicPartition("t", 0): 3})
        assert (len(one.seen("OffsetCommit")), len(two.seen("OffsetCommit"))) == (1, 1)


def test_an_api_that_the_broker_lacks_is_said_so(broker: FakeBroker) -> None:
    del broker.versions[60]
    with Client(broker.address) as client, pytest.raises(ClientError, match="DescribeCluster not at all"):
        Admin(client).cluster()


def test_an_old_broker_is_greeted_at_its_version(broker: FakeBroker) -> None:
    full = [ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in broker.versions.items()]

    def old(_request: Any, version: int) -> Response:
        return ApiVersionsResponse(error_code=35 if version > 0 else 0, api_keys=full)

    broker.on("ApiVersions", old)
    broker.versions[3] = (0, 1)
    with Client(broker.address) as client:
        assert [topic.name for topic in client.topics()] == ["t"]


def test_what_a_broker_adds_to_an_error_code_is_passed_on(broker: FakeBroker) -> None:
    def refuse(request: Any, _version: int) -> Response:
        result = CreatableTopicResult(name="t", error_code=36, error_message="It is there.")
        return CreateTopicsResponse(topics=[result])

    broker.on("CreateTopics", refuse)
    with Client(broker.address) as client, pytest.raises(ClientError, match="TOPIC_ALREADY_EXISTS: It is there"):
        Admin(client).create_topic("t")


def test_a_creation_that_came_true_though_it_seemed_to_fail_is_no_second_one(broker: FakeBroker) -> None:
    codes = [int(ErrorCode.KAFKA_STORAGE_ERROR), int(ErrorCode.TOPIC_ALREADY_EXISTS)]

    def answer(request: Any, _version: int) -> Response:
        return CreateTopicsResponse(topics=[CreatableTopicResult(name="t", error_code=codes.pop(0))])

    broker.on("CreateTopics", answer)
    with Client(broker.address) as client:
        assert Admin(client).create_topic("t").name == "t"
    assert not codes


def test_a_deletion_that_came_true_though_it_seemed_to_fail_is_done(broker: FakeBroker) -> None:
    codes = [int(ErrorCode.REQUEST_TIMED_OUT), int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]

    def answer(request: Any, _version: int) -> Response:
        return DeleteTopicsResponse(responses=[DeletableTopicResult(name="t", error_code=codes.pop(0))])

    broker.on("DeleteTopics", answer)
    with Client(broker.address) as client:
        Admin(client).delete_topic("t")
    assert not codes


def test_a_code_from_the_future_keeps_its_number() -> None:
    with pytest.raises(ClientError, match="error code 999"):
        check(999, "something")
