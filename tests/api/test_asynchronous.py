"""The same for asyncio: nothing blocks the loop, and what is awaited is what the other twin returns."""

import asyncio
import inspect
from collections.abc import Callable

import pytest

from penstock import Admin, AsyncAdmin, AsyncConsumer, AsyncProducer, Consumer, Producer

pytestmark = pytest.mark.client

# What a transaction, or the twin itself, asks the consumer.
INNER = {"group_metadata", "positions", "put_back", "settled"}


@pytest.mark.parametrize(
    ("blocking", "twin"), [(Producer, AsyncProducer), (Consumer, AsyncConsumer), (Admin, AsyncAdmin)]
)
def test_whatever_one_has_the_other_has(blocking: type, twin: type) -> None:
    names = {name for name in vars(blocking) if not name.startswith("_")} - INNER
    assert names == {name for name in vars(twin) if not name.startswith("_")}
    for name in names - {"transaction"}:
        theirs, ours = getattr(blocking, name), getattr(twin, name)
        assert isinstance(theirs, property) or inspect.iscoroutinefunction(ours)


def test_what_is_sent_is_awaited_and_read(bootstrap: str, new_topic: Callable[..., str]) -> None:
    topic = new_topic()

    async def talk() -> list[str]:
        async with AsyncProducer(bootstrap) as producer:
            sent = [await producer.send(topic, value=str(number)) for number in range(10)]
            assert [each.offset for each in await asyncio.gather(*sent)] == list(range(10))
            assert (await producer.send_and_wait(topic, value="last")).offset == 10
            await producer.flush()
        async with AsyncConsumer(bootstrap, group=f"{topic}-g", topics=[topic]) as consumer:
            texts = []
            async for record in consumer:
                texts.append(record.text)
                if record.text == "last":
                    break
            await consumer.commit_offsets()
        async with AsyncAdmin(bootstrap) as admin:
            await admin.create_topic(f"{topic}-more")
            assert (await admin.describe_topic(f"{topic}-more")).name == f"{topic}-more"
            assert f"{topic}-g" in await admin.list_groups()
            assert f"{topic}-more" in await admin.list_topics()
            await admin.add_partitions(f"{topic}-more", 2)
            await admin.set_topic_config(f"{topic}-more", {"retention.ms": 1000})
            assert (await admin.topic_config(f"{topic}-more"))["retention.ms"] == "1000"
            await admin.delete_group(f"{topic}-g")
            await admin.delete_topic(f"{topic}-more")
        return texts

    assert asyncio.run(talk()) == [*map(str, range(10)), "last"]


def test_a_full_buffer_makes_the_sender_wait_and_not_the_loop(bootstrap: str, new_topic: Callable[..., str]) -> None:
    topic = new_topic()

    async def flood() -> int:
        async with AsyncProducer(bootstrap, config={"queue.buffering.max.messages": 10}) as producer:
            sent = [await producer.send(topic, value=str(number)) for number in range(200)]
            return len(await asyncio.gather(*sent))

    assert asyncio.run(flood()) == 200


def test_a_consumer_does_all_that_the_blocking_one_does(bootstrap: str, new_topic: Callable[..., str]) -> None:
    topic = new_topic()

    async def talk() -> None:
        async with AsyncProducer(bootstrap) as producer:
            for number in range(4):
                await producer.send_and_wait(topic, value=str(number))
        async with AsyncConsumer(bootstrap, group=f"{topic}-g", topics=[topic]) as consumer:
            first = await consumer.poll(10)
            assert first is not None
            assert consumer.assignment == [(topic, 0)]
            assert await consumer.lag() == {(topic, 0): 3}
            await consumer.rewind()
            assert (await read(consumer, 2))[0] == "0"
            await consumer.commit_offsets()
            assert [each.offset for each in await consumer.committed()] == [2]
            await consumer.seek(topic, 0, "beginning")
            await consumer.pause()
            assert await consumer.poll(0.01) is None
            await consumer.resume()
            await consumer.wait(0.01)
            assert await read(consumer, 4) == ["0", "1", "2", "3"]

    asyncio.run(talk())


def test_what_a_cancelled_poll_was_about_to_give_comes_with_the_next(
    bootstrap: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()

    async def talk() -> list[str]:
        async with (
            AsyncProducer(bootstrap) as producer,
            AsyncConsumer(bootstrap, group=f"{topic}-g", topics=[topic]) as consumer,
        ):
            await producer.send_and_wait(topic, value="first")
            assert await read(consumer, 1) == ["first"]
            for number in range(5):
                poll = asyncio.ensure_future(consumer.poll_many(10, 10))
                await asyncio.sleep(0)
                poll.cancel()
                await asyncio.gather(poll, return_exceptions=True)
                await producer.send_and_wait(topic, value=str(number))
            await consumer.commit_offsets()
            assert [each.offset for each in await consumer.committed()] == [1]
            return await read(consumer, 5)

    assert asyncio.run(talk()) == ["0", "1", "2", "3", "4"]


def test_who_gives_up_waiting_does_not_hurt_the_producer(bootstrap: str, new_topic: Callable[..., str]) -> None:
    topic = new_topic()

    async def talk() -> int:
        async with AsyncProducer(bootstrap) as producer:
            (await producer.send(topic, value="given up")).cancel()
            return (await producer.send_and_wait(topic, value="waited for")).offset

    assert asyncio.run(talk()) == 1


async def read(consumer: AsyncConsumer, count: int) -> list[str]:
    """So many records, however many polls they come in."""
    found: list[str] = []
    while len(found) < count:
        found += [each.text for each in await consumer.poll_many(count - len(found), 10)]
    return found
