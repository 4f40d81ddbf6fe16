"""Producer, Consumer and Admin against a node: what they promise, and what they say when they are misused."""

from collections.abc import Callable
from itertools import islice

import pytest

from penstock import (
    Admin,
    Consumer,
    PenstockError,
    Producer,
    Record,
    RetryPolicy,
    TopicExists,
    TopicUnknown,
    process,
    to_json,
)
from penstock.core.delivery.dead_letter import PREFIX

pytestmark = pytest.mark.client

NewTopic = Callable[..., str]


def read(consumer: Consumer, count: int) -> list[Record]:
    return list(islice(consumer, count))


def test_a_record_goes_in_and_comes_out(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic()
    with Producer(bootstrap, value_serializer=to_json) as producer:
        first = producer.send(topic, "k", {"n": 1}, headers={"trace": "7"}, timestamp_ms=1_700_000_000_000)
        assert (first.result().offset, first.result().topic) == (0, topic)
        assert producer.send_and_wait(topic, value=None).offset == 1
    with Consumer(bootstrap, group=f"{topic}-g", topics=[topic]) as consumer:
        one, two = read(consumer, 2)
    assert (one.key, one.json(), one.header("trace"), one.timestamp_ms) == (b"k", {"n": 1}, b"7", 1_700_000_000_000)
    assert (two.key, two.value) == (None, None)


def test_what_is_not_committed_comes_again(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(partitions=2)
    with Producer(bootstrap) as producer:
        for number in range(10):
            producer.send(topic, value=str(number), partition=number % 2)
    with Consumer(bootstrap, group=f"{topic}-g", topics=[topic]) as consumer:
        records = read(consumer, 10)
        assert sum(consumer.lag().values()) == 0
        consumer.commit_offsets([record for record in records if int(record.text) < 4])
        consumer.rewind()
        again = sorted(record.text for record in read(consumer, 6))
        assert again == ["4", "5", "6", "7", "8", "9"]
    with Consumer(bootstrap, group=f"{topic}-g", topics=[topic]) as consumer:
        assert sorted(record.text for record in read(consumer, 6)) == again
        consumer.commit_offsets()
        assert sorted(each.offset for each in consumer.committed()) == [5, 5]
        assert set(consumer.lag().values()) == {0}


def test_a_consumer_seeks_and_waits_without_losing_its_place(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic()
    with Producer(bootstrap) as producer:
        for number in range(5):
            producer.send(topic, value=str(number))
    with Consumer(bootstrap, group=f"{topic}-g", topics=[topic]) as consumer:
        assert [record.text for record in read(consumer, 2)] == ["0", "1"]
        consumer.wait(0.05)
        assert [record.text for record in read(consumer, 1)] == ["2"]
        consumer.seek(topic, 0, "beginning")
        assert [record.text for record in read(consumer, 1)] == ["0"]
        consumer.seek(topic, 0, 4)
        assert consumer.lag() == {(topic, 0): 5}
        assert [record.text for record in read(consumer, 1)] == ["4"]


def test_poison_is_tried_again_and_then_set_aside(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic()
    tried: list[str] = []

    def handle(record: Record) -> None:
        tried.append(record.text)
        if record.text == "poison":
            raise ValueError("cannot be read")
        if record.text == "slow" and tried.count("slow") < 3:
            raise TimeoutError("try again")

    with Producer(bootstrap) as producer, Consumer(bootstrap, group=f"{topic}-g", topics=[topic]) as consumer:
        for text in ("good", "poison", "slow", "better"):
            producer.send(topic, "key", text)
        producer.flush()
        retry = RetryPolicy(pause_ms_first=1, pause_ms_max=1)
        process(consumer, handle, dead_letters=producer, retry=retry, stop=lambda: "better" in tried[-1:])
        assert [each.offset for each in consumer.committed()] == [4]
    assert tried == ["good", "poison", "slow", "slow", "slow", "better"]
    with Consumer(bootstrap, group=f"{topic}-dead", topics=[f"{topic}.dlq"]) as dead:
        (letter,) = read(dead, 1)
    assert (letter.key, letter.text) == (b"key", "poison")
    reason = {
        name: letter.header(PREFIX + name) for name in ("topic", "offset", "class", "message", "attempts", "group")
    }
    assert reason == {
        "topic": topic.encode(),
        "offset": b"1",
        "class": b"ValueError",
        "message": b"cannot be read",
        "attempts": b"1",
        "group": f"{topic}-g".encode(),
    }


def test_without_a_place_for_dead_letters_the_error_ends_the_loop(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic()

    def handle(record: Record) -> None:
        if record.text == "poison":
            raise ValueError("cannot be read")

    with Producer(bootstrap) as producer:
        for text in ("good", "poison", "better"):
            producer.send(topic, value=text)
    with Consumer(bootstrap, group=f"{topic}-g", topics=[topic]) as consumer:
        with pytest.raises(ValueError, match="cannot be read"):
            process(consumer, handle)
        assert [record.text for record in read(consumer, 1)] == ["poison"]


def test_topics_are_created_described_changed_and_deleted(admin: Admin) -> None:
    admin.create_topic("described", partitions=3, config={"retention.ms": 60_000, "preallocate": False})
    with pytest.raises(TopicExists, match="creating described"):
        admin.create_topic("described")
    admin.create_topic("described", exist_ok=True)
    admin.add_partitions("described", 4)
    admin.set_topic_config("described", {"retention.ms": None, "max.message.bytes": 2_000})
    found = admin.describe_topic("described")
    assert [each.leader for each in found.partitions] == [found.partitions[0].leader] * 4
    assert (found.replication_factor, found.is_internal) == (1, False)
    assert (found.config["max.message.bytes"], found.config["retention.ms"]) == ("2000", "604800000")
    assert "described" in admin.list_topics()
    admin.delete_topic("described")
    with pytest.raises(TopicUnknown):
        admin.describe_topic("described")


def test_groups_are_listed_and_deleted(bootstrap: str, admin: Admin, new_topic: NewTopic) -> None:
    topic = new_topic()
    with Producer(bootstrap) as producer:
        producer.send(topic, value="x")
    with Consumer(bootstrap, group="leaves", topics=[topic]) as consumer:
        read(consumer, 1)
        consumer.commit_offsets()
    assert "leaves" in admin.list_groups()
    admin.delete_group("leaves")
    assert "leaves" not in admin.list_groups()


def test_misuse_is_a_type_error_or_a_value_error(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic()
    with Producer(bootstrap) as producer:
        with pytest.raises(TypeError, match="not dict"):
            producer.send(topic, value={"a": 1})
        with pytest.raises(ValueError, match="transactional id"):
            producer.transaction()
    with pytest.raises(ValueError, match="closed"):
        producer.send(topic, value="late")
    with pytest.raises(ValueError, match="a consumer has a group"):
        Consumer(bootstrap, group="")
    with pytest.raises(ValueError, match="No such configuration property"):
        Producer(bootstrap, config={"no.such.setting": 1})


def test_a_record_that_is_refused_says_so_in_its_future(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(**{"max.message.bytes": 100})
    with Producer(bootstrap) as producer:
        outcome = producer.send(topic, value="x" * 1_000)
        with pytest.raises(PenstockError, match=f"sending to {topic}") as refused:
            outcome.result()
        assert refused.value.name == "MSG_SIZE_TOO_LARGE"
