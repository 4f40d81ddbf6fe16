"""The admin client of librdkafka: topics, partitions, settings, records, and the errors it must be told."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from penstock.testing import Broker
from tests.conformance.confluent import admin, consumer, producer, send, send_well
from tests.waiting import wait_until

pytestmark = pytest.mark.client


def result(futures: Mapping[Any, Future[Any]]) -> Any:
    (future,) = futures.values()
    return future.result(20)


def refusal(call: Callable[[], Any]) -> int:
    with pytest.raises(KafkaException) as caught:
        call()
    error = caught.value.args[0]
    assert isinstance(error, KafkaError)
    return int(error.code())


def topic_setting(broker: Broker, topic: str, key: str) -> ConfigEntry:
    asking = admin(broker)
    entry = result(asking.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]))[key]
    assert isinstance(entry, ConfigEntry)
    return entry


def test_topics_are_created_described_and_deleted(broker: Broker, name: str) -> None:
    asking = admin(broker)
    result(asking.create_topics([NewTopic(name, 3, 1, config={"retention.ms": "1234"})]))
    described = result(asking.describe_topics(TopicCollection([name])))
    assert [partition.id for partition in described.partitions] == [0, 1, 2]
    assert all(partition.leader.id == 1 for partition in described.partitions)
    assert topic_setting(broker, name, "retention.ms").value == "1234"
    result(asking.delete_topics([name]))
    wait_until(lambda: name not in asking.list_topics(timeout=10).topics)
    assert refusal(lambda: result(asking.delete_topics([name]))) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_a_topic_made_again_is_empty(broker: Broker, name: str) -> None:
    asking = admin(broker)
    result(asking.create_topics([NewTopic(name, 1, 1)]))
    send_well(producer(broker), name, b"old")
    result(asking.delete_topics([name]))
    result(asking.create_topics([NewTopic(name, 1, 1)]))
    assert send_well(producer(broker), name, b"new").offset() == 0


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (NewTopic("a b", 1, 1), KafkaError.TOPIC_EXCEPTION),
        (NewTopic("..", 1, 1), KafkaError.TOPIC_EXCEPTION),
        (NewTopic("x" * 250, 1, 1), KafkaError.TOPIC_EXCEPTION),
        (NewTopic("none", 0, 1), KafkaError.INVALID_PARTITIONS),
        (NewTopic("copies", 1, 2), KafkaError.INVALID_REPLICATION_FACTOR),
        (NewTopic("setting", 1, 1, config={"no.such": "1"}), KafkaError.INVALID_CONFIG),
        (NewTopic("value", 1, 1, config={"retention.ms": "soon"}), KafkaError.INVALID_CONFIG),
        (NewTopic("assigned", 2, replica_assignment=[[7], [1]]), KafkaError.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_what_cannot_be_created(broker: Broker, topic: NewTopic, code: int) -> None:
    asking = admin(broker)
    assert refusal(lambda: result(asking.create_topics([topic]))) == code
    assert topic.topic not in asking.list_topics(timeout=10).topics


def test_creating_twice_and_only_checking(broker: Broker, name: str) -> None:
    asking = admin(broker)
    result(asking.create_topics([NewTopic(name, 1, 1)], validate_only=True))
    assert name not in asking.list_topics(timeout=10).topics
    result(asking.create_topics([NewTopic(name, 2, replica_assignment=[[1], [1]])]))
    assert refusal(lambda: result(asking.create_topics([NewTopic(name, 1, 1)]))) == KafkaError.TOPIC_ALREADY_EXISTS


def test_partitions_are_added(broker: Broker, name: str) -> None:
    asking = admin(broker)
    broker.create_topic(name, partitions=2)
    result(asking.create_partitions([NewPartitions(name, 4)]))
    assert len(asking.list_topics(name, timeout=10).topics[name].partitions) == 4
    assert refusal(lambda: result(asking.create_partitions([NewPartitions(name, 3)]))) == KafkaError.INVALID_PARTITIONS
    send_well(producer(broker), name, b"x", partition=3)


def test_topic_settings_change_and_go_back(broker: Broker, name: str) -> None:
    asking = admin(broker)
    broker.create_topic(name)

    def alter(*entries: ConfigEntry) -> None:
        resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=list(entries))
        result(asking.incremental_alter_configs([resource]))

    set_, delete, append = AlterConfigOpType.SET, AlterConfigOpType.DELETE, AlterConfigOpType.APPEND
    alter(ConfigEntry("max.message.bytes", "500", incremental_operation=set_))
    entry = topic_setting(broker, name, "max.message.bytes")
    assert (entry.value, entry.source) == ("500", ConfigSource.DYNAMIC_TOPIC_CONFIG.value)
    assert send(producer(broker), name, b"x" * 600).error().code() == KafkaError.MSG_SIZE_TOO_LARGE
    alter(ConfigEntry("max.message.bytes", None, incremental_operation=delete))
    assert topic_setting(broker, name, "max.message.bytes").is_default
    send_well(producer(broker), name, b"x" * 600)
    alter(ConfigEntry("cleanup.policy", "compact", incremental_operation=append))
    assert set(topic_setting(broker, name, "cleanup.policy").value.split(",")) == {"delete", "compact"}
    bad = ConfigEntry("retention.ms", "soon", incremental_operation=set_)
    assert refusal(lambda: alter(bad)) == KafkaError.INVALID_CONFIG


def test_broker_settings_are_described(broker: Broker) -> None:
    asking = admin(broker)
    entries = result(asking.describe_configs([ConfigResource(ResourceType.BROKER, "1")]))
    assert entries["offsets.topic.num.partitions"].value == "4"
    assert entries["offsets.topic.num.partitions"].is_read_only
    assert entries["log.segment.bytes"].source == ConfigSource.DEFAULT_CONFIG.value


def test_records_are_deleted(broker: Broker, name: str) -> None:
    asking = admin(broker)
    writer = producer(broker)
    for _ in range(5):
        send_well(writer, name, b"x")
    assert result(asking.delete_records([TopicPartition(name, 0, 3)])).low_watermark == 3
    with consumer(broker) as reader:
        assert reader.get_watermark_offsets(TopicPartition(name, 0), timeout=10) == (3, 5)
    beyond = TopicPartition(name, 0, 50)
    assert refusal(lambda: result(asking.delete_records([beyond]))) == KafkaError.OFFSET_OUT_OF_RANGE
    assert result(asking.delete_records([TopicPartition(name, 0, -1)])).low_watermark == 5


def test_topics_are_created_by_use(broker: Broker, name: str) -> None:
    send_well(producer(broker), name, b"x")
    assert name in admin(broker).list_topics(timeout=10).topics


def test_a_compacted_topic_wants_keys(broker: Broker, name: str) -> None:
    broker.create_topic(name, cleanup_policy="compact")
    assert send(producer(broker), name, b"x").error().code() == KafkaError.INVALID_RECORD
    send_well(producer(broker), name, b"x", key=b"k")


def test_the_cluster_describes_itself(broker: Broker) -> None:
    asking = admin(broker)
    cluster = asking.describe_cluster().result(10)
    assert [(node.id, node.port) for node in cluster.nodes] == [(1, broker.port)]
    assert cluster.controller.id == 1
    assert len(cluster.cluster_id) == 22
