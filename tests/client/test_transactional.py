"""Transactions of our own client on running brokers, in both protocols; and what is found and ended from outside."""

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from penstock.client import hanging
from penstock.client.admin import BROKER, Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import LATEST, READ_COMMITTED, READ_UNCOMMITTED, list_offsets
from penstock.client.reading import Reader
from penstock.client.transactional import TransactionalProducer
from penstock.client.transactions import Transactions
from penstock.core.base.errors import ErrorCode
from penstock.core.records.batch import TRANSACTIONAL_BIT
from penstock.core.records.build import BatchBuilder
from penstock.core.wire.api.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from penstock.core.wire.api.update_features import FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse
from tests.waiting import wait_until

pytestmark = pytest.mark.client

VERIFICATION = "transaction.partition.verification.enable"
AT_ONCE_MS = -(1 << 40)


@pytest.fixture
def client(cluster: Any) -> Iterator[Client]:
    with Client(cluster.bootstrap, timeout=20) as one:
        yield one


@pytest.fixture
def topic(client: Client, request: pytest.FixtureRequest) -> str:
    name: str = "".join(c if c.isalnum() else "." for c in request.node.name)
    Admin(client).create_topic(name, 2)
    client.topic(name)
    return name


@pytest.fixture(params=[2, 0])
def protocol(client: Client, request: pytest.FixtureRequest) -> Iterator[int]:
    """The level of `transaction.version`."""
    level: int = request.param
    set_level(client, level)
    yield level
    set_level(client, 2)


def set_level(client: Client, level: int) -> None:
    if Admin(client).features().get("transaction.version", 0) == level:
        return
    # 3 lets a level go down although something may be lost by it.
    update = FeatureUpdateKey(
        feature="transaction.version", max_version_level=level, upgrade_type=1 if level == 2 else 3
    )
    client.controller()
    answer = client.ask(UpdateFeaturesRequest(feature_updates=[update]), UpdateFeaturesResponse)
    assert answer.error_code == 0, answer


def values(client: Client, topic: str, isolation: int) -> list[bytes | None]:
    places = [TopicPartition(topic, number) for number in range(2)]
    ends = {
        where: found.offset for where, found in list_offsets(client, dict.fromkeys(places, LATEST), isolation).items()
    }
    reader = Reader(client, dict.fromkeys(places, 0), until=ends, isolation=isolation)
    return sorted(record.value for chunk in reader for record in chunk.records)


def test_what_is_committed_counts_and_nothing_else(client: Client, topic: str, protocol: int) -> None:
    producer = TransactionalProducer(client, topic)
    for number in range(3):
        with producer.transaction():
            for partition in range(2):
                producer.send(topic, None, b"%d" % number, partition=partition)
        with suppress(ZeroDivisionError), producer.transaction():
            producer.send(topic, None, b"no", partition=number % 2)
            producer.flush()
            raise ZeroDivisionError
    # A commit is decided when it is answered; its markers come a moment later.
    wait_until(lambda: values(client, topic, READ_COMMITTED) == [b"0", b"0", b"1", b"1", b"2", b"2"])
    assert values(client, topic, READ_UNCOMMITTED).count(b"no") == 3


def test_who_begins_later_ends_who_was_there(client: Client, topic: str, protocol: int) -> None:
    old, new = TransactionalProducer(client, topic), TransactionalProducer(client, topic)
    old.begin()
    old.send(topic, None, b"old", partition=0)
    old.flush()
    new.begin()
    with pytest.raises(ClientError) as fenced:
        old.commit()
    assert fenced.value.code in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
    old.abort()
    with pytest.raises(ClientError, match="PRODUCER_FENCED"):
        old.begin()
    new.send(topic, None, b"new", partition=0)
    new.commit()
    wait_until(lambda: values(client, topic, READ_COMMITTED) == [b"new"])


def test_nothing_sent_is_nothing_to_end(client: Client, topic: str, protocol: int) -> None:
    producer = TransactionalProducer(client, topic)
    with producer.transaction():
        pass
    producer.begin()
    producer.abort()
    with producer.transaction():
        producer.send(topic, None, b"x", partition=1)
    wait_until(lambda: values(client, topic, READ_COMMITTED) == [b"x"])


