"""aiokafka, on an event loop of its own: the scenarios are not asynchronous."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Coroutine
from typing import Any

from tests.conformance.transactions.client import DEADLINE_S, POLL_S, TIMEOUT_MS, gather, refusing

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
    from aiokafka.errors import KafkaError

POLL_MS = int(POLL_S * 1000)


class Aiokafka:
    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="aiokafka", daemon=True)
        self._thread.start()

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, DEADLINE_S), self._loop).result()

    def writer(self, bootstrap: str, transactional_id: str, timeout_ms: int = TIMEOUT_MS) -> AioWriter:
        return AioWriter(self, bootstrap, transactional_id, timeout_ms)

    def reader(self, bootstrap: str, topic: str) -> AioReader:
        return AioReader(self, bootstrap, topic)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(DEADLINE_S)
        self._loop.close()


class AioWriter:
    def __init__(self, library: Aiokafka, bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
        self._library = library
        self._bootstrap = bootstrap

        async def make() -> Any:
            made = AIOKafkaProducer(
                bootstrap_servers=bootstrap, transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
            )
            try:
                await made.start()
            except BaseException:
                await made.stop()
                raise
            return made

        with refusing(KafkaError, TimeoutError):
            self._producer = library.wait(make())

    def begin(self) -> None:
        self._wait(self._producer.begin_transaction())

    def send(self, topic: str, value: str) -> None:
        self._wait(self._producer.send_and_wait(topic, value.encode()))

    def queue(self, topic: str, partition: int, value: str) -> None:
        self._wait(self._producer.send(topic, value.encode(), partition=partition))

    def add_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        self._wait(self._producer.send_offsets_to_transaction({TopicPartition(topic, partition): offset}, group))

    def copy(self, source: str, target: str, group: str, count: int) -> None:
        reader = AioReader(self._library, self._bootstrap, source, group)
        try:
            for value in gather(reader.poll, count):
                self.send(target, value)
            self._wait(self._producer.send_offsets_to_transaction(reader.positions(), group))
        finally:
            reader.close()

    def commit(self) -> None:
        self._wait(self._producer.commit_transaction())

    def abort(self) -> None:
        self._wait(self._producer.abort_transaction())

    def close(self) -> None:
        self._library.wait(self._producer.stop())

    def _wait(self, work: Coroutine[Any, Any, Any]) -> None:
        # It asserts that a transaction that has failed for good is not aborted.
        with refusing(KafkaError, TimeoutError, AssertionError):
            self._library.wait(work)


class AioReader:
    def __init__(self, library: Aiokafka, bootstrap: str, topic: str, group: str | None = None) -> None:
        self._library = library

        async def make() -> Any:
            made = AIOKafkaConsumer(
                bootstrap_servers=bootstrap,
                group_id=group,
                isolation_level="read_committed",
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                fetch_max_wait_ms=50,
            )
            await made.start()
            if group is None:
                made.assign([TopicPartition(topic, 0)])
            else:
                made.subscribe([topic])
            return made

        self._consumer = library.wait(make())

    def poll(self) -> list[str]:
        found = self._library.wait(self._consumer.getmany(timeout_ms=POLL_MS))
        return [record.value.decode() for records in found.values() for record in records]

    def positions(self) -> dict[Any, int]:
        async def ask() -> dict[Any, int]:
            return {place: await self._consumer.position(place) for place in self._consumer.assignment()}

        return dict(self._library.wait(ask()))

    def close(self) -> None:
        self._library.wait(self._consumer.stop())
