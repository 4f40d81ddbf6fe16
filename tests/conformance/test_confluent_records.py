"""Records through librdkafka: what was written is what is read, and offsets mean what Kafka says."""

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    IsolationLevel,
    KafkaError,
    TopicPartition,
)
from confluent_kafka.admin import OffsetSpec

from penstock.testing import Broker
from tests.conformance.confluent import admin, consumer, producer, read, read_from_start, send, send_well

pytestmark = pytest.mark.client

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
MEGABYTE = 1_000_000


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_comes_back(broker: Broker, name: str, codec: str) -> None:
    broker.create_topic(name)
    client = producer(broker, compression_type=codec, linger_ms=20)
    values = [f"{number} ".encode() * 50 for number in range(200)]
    for value in values:
        client.produce(name, value)
    assert client.flush(20) == 0
    assert [message.value() for message in read_from_start(broker, name, 200, check_crcs=True)] == values


@pytest.mark.parametrize("codec", CODECS)
def test_a_topic_stores_with_its_own_codec(broker: Broker, name: str, codec: str) -> None:
    broker.create_topic(name, compression_type="uncompressed" if codec == "none" else codec)
    client = producer(broker, compression_type="gzip", linger_ms=20)
    for number in range(50):
        client.produce(name, f"{number}-{'x' * 200}".encode())
    assert client.flush(20) == 0
    found = read_from_start(broker, name, 50, check_crcs=True)
    assert [message.value() for message in found] == [f"{number}-{'x' * 200}".encode() for number in range(50)]
    stored = (broker.folder / f"{name}-0" / f"{0:020}.log").read_bytes()
    assert stored[22] & 7 == CODECS.index(codec), "the batch's attributes name the topic's codec"


def test_nulls_headers_and_empty_values(broker: Broker, name: str) -> None:
    client = producer(broker)
    headers = [("a", b"1"), ("a", b""), ("none", None), ("ünï", b"\x00\xff")]
    send_well(client, name, None, key=None)
    send_well(client, name, b"", key=b"")
    send_well(client, name, b"value", key=b"key", headers=headers)
    first, second, third = read_from_start(broker, name, 3)
    assert (first.key(), first.value(), first.headers()) == (None, None, None)
    assert (second.key(), second.value()) == (b"", b"")
    assert (third.key(), third.value(), third.headers()) == (b"key", b"value", headers)


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_records_of_a_megabyte(broker: Broker, name: str, codec: str) -> None:
    client = producer(broker, compression_type=codec, message_max_bytes=2 * MEGABYTE)
    values = [bytes([number]) * MEGABYTE for number in range(5)]
    for value in values:
        send_well(client, name, value)
    assert [message.value() for message in read_from_start(broker, name, 5)] == values


def test_a_record_that_is_too_large_is_refused(broker: Broker, name: str) -> None:
    broker.create_topic(name, max_message_bytes=1000)
    client = producer(broker)
    assert send(client, name, b"x" * 2000).error().code() == KafkaError.MSG_SIZE_TOO_LARGE
    send_well(client, name, b"x" * 500)


def test_a_fetch_limit_below_the_record_still_reads_it(broker: Broker, name: str) -> None:
    client = producer(broker)
    for _ in range(3):
        send_well(client, name, b"x" * 50_000)
    limits = {"fetch_max_bytes": 1000, "max_partition_fetch_bytes": 1000, "message_max_bytes": 1000}
    assert len(read_from_start(broker, name, 3, **limits)) == 3


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_acknowledgements(broker: Broker, name: str, acks: str) -> None:
    broker.create_topic(name)
    client = producer(broker, acks=acks, enable_idempotence=False)
    offsets = [send_well(client, name, b"x").offset() for _ in range(3)]
    if acks != "0":
        assert offsets == [0, 1, 2]
    assert len(read_from_start(broker, name, 3)) == 3


def test_a_topic_may_insist_on_every_acknowledgement(broker: Broker, name: str) -> None:
    broker.create_topic(name, penstock_acks_required="all")
    refused = send(producer(broker, acks="1", enable_idempotence=False), name, b"x").error()
    assert refused is not None
    assert refused.code() == KafkaError.INVALID_REQUIRED_ACKS
    assert not refused.retriable()
    assert send_well(producer(broker, acks="all"), name, b"x").offset() == 0


def test_an_idempotent_producer_keeps_order(broker: Broker, name: str) -> None:
    broker.create_topic(name)
    client = producer(broker, enable_idempotence=True, batch_num_messages=7)
    for number in range(500):
        client.produce(name, str(number).encode())
    assert client.flush(20) == 0
    found = read_from_start(broker, name, 500)
    assert [int(message.value()) for message in found] == list(range(500))
    assert [message.offset() for message in found] == list(range(500))


def test_create_time_is_the_clients(broker: Broker, name: str) -> None:
    client = producer(broker)
    for timestamp in (1000, 3000, 2000):
        send_well(client, name, b"x", timestamp=timestamp)
    found = read_from_start(broker, name, 3)
    assert [message.timestamp() for message in found] == [(TIMESTAMP_CREATE_TIME, t) for t in (1000, 3000, 2000)]