def test_transactions_are_listed_described_and_ended_from_outside(client: Client, topic: str) -> None:
    transactions = Transactions(client)
    producer = TransactionalProducer(client, topic, timeout_ms=50_000)
    producer.begin()
    producer.send(topic, None, b"x", partition=1)
    producer.flush()
    known = transactions.describe(topic)
    assert (known.state, known.timeout_ms, known.partitions) == ("Ongoing", 50_000, (TopicPartition(topic, 1),))
    assert known.is_open
    (listed,) = transactions.list(states=["Ongoing"], producer_ids=[known.producer_id])
    assert (listed.transactional_id, listed.state, listed.coordinator) == (topic, "Ongoing", known.coordinator)
    assert not transactions.list(producer_ids=[known.producer_id], older_than_ms=3_600_000)
    assert not transactions.list(states=["Empty"], producer_ids=[known.producer_id])
    # Its coordinator will end it: it does not hang, however old it is.
    assert not hanging.hanging(client, known.partitions, AT_ONCE_MS, now_ms())
    transactions.terminate(known)
    assert not transactions.describe(topic).is_open
    with pytest.raises(ClientError) as fenced:
        producer.commit()
    assert fenced.value.code in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
    with pytest.raises(ClientError, match="TRANSACTIONAL_ID_NOT_FOUND"):
        transactions.describe(f"{topic}-not")


def test_what_hangs_is_found_and_ended(client: Client, topic: str) -> None:
    where = TopicPartition(topic, 0)
    with VerificationOff(client):
        write_outside(client, where, producer_id=77_000)
    assert values(client, topic, READ_COMMITTED) == []
    (found,) = hanging.hanging(client, [where, TopicPartition(topic, 1)], AT_ONCE_MS, now_ms())
    assert (found.where, found.producer_id, found.producer_epoch, found.start_offset) == (where, 77_000, 3, 0)
    assert not hanging.hanging(client, [where], 60_000, now_ms())
    hanging.abort(client, found)
    assert not hanging.hanging(client, [where], AT_ONCE_MS, now_ms())
    producer = TransactionalProducer(client, topic)
    with producer.transaction():
        producer.send(topic, None, b"after", partition=0)
    wait_until(lambda: values(client, topic, READ_COMMITTED) == [b"after"])


class VerificationOff:
    """Brokers take what no coordinator has vouched for, as those before 3.6 did."""

    def __init__(self, client: Client) -> None:
        self._admin = Admin(client)

    def __enter__(self) -> None:
        self._admin.alter_configs(BROKER, "", {VERIFICATION: "false"})

    def __exit__(self, *_: object) -> None:
        self._admin.alter_configs(BROKER, "", {}, [VERIFICATION])


def write_outside(client: Client, where: TopicPartition, producer_id: int, ago_ms: int = 0) -> None:
    """A batch of a transaction that its coordinator knows nothing of."""
    batch = BatchBuilder()
    batch.append(None, b"hangs", (), now_ms() - ago_ms)
    data = batch.build(producer_id=producer_id, producer_epoch=3, base_sequence=0, attributes=TRANSACTIONAL_BIT)
    partition = PartitionProduceData(index=where.partition, records=data)
    topics = [TopicProduceData(name=where.topic, partition_data=[partition])]
    request = ProduceRequest(transactional_id="nobody", acks=-1, timeout_ms=5_000, topic_data=topics)

    def is_taken() -> bool:
        answer = client.ask(request, ProduceResponse, node=client.leader(where), newest_version=11)
        return answer.responses[0].partition_responses[0].error_code == 0

    wait_until(is_taken, what="a batch that nobody vouches for")


def now_ms() -> int:
    return int(time.time() * 1000)


def test_the_version_changes_while_a_transaction_is_open(client: Client, topic: str) -> None:
    """The producer goes on in the protocol in which it began, or in the other one; nothing is lost or doubled."""
    producer = TransactionalProducer(client, f"{topic}-tx")
    expected: list[bytes | None] = []
    # Kafka cannot end a transaction of the second protocol at level 0.
    for number, level in enumerate((1, 2, 1, 2, 1, 2)):
        producer.begin()
        for partition in range(2):
            producer.send(topic, None, b"%d" % number, partition=partition)
        producer.flush()
        set_level(client, level)
        if number % 3 == 2:
            producer.abort()
        else:
            producer.commit()
            expected += [b"%d" % number] * 2
    wait_until(lambda: values(client, topic, READ_COMMITTED) == expected)
