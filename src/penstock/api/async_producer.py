"""`Producer` for asyncio: its futures become awaitable."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any, Final, Self

from penstock.api.async_consumer import AsyncConsumer
from penstock.api.in_thread import InThread
from penstock.api.producer import CLOSE_S_MAX, SEND_S_MAX, Producer
from penstock.api.transactions import Transaction
from penstock.api.values import Sent

FULL_PAUSE_S: Final = 0.01


class AsyncProducer:
    """`Producer` for asyncio; takes the same arguments and has the same methods."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.producer = Producer(*args, **options)
        self._thread = InThread("penstock-async-producer")
        self._closed = False

    async def send(self, topic: str, key: Any = None, value: Any = None, **options: Any) -> asyncio.Future[Sent]:
        """Send a record; waits only for room. Await what it gives to know that the record is acknowledged."""
        while True:
            try:
                sent: Future[Sent] = self.producer.send(topic, key, value, wait_for_room=False, **options)
                return asyncio.wrap_future(sent)
            except BufferError:
                await asyncio.sleep(FULL_PAUSE_S)

    async def send_and_wait(self, topic: str, key: Any = None, value: Any = None, **options: Any) -> Sent:
        return await (await self.send(topic, key, value, **options))

    async def flush(self, timeout_s: float = SEND_S_MAX) -> None:
        await self._thread.call(self.producer.flush, timeout_s)

    async def init_transactions(self, timeout_s: float = SEND_S_MAX) -> None:
        await self._thread.call(self.producer.init_transactions, timeout_s)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncTransaction]:
        """A transaction, for an `async with`."""
        transaction = self.producer.transaction()
        await self._thread.call(transaction.__enter__)
        try:
            yield AsyncTransaction(transaction, self._thread)
        except BaseException as error:
            await asyncio.shield(self._thread.call(transaction.__exit__, type(error), error, None))
            raise
        await self._thread.call(transaction.__exit__, None, None, None)

    async def close(self, timeout_s: float = CLOSE_S_MAX) -> None:
        """Send what is left, also where the task that asks for it is being cancelled."""
        if not self._closed:
            self._closed = True
            await asyncio.shield(self._close(timeout_s))

    async def _close(self, timeout_s: float) -> None:
        try:
            await self._thread.call(self.producer.close, timeout_s)
        finally:
            self._thread.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncTransaction:
    """The body of an `async with producer.transaction():`."""

    def __init__(self, transaction: Transaction, thread: InThread) -> None:
        self._transaction = transaction
        self._thread = thread

    async def commit_offsets_of(self, consumer: AsyncConsumer) -> None:
        await self._thread.call(self._transaction.commit_offsets_of, consumer.consumer)

    async def commit(self) -> None:
        await self._thread.call(self._transaction.commit)

    async def abort(self) -> None:
        await self._thread.call(self._transaction.abort)
