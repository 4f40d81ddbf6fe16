"""The client against running brokers, with another client on the other side."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.client.admin import BROKER, END, TOPIC, Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.groups import Groups
from penstock.client.merging import merge_by_timestamp
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import EARLIEST, LATEST, MAX_TIMESTAMP, READ_COMMITTED, FoundOffset, edges, list_offsets
from penstock.client.producing import Producer
from penstock.client.reading import Reader
from penstock.core.base.errors import ErrorCode
from penstock.core.records.codecs import Codec
from penstock.core.wire.registry import api_key
from tests.waiting import wait_until

pytestmark = pytest.mark.client

FIRST_TIME = 1_700_000_000_000


@pytest.fixture
def client(cluster: Any) -> Iterator[Client]:
    with Client(cluster.bootstrap) as one:
        yield one


@pytest.fixture
def topic(client: Client, request: pytest.FixtureRequest) -> str:
    """A topic of three partitions, named after the test. It keeps records that say they are years old."""
    name: str = request.node.originalname.removeprefix("test_")[:200]
    if "[" in request.node.name:
        name += "." + "".join(c for c in request.node.name.partition("[")[2] if c.isalnum())
    Admin(client).create_topic(name, 3, configs={"retention.ms": "-1"})
    client.topic(name)
    return name


def places(topic: str) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in range(3)]


def whole(client: Client, topic: str) -> Reader:
    limits = edges(client, places(topic))
    return Reader(
        client,
        {where: first for where, (first, _) in limits.items()},
        until={where: end for where, (_, end) in limits.items()},
    )


def values(reader: Reader) -> list[bytes | None]:
    return [record.value for chunk in reader for record in chunk.records]


@pytest.mark.parametrize("codec", list(Codec))
def test_what_we_write_another_client_reads(client: Client, topic: str, codec: Codec, cluster: Any) -> None:
    from confluent_kafka import Consumer
    from confluent_kafka import TopicPartition as TheirPartition

    with Producer(client, codec=codec, batch_bytes=4000) as producer:
        for number in range(500):
            producer.send(topic, b"key-%d" % number, b"value-%d" % number, [("h", b"%d" % number), ("none", None)])
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "reads", "check.crcs": True})
    consumer.assign([TheirPartition(topic, number, 0) for number in range(3)])
    try:
        messages: list[Any] = []
        while len(messages) < 500:
            batch = consumer.consume(500, timeout=10)
            assert batch, f"only {len(messages)} of 500 arrived"
            messages += batch
    finally:
        consumer.close()
    assert {message.key(): message.value() for message in messages} == {
        b"key-%d" % number: b"value-%d" % number for number in range(500)
    }
    assert messages[0].headers()[1] == ("none", None)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_another_client_writes_we_read(client: Client, topic: str, codec: str, cluster: Any) -> None:
    from confluent_kafka import Producer as TheirProducer

    producer = TheirProducer(
        {"bootstrap.servers": cluster.bootstrap, "compression.type": codec, "partitioner": "murmur2"}
    )
    for number in range(500):
        producer.produce(topic, value=b"%d" % number, key=b"key-%d" % number, headers={"h": b"x"})
    assert producer.flush(20) == 0
    found = [(chunk.where, record) for chunk in whole(client, topic) for record in chunk.records]
    assert sorted(int(record.value or b"") for _, record in found) == list(range(500))
    assert found[0][1].headers == (("h", b"x"),)
    with Producer(client) as ours:
        for where, record in found:
            assert ours.send(topic, record.key, b"again") == where


def test_empty_null_and_large_records(client: Client, topic: str) -> None:
    sent = [(None, None), (b"", b""), (b"k", None), (None, b"x" * 900_000)]
    with Producer(client) as producer:
        for key, value in sent:
            producer.send(topic, key, value, partition=0)
    found = [(record.key, record.value) for chunk in whole(client, topic) for record in chunk.records]
    assert found == sent


def test_too_large_a_record_is_refused_with_a_hint(client: Client, topic: str) -> None:
    producer = Producer(client)
    producer.send(topic, None, b"x" * 2_000_000, partition=0)
    with pytest.raises(ClientError, match="MESSAGE_TOO_LARGE") as failure:
        producer.flush()
    assert "max.message.bytes" in (failure.value.hint or "")
    producer.send(topic, None, b"small", partition=0)
    producer.flush()
    assert values(whole(client, topic)) == [b"small"]


def test_partitions_larger_than_one_fetch(client: Client, topic: str) -> None:
    with Producer(client, batch_bytes=50_000) as producer:
        for number in range(3000):
            producer.send(topic, None, b"%04d" % number * 25, partition=number % 3)
    limits = edges(client, places(topic))
    reader = Reader(
        client,
        dict.fromkeys(limits, 0),
        until={where: end for where, (_, end) in limits.items()},
        partition_bytes=10_000,
    )
    found = {where: [] for where in limits}  # type: dict[TopicPartition, list[int]]
    for chunk in reader:
        found[chunk.where] += [record.offset for record in chunk.records]
    assert list(found.values()) == [list(range(1000))] * 3


def test_topics_by_name_and_by_id(client: Client, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Producer(client) as producer:
        producer.send(topic, None, b"x", partition=1)
    assert values(whole(client, topic)) == [b"x"]
    monkeypatch.setattr(Reader, "_all_have_ids", lambda *_: False)
    assert values(whole(client, topic)) == [b"x"]


def test_one_order_over_all_partitions(client: Client, topic: str) -> None:
    with Producer(client, batch_bytes=500) as producer:
        for number in range(300):
            producer.send(topic, None, b"%d" % number, partition=number * 7 % 3, timestamp=FIRST_TIME + number)
    merged = [int(record.value or b"") for _, record in merge_by_timestamp(whole(client, topic))]
    assert merged == list(range(300))


def test_following_sees_what_comes_next(client: Client, topic: str, cluster: Any) -> None:
    reader = Reader(client, dict.fromkeys(places(topic), 0), wait_ms=10_000)
    assert reader.poll(0) == []
    assert all(map(reader.is_caught_up, places(topic)))
    with Client(cluster.bootstrap) as other, Producer(other) as producer:
        producer.send(topic, None, b"news", partition=2)
    begin = time.monotonic()
    (chunk,) = reader.poll()
    assert time.monotonic() - begin < 5
    assert (chunk.where.partition, [record.value for record in chunk.records]) == (2, [b"news"])


def test_where_times_are(client: Client, topic: str) -> None:
    where = TopicPartition(topic, 0)
    with Producer(client) as producer:
        for number in (0, 10, 5, 20):
            producer.send(topic, None, b"", partition=0, timestamp=FIRST_TIME + number)

    def found(at: int) -> FoundOffset:
        return list_offsets(client, {where: at})[where]

    assert found(EARLIEST).offset == 0
    assert found(LATEST).offset == 4
    assert found(FIRST_TIME + 1) == FoundOffset(1, FIRST_TIME + 10)
    assert found(FIRST_TIME + 11) == FoundOffset(3, FIRST_TIME + 20)
    assert found(FIRST_TIME + 21).offset == -1
    assert found(MAX_TIMESTAMP) == FoundOffset(3, FIRST_TIME + 20)


def test_deleted_records_are_gone(client: Client, topic: str) -> None:
    with Producer(client) as producer:
        for number in range(10):
            producer.send(topic, None, b"%d" % number, partition=number % 2)
    first, second = places(topic)[:2]
    assert Admin(client).delete_records({first: 3, second: END}) == {first: 3, second: 5}
    assert edges(client, [first, second]) == {first: (3, 5), second: (5, 5)}
    with pytest.raises(ClientError) as failure:
        Reader(client, {first: 0}).poll()
    assert failure.value.code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert failure.value.hint == "its offsets go from 3 to 4"


def test_a_topic_that_was_deleted_and_made_again_is_another_one(client: Client, topic: str) -> None:
    with Producer(client) as producer:
        producer.send(topic, None, b"old", partition=0)
    before = client.topic(topic).topic_id
    admin = Admin(client)
    admin.delete_topic(topic)
    wait_until(lambda: topic not in [one.name for one in client.topics()], what="the topic is gone")
    admin.create_topic(topic, 3)
    assert client.topic(topic, fresh=True).topic_id != before
    assert values(whole(client, topic)) == []


def test_admin_sees_everything(client: Client, topic: str) -> None:
    admin = Admin(client)
    with Producer(client) as producer:
        producer.send(topic, None, b"x" * 1000, partition=0)
    assert topic in [one.name for one in client.topics()]
    assert client.cluster.cluster_id == admin.cluster().cluster_id
    assert admin.cluster().brokers[0].node_id == 1
    assert api_key("Fetch") in admin.api_versions(1)
    (folder,) = admin.log_dirs()
    assert folder.sizes[TopicPartition(topic, 0)] > 1000
    admin.alter_configs(TOPIC, topic, {"retention.ms": "77"})

    def is_set() -> bool:
        """Kafka's controller answers before its broker has heard of a change."""
        (setting,) = admin.describe_configs(TOPIC, topic, ["retention.ms"])
        return (setting.value, setting.source, setting.is_default) == ("77", "topic", False)

    wait_until(is_set, what="the new setting")
    assert "log.dirs" in {one.name for one in admin.describe_configs(BROKER, "1")}


