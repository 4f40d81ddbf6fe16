"""Transactions from Python: all or nothing, with the offsets of what was read, whoever dies or comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import confluent_kafka
import pytest

from penstock import (
    AsyncConsumer,
    AsyncProducer,
    Consumer,
    Producer,
    ProducerFenced,
    Record,
    RetryPolicy,
    process_async,
    read_process_write,
    read_process_write_async,
)
from penstock.client.blocking import Client
from penstock.testing import Broker
from tests.client.test_transactional import set_level

pytestmark = pytest.mark.client

NewTopic = Callable[..., str]
END = "end"


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with Broker({"group.initial.rebalance.delay.ms": 0, "transaction.state.log.num.partitions": 1}) as broker:
        yield broker.bootstrap


def written(bootstrap: str, topic: str, *values: str) -> None:
    with Producer(bootstrap) as producer:
        for value in values:
            producer.send(topic, value=value)


def committed(bootstrap: str, topic: str) -> list[str]:
    """All that a reader of committed records sees."""
    written(bootstrap, topic, END)
    found = []
    with Consumer(bootstrap, group=f"{topic}-all", topics=[topic]) as consumer:
        for record in consumer:
            if record.text == END:
                return found
            found.append(record.text)
    raise AssertionError("nothing ended the topic")


def test_what_is_sent_in_a_transaction_counts_as_a_whole(bootstrap: str, new_topic: NewTopic) -> None:
    one, other = new_topic(), new_topic()
    with Producer(bootstrap, transactional_id=f"{one}-tx") as producer:
        with producer.transaction():
            producer.send(one, value="a")
            producer.send(other, value="b")
        with pytest.raises(TypeError, match="not dict"), producer.transaction():
            producer.send_and_wait(one, value="never") and producer.send(one, value={})
        with producer.transaction() as transaction:
            producer.send(one, value="never either")
            transaction.abort()
        with pytest.raises(ValueError, match="sends in a transaction"):
            producer.send(one, value="outside")
        with producer.transaction():
            producer.send(one, value="c")
    assert (committed(bootstrap, one), committed(bootstrap, other)) == (["a", "c"], ["b"])


def test_whoever_begins_later_fences(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic()
    with (
        Producer(bootstrap, transactional_id="fenced") as first,
        Producer(bootstrap, transactional_id="fenced") as second,
    ):
        with first.transaction():
            first.send(topic, value="first")
        with second.transaction():
            second.send(topic, value="second")
        with pytest.raises(ProducerFenced), first.transaction():
            first.send(topic, value="late")
    assert committed(bootstrap, topic) == ["first", "second"]


def test_what_is_read_and_what_is_written_count_together(bootstrap: str, new_topic: NewTopic) -> None:
    source, target = new_topic(), new_topic()
    written(bootstrap, source, *map(str, range(10)))
    failed: list[str] = []

    def handle(records: Sequence[Record]) -> None:
        for record in records:
            producer.send(target, value=record.text)
            if record.text == "5" and not failed:
                failed.append(record.text)
                raise ConnectionError("once")

    def stop() -> bool:
        return [each.offset for each in consumer.committed()] == [10]

    with (
        Producer(bootstrap, transactional_id=f"{target}-tx") as producer,
        Consumer(bootstrap, group=f"{source}-g", topics=[source]) as consumer,
    ):
        with pytest.raises(ConnectionError):
            read_process_write(consumer, producer, handle, records_max=3, stop=stop)
        read_process_write(consumer, producer, handle, records_max=3, stop=stop)
    assert committed(bootstrap, target) == [*map(str, range(10))]


def left_behind(bootstrap: str, source: str, target: str, name: str) -> None:
    """A process that dies with a transaction open, the offsets of what it has read in it."""
    reading = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": f"{source}-g", "log_level": 0})
    reading.subscribe([source])
    while reading.consumer_group_metadata() is None or not reading.assignment():
        reading.poll(0.1)
    writing = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "log_level": 0})
    writing.init_transactions(30)
    writing.begin_transaction()
    writing.produce(target, b"of the dead")
    writing.flush()
    place = confluent_kafka.TopicPartition(source, 0, 2)
    writing.send_offsets_to_transaction([place], reading.consumer_group_metadata(), 30)
    reading.close()


def test_what_a_dead_process_left_open_holds_nobody_up(bootstrap: str, new_topic: NewTopic) -> None:
    """Its offsets cannot be read before its transaction is ended, which its successor does before it reads."""
    source, target = new_topic(), new_topic()
    written(bootstrap, source, "0", "1", "2")
    left_behind(bootstrap, source, target, f"{target}-tx")
    with (
        Producer(bootstrap, transactional_id=f"{target}-tx") as producer,
        Consumer(bootstrap, group=f"{source}-g", topics=[source]) as consumer,
    ):
        read_process_write(
            consumer,
            producer,
            lambda records: [producer.send(target, value=record.text) for record in records],
            stop=lambda: [each.offset for each in consumer.committed()] == [3] if consumer.assignment else False,
        )
    assert committed(bootstrap, target) == ["0", "1", "2"]


def test_the_same_for_asyncio(bootstrap: str, new_topic: NewTopic) -> None:
    source, target = new_topic(), new_topic()
    written(bootstrap, source, *map(str, range(10)))
    seen: list[str] = []

    async def handle(records: Sequence[Record]) -> None:
        for record in records:
            await producer.send(target, value=record.text)
            seen.append(record.text)
            if len(seen) == 4:
                raise ConnectionError("once")

    async def talk() -> None:
        nonlocal producer
        producer = AsyncProducer(bootstrap, transactional_id=f"{target}-tx")
        async with producer, AsyncConsumer(bootstrap, group=f"{source}-g", topics=[source]) as consumer:
            with pytest.raises(ConnectionError):
                await read_process_write_async(consumer, producer, handle, records_max=2)
            await read_process_write_async(
                consumer, producer, handle, records_max=4, stop=lambda: seen[-1:] == ["9"] and len(seen) > 10
            )
            assert [each.offset for each in await consumer.committed()] == [10]

    producer: AsyncProducer
    asyncio.run(talk())
    assert committed(bootstrap, target) == [*map(str, range(10))]


def test_each_record_for_asyncio(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic()
    written(bootstrap, topic, "good", "slow", "poison", "better")
    tried: list[str] = []

    async def handle(record: Record) -> None:
        tried.append(record.text)
        if record.text == "poison":
            raise ValueError("cannot be read")
        if record.text == "slow" and tried.count("slow") < 3:
            raise TimeoutError("try again")

    async def talk() -> list[int]:
        retry = RetryPolicy(pause_ms_first=1, pause_ms_max=1)
        async with (
            AsyncProducer(bootstrap) as producer,
            AsyncConsumer(bootstrap, group=f"{topic}-g", topics=[topic]) as consumer,
        ):
            await process_async(
                consumer, handle, dead_letters=producer, retry=retry, stop=lambda: "better" in tried[-1:]
            )
            return [each.offset for each in await consumer.committed()]

    assert asyncio.run(talk()) == [4]
    assert tried == ["good", "slow", "slow", "slow", "poison", "better"]
    with Consumer(bootstrap, group=f"{topic}-dead", topics=[f"{topic}.dlq"]) as dead:
        assert [record.text for record in islice(dead, 1)] == ["poison"]


def test_an_error_without_dead_letters_ends_the_loop(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic()
    written(bootstrap, topic, "good", "poison")

    async def handle(record: Record) -> None:
        if record.text == "poison":
            raise ValueError("cannot be read")

    async def talk() -> None:
        async with AsyncConsumer(bootstrap, group=f"{topic}-g", topics=[topic]) as consumer:
            await process_async(consumer, handle)

    with pytest.raises(ValueError, match="cannot be read"):
        asyncio.run(talk())
    with Consumer(bootstrap, group=f"{topic}-g", topics=[topic]) as consumer:
        assert [record.text for record in islice(consumer, 1)] == ["poison"]


def test_the_version_changes_while_a_transaction_is_open(bootstrap: str, new_topic: NewTopic) -> None:
    """librdkafka goes on in the protocol in which it began, and so does whoever begins later in the other one."""
    topic = new_topic()
    expected: list[str] = []
    with Client(bootstrap) as client, Producer(bootstrap, transactional_id=f"{topic}-old") as old:
        for level in (0, 2, 1, 2):
            with Producer(bootstrap, transactional_id=f"{topic}-new") as new:
                for number, producer in enumerate((old, new)):
                    with producer.transaction():
                        producer.send_and_wait(topic, value=f"{level} {number}")
                        set_level(client, level)
                    expected.append(f"{level} {number}")
    assert committed(bootstrap, topic) == expected
