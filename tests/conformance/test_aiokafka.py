"""aiokafka: records, groups and admin through asyncio."""

import asyncio
import warnings
from collections.abc import Coroutine
from typing import Any

import pytest

from penstock.testing import Broker

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
    from aiokafka.admin import AIOKafkaAdminClient, NewTopic
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor
    from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
    from aiokafka.errors import MessageSizeTooLargeError
    from aiokafka.structs import OffsetAndMetadata

pytestmark = pytest.mark.client

DEADLINE_S = 20.0
ASSIGNORS = [RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor]


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, DEADLINE_S))


def consumer(broker: Broker, *topics: str, **settings: Any) -> Any:
    settings = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "fetch_max_wait_ms": 50} | settings
    if "group_id" in settings:
        settings |= {"heartbeat_interval_ms": 100, "session_timeout_ms": 6000}
    return AIOKafkaConsumer(*topics, bootstrap_servers=broker.bootstrap, **settings)


def producer(broker: Broker, **settings: Any) -> Any:
    return AIOKafkaProducer(bootstrap_servers=broker.bootstrap, **settings)


async def read(client: Any, count: int) -> list[Any]:
    return [await client.getone() for _ in range(count)]


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_comes_back(broker: Broker, name: str, codec: str | None) -> None:
    broker.create_topic(name)
    values = [f"{number} ".encode() * 30 for number in range(100)]

    async def work() -> None:
        async with producer(broker, compression_type=codec, linger_ms=10) as client:
            await asyncio.gather(*[await client.send(name, value) for value in values])
        async with consumer(broker, name) as client:
            assert [record.value for record in await read(client, 100)] == values

    run(work())


def test_nulls_headers_timestamps_and_large_records(broker: Broker, name: str) -> None:
    broker.create_topic(name)
    large = b"x" * 1_000_000

    async def work() -> None:
        async with producer(broker, enable_idempotence=True, max_request_size=2_000_000) as client:
            await client.send_and_wait(name, None, key=b"k", timestamp_ms=1000)
            await client.send_and_wait(name, b"", headers=[("a", b"1")], timestamp_ms=3000)
            await client.send_and_wait(name, large, timestamp_ms=2000)
        async with consumer(broker, name) as client:
            one, two, three = await read(client, 3)
            assert (one.key, one.value, one.timestamp) == (b"k", None, 1000)
            assert (two.value, list(two.headers)) == (b"", [("a", b"1")])
            assert three.value == large
            place = TopicPartition(name, 0)
            found = await client.offsets_for_times({place: 1500})
            assert found[place].offset == 1
            assert await client.end_offsets([place]) == {place: 3}
            client.seek(place, 1)
            assert (await client.getone()).offset == 1

    run(work())


def test_a_record_that_is_too_large_is_refused(broker: Broker, name: str) -> None:
    broker.create_topic(name, max_message_bytes=1000)

    async def work() -> None:
        async with producer(broker) as client:
            with pytest.raises(MessageSizeTooLargeError):
                await client.send_and_wait(name, b"x" * 2000)

    run(work())


@pytest.mark.parametrize("assignor", ASSIGNORS, ids=lambda assignor: assignor.name)
def test_members_share_and_resume(broker: Broker, name: str, assignor: type) -> None:
    broker.create_topic(name, partitions=4)
    settings: dict[str, Any] = {"group_id": name, "partition_assignment_strategy": (assignor,)}

    async def balanced(*clients: Any) -> None:
        fair = 4 // len(clients)
        while [len(client.assignment()) for client in clients] != [fair] * len(clients):
            await asyncio.gather(*(client.getmany(timeout_ms=20) for client in clients))

    async def work() -> None:
        async with consumer(broker, name, **settings) as one:
            await balanced(one)
            async with consumer(broker, name, **settings) as two:
                await balanced(one, two)
            await balanced(one)
            place = TopicPartition(name, 0)
            await one.commit({place: OffsetAndMetadata(0, "note")})
            assert await one.committed(place) == 0

    run(work())


def test_admin(broker: Broker, name: str) -> None:
    async def work() -> None:
        client = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
        await client.start()
        try:
            await client.create_topics([NewTopic(name, 2, 1)])
            (described,) = await client.describe_topics([name])
            assert len(described["partitions"]) == 2
            assert name in await client.list_topics()
            await client.delete_topics([name])
        finally:
            await client.close()

    run(work())