def test_append_time_is_the_brokers(broker: Broker, name: str) -> None:
    broker.create_topic(name, message_timestamp_type="LogAppendTime")
    client = producer(broker, compression_type="lz4")
    report = send_well(client, name, b"x", timestamp=1000)
    (found,) = read_from_start(broker, name, 1, check_crcs=True)
    kind, timestamp = found.timestamp()
    assert kind == TIMESTAMP_LOG_APPEND_TIME
    assert timestamp > 1_600_000_000_000
    assert report.timestamp()[1] == timestamp


def test_a_timestamp_too_far_away_is_refused(broker: Broker, name: str) -> None:
    broker.create_topic(name, message_timestamp_before_max_ms=1000)
    assert send(producer(broker), name, b"x", timestamp=1000).error().code() == KafkaError.INVALID_TIMESTAMP


def test_offsets_for_times(broker: Broker, name: str) -> None:
    client = producer(broker)
    for timestamp in (1000, 3000, 2000, 4000):
        send_well(client, name, b"x", timestamp=timestamp)
    with consumer(broker) as reader:
        for timestamp, offset in ((0, 0), (1000, 0), (1001, 1), (3001, 3), (4000, 3), (4001, OFFSET_END)):
            (found,) = reader.offsets_for_times([TopicPartition(name, 0, timestamp)], timeout=10)
            assert found.offset == offset, timestamp
        assert reader.get_watermark_offsets(TopicPartition(name, 0), timeout=10) == (0, 4)


def test_special_timestamps(broker: Broker, name: str) -> None:
    client = producer(broker)
    for timestamp in (1000, 3000, 2000):
        send_well(client, name, b"x", timestamp=timestamp)
    place = TopicPartition(name, 0)
    specs = {OffsetSpec.earliest(): 0, OffsetSpec.latest(): 3, OffsetSpec.max_timestamp(): 1}
    specs[OffsetSpec.for_timestamp(1500)] = 1
    asking = admin(broker)
    for spec, offset in specs.items():
        for isolation in (IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED):
            (answer,) = asking.list_offsets({place: spec}, isolation_level=isolation).values()
            assert answer.result(10).offset == offset


def test_seek_and_positions(broker: Broker, name: str) -> None:
    client = producer(broker)
    for number in range(10):
        send_well(client, name, str(number).encode())
    with consumer(broker) as reader:
        reader.assign([TopicPartition(name, 0, 7)])
        assert [message.offset() for message in read(reader, 3)] == [7, 8, 9]
        for offset, expected in ((2, 2), (OFFSET_BEGINNING, 0), (9, 9)):
            reader.seek(TopicPartition(name, 0, offset))
            assert read(reader, 1)[0].offset() == expected
        (position,) = reader.position([TopicPartition(name, 0)])
        assert position.offset == 10


@pytest.mark.parametrize(("reset", "expected"), [("earliest", 0), ("latest", 3)])
def test_an_offset_out_of_range_follows_the_reset_policy(broker: Broker, name: str, reset: str, expected: int) -> None:
    client = producer(broker)
    for _ in range(3):
        send_well(client, name, b"x")
    with consumer(broker, auto_offset_reset=reset) as reader:
        reader.assign([TopicPartition(name, 0, 50)])
        if reset == "latest":
            # Only what is written after the reset arrives; writing again until then is harmless.
            message = None
            while message is None:
                send_well(client, name, b"x")
                message = reader.poll(0.05)
        else:
            (message,) = read(reader, 1)
        assert message.error() is None
        assert message.offset() >= expected
        assert reset == "latest" or message.offset() == expected


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_both_isolation_levels_read_plain_records(broker: Broker, name: str, isolation: str) -> None:
    client = producer(broker)
    for _ in range(3):
        send_well(client, name, b"x")
    assert len(read_from_start(broker, name, 3, isolation_level=isolation)) == 3


def test_a_session_over_many_partitions(broker: Broker, name: str) -> None:
    """Many partitions are assigned once; afterwards only those with news are spoken of."""
    count = 200
    broker.create_topic(name, partitions=count)
    client = producer(broker)
    with consumer(broker) as reader:
        reader.assign([TopicPartition(name, index, OFFSET_BEGINNING) for index in range(count)])
        for number in range(3):
            for index in range(0, count, 40):
                client.produce(name, f"{number}".encode(), partition=index)
            assert client.flush(20) == 0
            assert {message.partition() for message in read(reader, 5)} == set(range(0, count, 40))


def test_a_topic_that_is_not_there(broker: Broker, name: str) -> None:
    with consumer(broker, allow_auto_create_topics=False) as reader:
        reader.subscribe([name])
        message = None
        while message is None:
            message = reader.poll(1)
        assert message.error().code() == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_partition_end_is_seen(broker: Broker, name: str) -> None:
    send_well(producer(broker), name, b"x")
    with consumer(broker, enable_partition_eof=True) as reader:
        reader.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
        assert read(reader, 1)
        end = None
        while end is None:
            end = reader.poll(1)
        assert end.error().code() == KafkaError._PARTITION_EOF
