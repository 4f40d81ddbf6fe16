"""`Consumer` for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import partial
from typing import Any, Literal, ParamSpec, Self, TypeVar

from penstock.api.consumer import POLL_S, Consumer, Position
from penstock.api.in_thread import InThread
from penstock.api.values import Record

P = ParamSpec("P")
T = TypeVar("T")


class _Poll:
    """A call of `poll_many`, and what it found."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.is_cancelled = False


class AsyncConsumer:
    """`Consumer` for asyncio; takes the same arguments and has the same methods."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.consumer = Consumer(*args, **options)
        self._thread = InThread("penstock-async-consumer")
        self._closed = False
        self._polls: list[_Poll] = []

    async def subscribe(self, topics: str | Sequence[str]) -> None:
        await self._call(self.consumer.subscribe, topics)

    async def poll(self, timeout_s: float = 1.0) -> Record | None:
        records = await self.poll_many(1, timeout_s)
        return records[0] if records else None

    async def poll_many(self, count_max: int, timeout_s: float = 1.0) -> list[Record]:
        """Like the consumer's; where it is cancelled, by `asyncio.timeout` for example, what it was about to give comes
        with the next one."""
        poll = _Poll()
        self._polls.append(poll)

        def perform() -> list[Record]:
            poll.records = self.consumer.poll_many(count_max, timeout_s)
            return poll.records

        try:
            found = await self._call(perform)
        except asyncio.CancelledError:
            poll.is_cancelled = True
            raise
        except BaseException:
            self._polls.remove(poll)
            raise
        self._polls.remove(poll)
        return found

    async def wait(self, seconds: float) -> None:
        await self._call(self.consumer.wait, seconds)

    async def commit_offsets(self, records: Record | Iterable[Record] | None = None, *, wait: bool = True) -> None:
        await self._call(self.consumer.commit_offsets, records, wait=wait)

    async def committed(self) -> list[Position]:
        return await self._call(self.consumer.committed)

    async def lag(self) -> dict[tuple[str, int], int]:
        return await self._call(self.consumer.lag)

    async def seek(self, topic: str, partition: int, offset: int | Literal["beginning", "end"]) -> None:
        await self._call(self.consumer.seek, topic, partition, offset)

    async def rewind(self) -> None:
        await self._call(self.consumer.rewind)

    async def pause(self) -> None:
        await self._call(self.consumer.pause)

    async def resume(self) -> None:
        await self._call(self.consumer.resume)

    @property
    def assignment(self) -> list[tuple[str, int]]:
        """The partitions this member has now."""
        return self.consumer.assignment

    async def __aiter__(self) -> AsyncIterator[Record]:
        """All records, for ever; ends when the consumer is closed."""
        while not self._closed:
            record = await self.poll(POLL_S)
            if record is not None:
                yield record

    async def close(self) -> None:
        """Leave the group, also where the task that asks for it is being cancelled."""
        if not self._closed:
            self._closed = True
            await asyncio.shield(self._close())

    async def _close(self) -> None:
        try:
            await self._call(self.consumer.close)
        finally:
            self._thread.close()

    async def _call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._thread.call(self._perform, partial(function, *args, **kwargs))

    def _perform(self, function: Callable[[], T]) -> T:
        """In the thread: first undo what nobody has got."""
        for poll in [each for each in self._polls if each.is_cancelled]:
            self._polls.remove(poll)
            self.consumer.put_back(poll.records)
        return function()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
