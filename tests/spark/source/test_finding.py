"""The driver's questions, asked of a real node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from pyspark.sql.datasource import CaseInsensitiveDict

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import NO_OFFSET
from penstock.spark.source.errors import OptionError
from penstock.spark.source.finding import Finder
from penstock.spark.source.options import SourceOptions
from penstock.spark.source.positions import BEGINNING, END, ByOffset, ByTime
from penstock.testing import Broker

pytestmark = pytest.mark.client
NOON_MS = 1_772_366_400_000


class Asked:
    """A topic of two partitions with 10 and 5 records, a second apart, and finders for it."""

    def __init__(self, broker: Broker, topic: str) -> None:
        self.broker, self.topic = broker, topic
        self.first, self.second = TopicPartition(topic, 0), TopicPartition(topic, 1)
        self._finders: list[Finder] = []

    def produce(self, partition: int, numbers: range) -> None:
        producer = Producer({"bootstrap.servers": self.broker.bootstrap})
        for number in numbers:
            producer.produce(self.topic, b"x" * 100, partition=partition, timestamp=NOON_MS + 1000 * number)
        assert producer.flush(30) == 0

    def finder(self, **given: str) -> Finder:
        ways = {"subscribe", "subscribePattern", "assign"}
        options = {"kafka.bootstrap.servers": self.broker.bootstrap, "fetchOffset.retryIntervalMs": "10", **given}
        if not ways & given.keys():
            options["subscribe"] = self.topic
        finder = Finder(SourceOptions.for_stream(CaseInsensitiveDict(options)))
        self._finders.append(finder)
        return finder

    def close(self) -> None:
        for finder in self._finders:
            finder.close()


@pytest.fixture
def asked(broker: Broker, penstock_topic: str) -> Iterator[Asked]:
    broker.create_topic(penstock_topic, partitions=2, retention_ms=-1)
    here = Asked(broker, penstock_topic)
    here.produce(0, range(10))
    here.produce(1, range(5))
    yield here
    here.close()


def test_edges(asked: Asked) -> None:
    finder = asked.finder()
    assert finder.find(BEGINNING, is_start=True) == ({asked.first: 0, asked.second: 0}, frozenset())
    ends = {asked.first: 10, asked.second: 5}
    assert finder.find(END, is_start=True) == (ends, frozenset(ends))
    assert finder.latest() == ends
    assert finder.earliest([asked.second]) == {asked.second: 0}
    assert finder.earliest([]) == {}


def test_offsets_for_each_partition(asked: Asked) -> None:
    found = asked.finder().find(ByOffset({asked.first: 3, asked.second: -1}), is_start=True)
    assert found == ({asked.first: 3, asked.second: 5}, frozenset({asked.second}))
    with pytest.raises(OptionError, match="name every partition"):
        asked.finder().find(ByOffset({asked.first: 3}), is_start=True)


def test_times(asked: Asked) -> None:
    finder = asked.finder()
    early, late = ByTime(NOON_MS + 2500, latest_if_none=False), NOON_MS + 7000
    assert finder.find(early, is_start=True).offsets == {asked.first: 3, asked.second: 3}
    with pytest.raises(OptionError, match=f"{asked.second} has no record at or after"):
        finder.find(ByTime(late, latest_if_none=False), is_start=True)
    from_the_end = ({asked.first: 7, asked.second: 5}, frozenset({asked.second}))
    assert finder.find(ByTime(late, latest_if_none=True), is_start=True) == from_the_end
    assert finder.find(ByTime(late, latest_if_none=False), is_start=False) == from_the_end
    each = ByTime({asked.first: NOON_MS, asked.second: NOON_MS + 4000}, latest_if_none=False)
    assert finder.find(each, is_start=True).offsets == {asked.first: 0, asked.second: 4}
    assert finder.since({asked.second: late}) == {asked.second: NO_OFFSET}


def test_a_pattern_finds_topics_as_they_come_but_not_internal_ones(asked: Asked) -> None:
    finder = asked.finder(subscribePattern=f"{asked.topic}|^__")
    assert finder.latest().keys() == {asked.first, asked.second}
    asked.broker.create_topic(f"more-{asked.topic}")
    assert finder.latest().keys() == {asked.first, asked.second, TopicPartition(f"more-{asked.topic}", 0)}


def test_only_assigned_partitions_are_read(asked: Asked) -> None:
    assert asked.finder(assign=f'{{"{asked.topic}":[1]}}').latest() == {asked.second: 5}


def test_a_topic_that_nobody_knows_is_an_error_and_one_that_was_known_is_gone(asked: Asked) -> None:
    with pytest.raises(ClientError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        asked.finder(subscribe="nobody-made-this").latest()
    finder = asked.finder()
    finder.latest()
    with Client(asked.broker.bootstrap) as client:
        Admin(client).delete_topic(asked.topic)
    assert finder.latest() == {}
    assert finder.earliest([asked.first]) == {}
    assert asked.finder().latest({asked.first: 10}) == {}
    asked.broker.create_topic(asked.topic, partitions=2)
    assert finder.latest({asked.first: 10}) == {asked.first: 0, asked.second: 0}
    assert finder.take_renewed() == [asked.topic]
    assert finder.take_renewed() == []


def test_new_partitions_are_seen_unless_the_picture_may_be_old(asked: Asked) -> None:
    fresh, cached = asked.finder(), asked.finder(**{"partition.metadata.cache.ttl.ms": "600000"})
    for finder in (fresh, cached):
        finder.latest()
    with Client(asked.broker.bootstrap) as client:
        Admin(client).add_partitions(asked.topic, 3)
    assert len(fresh.latest()) == 3
    assert len(cached.latest()) == 2


def test_bytes_of_an_offset_are_the_mean_of_the_log(asked: Asked) -> None:
    density = asked.finder().bytes_per_offset([asked.first, asked.second])
    assert density.keys() == {asked.first, asked.second}
    assert all(100 < mean < 250 for mean in density.values())


def test_topics_have_ids(asked: Asked) -> None:
    finder = asked.finder()
    topic_id = finder.topic_id(asked.topic)
    assert topic_id is not None
    assert len(topic_id) == 16


def test_a_node_that_comes_back_is_asked_again(penstock_topic: str) -> None:
    with Broker(beside=True) as broker:
        broker.create_topic(penstock_topic, retention_ms=-1)
        here = Asked(broker, penstock_topic)
        here.produce(0, range(3))
        finder = here.finder()
        assert finder.latest() == {here.first: 3}
        broker.kill()
        broker.start()
        assert finder.latest() == {here.first: 3}
        here.close()