def test_group_offsets_without_members(client: Client, topic: str) -> None:
    groups, where = Groups(client), TopicPartition(topic, 1)
    name = f"group-of-{topic}"
    assert groups.offsets(name) == {}
    groups.commit(name, {where: 5, TopicPartition(topic, 0): 1})
    assert groups.offsets(name) == {where: 5, TopicPartition(topic, 0): 1}
    assert groups.describe(name).state == "Empty"
    groups.delete_offsets(name, [where])
    assert groups.offsets(name) == {TopicPartition(topic, 0): 1}
    groups.delete(name)
    with pytest.raises(ClientError, match="GROUP_ID_NOT_FOUND"):
        groups.describe(name)


def transactional_brokers(cluster: Any) -> bool:
    with Client(cluster.bootstrap) as client:
        return api_key("EndTxn") in Admin(client).api_versions()


def test_what_was_aborted_is_read_only_by_those_who_want_everything(client: Client, topic: str, cluster: Any) -> None:
    if not transactional_brokers(cluster):
        # A broker without transactions must not pretend to have them; there is nothing aborted to read.
        with pytest.raises(ClientError, match="EndTxn not at all"):
            end_transaction(client)
        return
    from confluent_kafka import Producer as TheirProducer

    for name, commit in (("kept", True), ("aborted", False), ("kept too", True)):
        producer = TheirProducer({"bootstrap.servers": cluster.bootstrap, "transactional.id": f"{topic}-{name}"})
        producer.init_transactions(10)
        producer.begin_transaction()
        producer.produce(topic, value=name.encode(), partition=0)
        producer.flush(10)
        end = producer.commit_transaction if commit else producer.abort_transaction
        end(10)
    where = TopicPartition(topic, 0)
    # The markers are written after the coordinator has answered.
    wait_until(lambda: stable_end(client, where) == 6, what="every transaction has its marker")
    committed = Reader(client, {where: 0}, until={where: 6}, isolation=READ_COMMITTED)
    assert values(committed) == [b"kept", b"kept too"]
    assert values(Reader(client, {where: 0}, until={where: 6})) == [b"kept", b"aborted", b"kept too"]


def test_a_group_of_the_newer_kind(client: Client, topic: str, cluster: Any) -> None:
    from confluent_kafka import Consumer

    groups, name = Groups(client), f"newer-{topic}"
    if api_key("ConsumerGroupDescribe") not in Admin(client).api_versions():
        assert {group.group_type for group in groups.list()} <= {"classic"}
        return
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": name, "group.protocol": "consumer"})
    consumer.subscribe([topic])
    try:
        wait_until(lambda: consumer.poll(0.1) is None and len(consumer.assignment()) == 3, what="the assignment")
        group = groups.describe(name)
    finally:
        consumer.close()
    (member,) = group.members
    assert (group.kind, group.state, member.partitions) == ("consumer", "Stable", tuple(places(topic)))


def stable_end(client: Client, where: TopicPartition) -> int:
    return list_offsets(client, {where: LATEST}, READ_COMMITTED)[where].offset


def end_transaction(client: Client) -> None:
    from penstock.core.wire.api.end_txn import EndTxnRequest, EndTxnResponse

    client.ask(EndTxnRequest(), EndTxnResponse)
