"""Dead letters in their topic: bytes as they came, headers that tell everything."""

from collections.abc import Iterator

import pytest

from penstock.client.admin import TOPIC, Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import edges
from penstock.client.reading import Reader
from penstock.core.delivery.policy import ERROR_MESSAGE_CHARS_MAX, GiveUp
from penstock.core.records.record import Record as Stored
from penstock.spark.pipelines import ConsoleSink, Json, Pipeline, Record, TopicSource, deadletters
from penstock.spark.pipelines.cluster import Cluster
from penstock.spark.pipelines.deadletters import HEADER_BYTES_MAX, bury, create_topics, headers_of
from penstock.spark.pipelines.decoding import DeadLetter
from penstock.testing import Broker

RECORD = Record(b"key", b"\x00\xff", (("trace", b"abc"), ("none", None)), "orders", 1, 42, 1_700_000_000_123)
LETTER = DeadLetter(RECORD, GiveUp(2, "Undecodable", "not UTF-8"))


@pytest.fixture(autouse=True)
def _nobody_stays_connected() -> Iterator[None]:
    """A worker keeps its clients until it dies; a test process has other tests to do."""
    yield
    for client in deadletters._clients.values():
        client.close()
    deadletters._clients.clear()


def declare(topic: str, **changes: str) -> Pipeline:
    return Pipeline("p", (TopicSource(topic, Json("a STRING"), **changes),), (ConsoleSink(),))  # type: ignore[arg-type]


def read(broker: Broker, topic: str) -> dict[int, list[Stored]]:
    with Client(broker.bootstrap) as client:
        places = [TopicPartition(topic, number) for number in range(len(client.topic(topic).partitions))]
        limits = edges(client, places)
        found: dict[int, list[Stored]] = {where.partition: [] for where in places}
        starts = {where: first for where, (first, _) in limits.items()}
        for chunk in Reader(client, starts, until={where: end for where, (_, end) in limits.items()}):
            found[chunk.where.partition] += chunk.records
    return found


def test_headers_tell_where_why_and_how_often() -> None:
    assert headers_of(LETTER, "revenue") == [
        ("trace", b"abc"),
        ("none", None),
        ("__penstock.errors.topic", b"orders"),
        ("__penstock.errors.partition", b"1"),
        ("__penstock.errors.offset", b"42"),
        ("__penstock.errors.timestamp", b"1700000000123"),
        ("__penstock.errors.class", b"Undecodable"),
        ("__penstock.errors.message", b"not UTF-8"),
        ("__penstock.errors.attempts", b"2"),
        ("__penstock.errors.pipeline", b"revenue"),
    ]


def test_our_headers_have_a_largest_size() -> None:
    record = RECORD._replace(headers=(), topic="t" * 249, partition=2**31 - 1, offset=2**63 - 1, timestamp=2**63 - 1)
    letter = DeadLetter(record, GiveUp(2**31, "E" * 200, "\U0001f600" * ERROR_MESSAGE_CHARS_MAX))
    ours = headers_of(letter, "p" * 200)

    assert sum(len(name) + len(value or b"") + 10 for name, value in ours) <= HEADER_BYTES_MAX


def test_a_letter_is_the_record_as_it_came_in_its_own_partition(broker: Broker, penstock_topic: str) -> None:
    broker.create_topic(penstock_topic, 3)
    pipeline = declare(penstock_topic)
    with Client(broker.bootstrap) as client:
        create_topics(pipeline, client)
        create_topics(pipeline, client)
    letters = f"{penstock_topic}.dlq"
    nothing = RECORD._replace(topic=penstock_topic, partition=2, key=None, value=None, headers=())
    here = [LETTER._replace(record=RECORD._replace(topic=penstock_topic)), LETTER._replace(record=nothing)]
    bury(here, Cluster(broker.bootstrap), "p", {penstock_topic: letters})
    found = read(broker, letters)

    assert [len(found[number]) for number in range(3)] == [0, 1, 1]
    assert (found[1][0].key, found[1][0].value, found[1][0].headers[0]) == (b"key", b"\x00\xff", ("trace", b"abc"))
    assert (found[2][0].key, found[2][0].value) == (None, None)


def test_the_largest_record_has_room_with_its_headers(broker: Broker, penstock_topic: str) -> None:
    broker.create_topic(penstock_topic, 1, max_message_bytes=2000)
    with Client(broker.bootstrap) as client:
        create_topics(declare(penstock_topic), client)
        (limit,) = Admin(client).describe_configs(TOPIC, f"{penstock_topic}.dlq", ["max.message.bytes"])

    assert limit.value == str(2000 + HEADER_BYTES_MAX)


def test_fewer_partitions_take_the_letters_of_more(broker: Broker, penstock_topic: str) -> None:
    broker.create_topic(penstock_topic, 1)
    bury([LETTER], Cluster(broker.bootstrap), "p", {"orders": penstock_topic})

    assert len(read(broker, penstock_topic)[0]) == 1


def test_a_topic_that_was_never_declared_gets_letters_too(broker: Broker, penstock_topic: str) -> None:
    bury([LETTER._replace(record=RECORD._replace(topic=penstock_topic))], Cluster(broker.bootstrap), "p", {})

    assert sum(map(len, read(broker, f"{penstock_topic}.dlq").values())) == 1


def test_a_source_that_does_not_exist_is_named(broker: Broker, penstock_topic: str) -> None:
    with Client(broker.bootstrap) as client, pytest.raises(ClientError, match=f"its topic {penstock_topic} does not"):
        create_topics(declare(penstock_topic), client)


@pytest.mark.slow
def test_letters_stay_in_the_cluster_that_is_read(broker: Broker, penstock_topic: str) -> None:
    with Broker(beside=True) as elsewhere:
        elsewhere.create_topic(penstock_topic)
        options = {"Kafka.Bootstrap.Servers": elsewhere.bootstrap}
        source = TopicSource(penstock_topic, Json("a STRING"), options=options)
        with Client(broker.bootstrap) as client:
            create_topics(Pipeline("p", (source,), (ConsoleSink(),)), client)

        assert read(elsewhere, f"{penstock_topic}.dlq") == {0: []}


@pytest.mark.slow
def test_a_client_that_failed_is_not_used_again(penstock_topic: str) -> None:
    with Broker(beside=True) as short_lived:
        short_lived.create_topic(penstock_topic)
        bury([LETTER], Cluster(short_lived.bootstrap), "p", {"orders": penstock_topic})
        short_lived.kill()
        short_lived.start()
        bury([LETTER], Cluster(short_lived.bootstrap), "p", {"orders": penstock_topic})

        assert len(read(short_lived, penstock_topic)[0]) == 2
