"""The two loops of `processing` for asyncio: the same promises, with a `handle` that is awaited."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

from penstock.api.async_consumer import AsyncConsumer
from penstock.api.async_producer import AsyncProducer
from penstock.api.errors import TransactionAborted
from penstock.api.processing import DEFAULT_RETRY, POLL_S, RECORDS_MAX, letter_headers, never, pause_s
from penstock.api.values import Record, Sent
from penstock.core.delivery.dead_letter import SUFFIX
from penstock.core.delivery.policy import GiveUp, RetryPolicy, decide


async def process_async(
    consumer: AsyncConsumer,
    handle: Callable[[Record], Awaitable[object]],
    *,
    dead_letters: AsyncProducer | None = None,
    dead_letter_topic: Callable[[Record], str] = lambda record: record.topic + SUFFIX,
    retry: RetryPolicy = DEFAULT_RETRY,
    records_max: int = RECORDS_MAX,
    stop: Callable[[], bool] = never,
) -> None:
    """Await `handle` for each record, at least once, and commit what was handled: `process` for asyncio."""
    while not stop():
        done: list[Record] = []
        buried: list[asyncio.Future[Sent]] = []
        try:
            for record in await consumer.poll_many(records_max, POLL_S):
                if stop():
                    break
                failure = await _handle(consumer, record, handle, retry)
                if failure is not None:
                    error, reason = failure
                    if dead_letters is None:
                        raise error
                    headers = letter_headers(record, reason, consumer.consumer.group)
                    topic = dead_letter_topic(record)
                    buried.append(await dead_letters.send(topic, record.key, record.value, headers=headers))
                done.append(record)
        finally:
            await asyncio.gather(*buried)
            if done:
                await consumer.commit_offsets(done)
            await consumer.rewind()


async def read_process_write_async(
    consumer: AsyncConsumer,
    producer: AsyncProducer,
    handle: Callable[[Sequence[Record]], Awaitable[object]],
    *,
    records_max: int = RECORDS_MAX,
    stop: Callable[[], bool] = never,
) -> None:
    """Exactly once: what `handle` sends with the producer and the offsets of what it was given count together:
    `read_process_write` for asyncio. A cancel aborts the transaction that is open."""
    await producer.init_transactions()
    aborted = 0
    while not stop():
        records = await consumer.poll_many(records_max, POLL_S)
        if not records:
            continue
        try:
            async with producer.transaction() as transaction:
                await handle(records)
                await transaction.commit_offsets_of(consumer)
            aborted = 0
        except TransactionAborted:
            aborted += 1
            await consumer.rewind()
            await consumer.wait(pause_s(aborted))
        except BaseException:
            await asyncio.shield(consumer.rewind())
            raise


async def _handle(
    consumer: AsyncConsumer, record: Record, handle: Callable[[Record], Awaitable[object]], retry: RetryPolicy
) -> tuple[Exception, GiveUp] | None:
    """What a record failed with for good, and why it is given up."""
    attempts = 0
    while True:
        try:
            await handle(record)
            return None
        except Exception as error:
            attempts += 1
            decision = decide(retry, error, attempts, random.random())
            if isinstance(decision, GiveUp):
                return error, decision
            await consumer.wait(decision.pause_ms / 1000)
