"""Groups of librdkafka consumers: every assignor, members that come and go, and what they commit."""

from functools import partial

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaException, TopicPartition

from penstock.testing import Broker
from tests.conformance.confluent import (
    admin,
    consumer,
    is_spread,
    owned,
    poll_once,
    poll_until,
    producer,
    read,
    send_well,
)

pytestmark = pytest.mark.client

ASSIGNORS = ["range", "roundrobin", "cooperative-sticky"]
PARTITIONS = 6


spread = partial(is_spread, PARTITIONS)


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_members_share_and_take_over(broker: Broker, name: str, assignor: str) -> None:
    broker.create_topic(name, partitions=PARTITIONS)
    writer = producer(broker)
    settings = {"partition_assignment_strategy": assignor}
    with consumer(broker, name, **settings) as one:
        one.subscribe([name])
        poll_until([one], lambda: spread(one), "the first assignment")
        with consumer(broker, name, **settings) as two, consumer(broker, name, **settings) as three:
            two.subscribe([name])
            poll_until([one, two], lambda: spread(one, two), "sharing between two")
            three.subscribe([name])
            poll_until([one, two, three], lambda: spread(one, two, three), "sharing between three")
            for index in range(PARTITIONS):
                writer.produce(name, b"x", partition=index)
            assert writer.flush(10) == 0
            seen: list[tuple[int, int]] = []
            while len(seen) < PARTITIONS:
                seen += [(each.partition(), each.offset()) for each in poll_once(one, two, three)]
            assert sorted(seen) == [(index, 0) for index in range(PARTITIONS)]
        poll_until([one], lambda: spread(one), "taking over from those who left")


def test_a_cooperative_rebalance_keeps_what_stays(broker: Broker, name: str) -> None:
    broker.create_topic(name, partitions=PARTITIONS)
    revoked: list[int] = []
    settings = {"partition_assignment_strategy": "cooperative-sticky"}
    with consumer(broker, name, **settings) as one, consumer(broker, name, **settings) as two:
        one.subscribe([name], on_revoke=lambda _, places: revoked.extend(place.partition for place in places))
        poll_until([one], lambda: spread(one), "the first assignment")
        two.subscribe([name])
        poll_until([one, two], lambda: spread(one, two), "sharing")
        assert len(revoked) == PARTITIONS // 2, "only what moved was taken away"


def test_a_static_member_comes_back_to_what_it_had(broker: Broker, name: str) -> None:
    broker.create_topic(name, partitions=PARTITIONS)
    with consumer(broker, name, group_instance_id="fixed-1") as one:
        one.subscribe([name])
        poll_until([one], lambda: spread(one), "the first assignment")
        with consumer(broker, name, group_instance_id="fixed-2") as two:
            two.subscribe([name])
            poll_until([one, two], lambda: spread(one, two), "sharing")
            before = owned(two)
        with consumer(broker, name, group_instance_id="fixed-2") as again:
            again.subscribe([name])
            poll_until([one, again], lambda: spread(one, again), "the return")
            assert owned(again) == before


def test_a_second_member_with_the_same_instance_fences_the_first(broker: Broker, name: str) -> None:
    broker.create_topic(name, partitions=PARTITIONS)
    with consumer(broker, name, group_instance_id="fixed") as one:
        one.subscribe([name])
        poll_until([one], lambda: spread(one), "the first assignment")
        with consumer(broker, name, group_instance_id="fixed") as two:
            two.subscribe([name])
            poll_until([two], lambda: spread(two), "taking over")
            with pytest.raises(KafkaException, match=r"FENCED_INSTANCE_ID|fenced|Fenced"):
                poll_failing(one)


def poll_failing(client: Consumer) -> None:
    while True:
        message = client.poll(0.1)
        if message is not None and message.error() is not None:
            raise KafkaException(message.error())


def test_commits_are_where_reading_resumes(broker: Broker, name: str) -> None:
    writer = producer(broker)
    for number in range(10):
        send_well(writer, name, str(number).encode())
    with consumer(broker, name) as reader:
        reader.subscribe([name])
        read(reader, 4)
        reader.commit(offsets=[TopicPartition(name, 0, 4, "note")], asynchronous=False)
    with consumer(broker, name) as reader:
        (committed,) = reader.committed([TopicPartition(name, 0)], timeout=10)
        assert (committed.offset, committed.metadata) == (4, "note")
        reader.subscribe([name])
        assert [int(message.value()) for message in read(reader, 6)] == list(range(4, 10))


def test_automatic_commits(broker: Broker, name: str) -> None:
    writer = producer(broker)
    for _ in range(3):
        send_well(writer, name, b"x")
    with consumer(broker, name, enable_auto_commit=True, auto_commit_interval_ms=50) as reader:
        reader.subscribe([name])
        read(reader, 3)
    with consumer(broker, name) as reader:
        assert reader.committed([TopicPartition(name, 0)], timeout=10)[0].offset == 3


def test_a_pattern_finds_new_topics(broker: Broker, name: str) -> None:
    broker.create_topic(f"{name}-a")
    with consumer(broker, name, topic_metadata_refresh_interval_ms=100) as reader:
        reader.subscribe([f"^{name}-.*"])
        poll_until([reader], lambda: len(reader.assignment()) == 1, "the first topic")
        broker.create_topic(f"{name}-b")
        poll_until([reader], lambda: len(reader.assignment()) == 2, "the second topic")


def test_groups_are_listed_described_and_deleted(broker: Broker, name: str) -> None:
    broker.create_topic(name, partitions=2)
    asking = admin(broker)
    with consumer(broker, name, client_id="me") as reader:
        reader.subscribe([name])
        poll_until([reader], lambda: len(reader.assignment()) == 2, "the assignment")
        described = asking.describe_consumer_groups([name])[name].result(10)
        assert described.state == ConsumerGroupState.STABLE
        assert described.partition_assignor == "range"
        (member,) = described.members
        assert member.client_id == "me"
        assert sorted(place.partition for place in member.assignment.topic_partitions) == [0, 1]
        listed = asking.list_consumer_groups(states={ConsumerGroupState.STABLE}).result().valid
        assert name in {group.group_id for group in listed}
        with pytest.raises(KafkaException, match=r"NON_EMPTY_GROUP|not empty"):
            asking.delete_consumer_groups([name])[name].result(10)
        reader.commit(offsets=[TopicPartition(name, 1, 0)], asynchronous=False)
    offsets = [TopicPartition(name, 0, 5), TopicPartition(name, 1, 6)]
    asking.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(name, offsets)])[name].result(10)
    found = asking.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)])[name].result(10)
    assert {place.partition: place.offset for place in found.topic_partitions} == {0: 5, 1: 6}
    asking.delete_consumer_groups([name])[name].result(10)
    with pytest.raises(KafkaException, match=r"GROUP_ID_NOT_FOUND|not exist"):
        asking.delete_consumer_groups([name])[name].result(10)
