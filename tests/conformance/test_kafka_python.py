"""kafka-python 3: the pure Python client that shares no code with librdkafka, sticky assignors included."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from penstock.testing import Broker

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
    from kafka.errors import InvalidTopicError, MessageSizeTooLargeError, TopicAlreadyExistsError
    from kafka.structs import OffsetAndMetadata

pytestmark = pytest.mark.client

DEADLINE_S = 20.0
PARTITIONS = 4
ASSIGNORS = [
    RangePartitionAssignor,
    RoundRobinPartitionAssignor,
    StickyPartitionAssignor,
    CooperativeStickyAssignor,
]


@contextmanager
def producer(broker: Broker, **settings: Any) -> Iterator[Any]:
    with closing(KafkaProducer(bootstrap_servers=broker.bootstrap, **settings)) as made:
        yield made


@contextmanager
def consumer(broker: Broker, *topics: str, **settings: Any) -> Iterator[Any]:
    settings = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "fetch_max_wait_ms": 50} | settings
    if settings.get("group_id"):
        settings |= {"heartbeat_interval_ms": 100, "session_timeout_ms": 6000}
    with closing(KafkaConsumer(*topics, bootstrap_servers=broker.bootstrap, **settings)) as made:
        yield made


@contextmanager
def admin(broker: Broker) -> Iterator[Any]:
    with closing(KafkaAdminClient(bootstrap_servers=broker.bootstrap)) as made:
        yield made


def send(client: Any, topic: str, value: bytes | None, **more: Any) -> Any:
    return client.send(topic, value, **more).get(DEADLINE_S)


def read(client: Any, count: int) -> list[Any]:
    found: list[Any] = []
    deadline = time.monotonic() + DEADLINE_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} records came"
        # With short polls the client can forget a SyncGroup that is under way.
        for records in client.poll(500).values():
            found += records
    return found


def read_from_start(broker: Broker, topic: str, count: int, **settings: Any) -> list[Any]:
    with consumer(broker, **settings) as client:
        client.assign([TopicPartition(topic, 0)])
        return read(client, count)


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_comes_back(broker: Broker, name: str, codec: str | None) -> None:
    broker.create_topic(name)
    values = [f"{number} ".encode() * 30 for number in range(100)]
    with producer(broker, compression_type=codec, linger_ms=10) as client:
        for value in values:
            client.send(name, value)
        client.flush(DEADLINE_S)
    assert [record.value for record in read_from_start(broker, name, 100)] == values


def test_nulls_headers_timestamps_and_large_records(broker: Broker, name: str) -> None:
    large = b"x" * 1_000_000
    with producer(broker, max_request_size=2_000_000) as client:
        send(client, name, None, key=b"only a key", timestamp_ms=1000)
        send(client, name, b"", headers=[("a", b"1"), ("a", b"")], timestamp_ms=2000)
        assert send(client, name, large, timestamp_ms=3000).offset == 2
    one, two, three = read_from_start(broker, name, 3)
    assert (one.key, one.value, one.timestamp) == (b"only a key", None, 1000)
    assert (two.key, two.value, list(two.headers)) == (None, b"", [("a", b"1"), ("a", b"")])
    assert three.value == large


def test_offsets_by_time_and_seek(broker: Broker, name: str) -> None:
    place = TopicPartition(name, 0)
    with producer(broker) as client:
        for timestamp in (1000, 3000, 2000):
            send(client, name, b"x", timestamp_ms=timestamp)
    with consumer(broker) as client:
        client.assign([place])
        assert client.offsets_for_times({place: 1500})[place].offset == 1
        assert client.offsets_for_times({place: 5000})[place] is None
        assert client.beginning_offsets([place])[place] == 0
        assert client.end_offsets([place])[place] == 3
        client.seek(place, 2)
        assert [record.offset for record in read(client, 1)] == [2]
        client.seek_to_beginning(place)
        assert [record.offset for record in read(client, 3)] == [0, 1, 2]
        assert client.position(place) == 3


@pytest.mark.parametrize("idempotent", [False, True])
def test_order_and_acknowledgement(broker: Broker, name: str, idempotent: bool) -> None:
    with producer(broker, acks="all", enable_idempotence=idempotent, batch_size=200) as client:
        sent = [client.send(name, str(number).encode()) for number in range(200)]
        client.flush(DEADLINE_S)
        assert [each.get(1).offset for each in sent] == list(range(200))
    assert [int(record.value) for record in read_from_start(broker, name, 200)] == list(range(200))


def test_a_record_that_is_too_large_is_refused(broker: Broker, name: str) -> None:
    broker.create_topic(name, max_message_bytes=1000)
    with producer(broker) as client, pytest.raises(MessageSizeTooLargeError):
        send(client, name, b"x" * 2000)


@pytest.mark.parametrize("assignor", ASSIGNORS, ids=lambda assignor: assignor.name)
def test_members_share_and_take_over(broker: Broker, name: str, assignor: type) -> None:
    broker.create_topic(name, partitions=PARTITIONS)
    settings = {"group_id": name, "partition_assignment_strategy": [assignor]}
    with consumer(broker, name, **settings) as one:
        poll_until([one], lambda: shares(one) == [PARTITIONS])
        with consumer(broker, name, **settings) as two:
            poll_until([one, two], lambda: shares(one, two) == [2, 2])
        poll_until([one], lambda: shares(one) == [PARTITIONS])


def shares(*clients: Any) -> list[int]:
    return [len(client.assignment()) for client in clients]


def poll_until(clients: list[Any], condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, [client.assignment() for client in clients]
        for client in clients:
            # A poll that ends while this client waits for an assignment can make it forget that it waits.
            client.poll(500)


def test_commits_are_where_reading_resumes(broker: Broker, name: str) -> None:
    place = TopicPartition(name, 0)
    with producer(broker) as client:
        for number in range(6):
            send(client, name, str(number).encode())
    with consumer(broker, name, group_id=name, group_instance_id="fixed", max_poll_records=2) as client:
        read(client, 2)
        client.commit({place: OffsetAndMetadata(2, "note", -1)})
    with consumer(broker, name, group_id=name, group_instance_id="fixed") as client:
        assert client.committed(place) == 2
        assert client.committed(place, metadata=True).metadata == "note"
        assert [int(record.value) for record in read(client, 4)] == [2, 3, 4, 5]


def test_topics_settings_and_partitions(broker: Broker, name: str) -> None:
    resource = ConfigResource(ConfigResourceType.TOPIC, name, {"retention.ms": "2345"})
    with admin(broker) as client:
        client.create_topics([NewTopic(name, 2, 1, topic_configs={"retention.ms": "1234"})])
        with pytest.raises(TopicAlreadyExistsError):
            client.create_topics([NewTopic(name, 2, 1)])
        (described,) = client.describe_topics([name])
        assert len(described["partitions"]) == 2
        client.create_partitions({name: NewPartitions(3)})
        client.alter_configs([resource])
        assert "2345" in str(client.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name)]))
        client.delete_topics([name])
        assert name not in client.list_topics()


def test_records_and_groups(broker: Broker, name: str) -> None:
    place = TopicPartition(name, 0)
    with producer(broker) as client:
        for _ in range(3):
            send(client, name, b"x")
    with consumer(broker, name, group_id=name) as client:
        read(client, 3)
        client.commit()
        with admin(broker) as asking:
            assert "Stable" in str(asking.describe_groups([name]))
    with admin(broker) as asking:
        assert name in str(asking.list_groups())
        assert "offset=3" in str(asking.list_group_offsets({name: None}))
        assert "'low_watermark': 2" in str(asking.delete_records({place: 2}))
        asking.delete_groups([name])
        assert name not in str(asking.list_groups())


def test_errors_reach_the_caller(broker: Broker) -> None:
    with admin(broker) as client, pytest.raises(InvalidTopicError):
        client.create_topics([NewTopic("not a name", 1, 1)])
