"""The cluster as one user sees it: clients that threads borrow, and answers that are good for some seconds.

A page asks with `ask`, which runs in one of a few worker threads and takes bounded time. What many pages want, such as
all topics, is `remembered`: who comes while it is fresh gets it at once; who comes later gets a new one, or the old one
where the new one takes long; and whoever changes something makes it all be forgotten.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeVar

from penstock.client.blocking import Client
from penstock.client.errors import ClientError, Unreachable
from penstock.client.metadata import BrokerView, TopicView

ASK_SECONDS_MAX: Final = 5.0
CHANGE_SECONDS_MAX: Final = 15.0
IDLE_SECONDS_MAX: Final = 60.0
STALE_TIMES: Final = 10
"""For how many times its own life an old answer is better than none."""
PATIENCE_SECONDS: Final = 0.1
PICTURE_SECONDS: Final = 2.0

T = TypeVar("T")


class Picture(NamedTuple):
    """Brokers and topics, as one answer told of them."""

    cluster_id: str
    controller: int
    brokers: tuple[BrokerView, ...]
    topics: dict[str, TopicView]
    partitions: int


class _Known(NamedTuple):
    value: Any
    at: float


class _Idle(NamedTuple):
    client: Client
    since: float


class Cluster:
    """For one user; `connect` makes a client that is him."""

    def __init__(self, connect: Callable[[], Client], workers: Executor) -> None:
        self._connect = connect
        self._workers = workers
        self._idle: list[_Idle] = []
        self._lock = threading.Lock()
        self._known: dict[str, _Known] = {}
        self._asking: dict[str, asyncio.Task[Any]] = {}
        self._is_closed = False

    async def ask(self, do: Callable[[Client], T], seconds: float = ASK_SECONDS_MAX) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._workers, self.perform, do, seconds)

    def perform(self, do: Callable[[Client], T], seconds: float = ASK_SECONDS_MAX) -> T:
        """The same, in the thread that asks."""
        client = self._borrow()
        try:
            with client.within(seconds):
                answer = do(client)
        except ClientError as failure:
            # What its links were waiting for, nobody will collect.
            if failure.is_absence:
                client.close()
            if isinstance(failure, Unreachable):
                # A client that has never met a broker says at once that there is none; the next ones are such.
                self.close_idle(0.0)
            else:
                self._give_back(client)
            raise
        except BaseException:
            client.close()
            raise
        self._give_back(client)
        return answer

    async def remembered(self, name: str, seconds: float, do: Callable[[Client], T]) -> T:
        known, now = self._known.get(name), time.monotonic()
        if known is not None and now - known.at < seconds:
            return known.value  # type: ignore[no-any-return]  # It is what `do` gave under this name.
        asking = self._asking.get(name)
        if asking is None:
            asking = self._asking[name] = asyncio.create_task(self._ask_anew(name, do))
            asking.add_done_callback(_look_at)
        if known is not None and now - known.at < STALE_TIMES * seconds:
            await asyncio.wait((asking,), timeout=PATIENCE_SECONDS)
            if not asking.done():
                return known.value  # type: ignore[no-any-return]  # It is what `do` gave under this name.
        return await asyncio.shield(asking)

    async def _ask_anew(self, name: str, do: Callable[[Client], T]) -> T:
        known = self._known
        try:
            value = await self.ask(do)
            known[name] = _Known(value, time.monotonic())
            return value
        except ClientError:
            # An old answer would hide that nobody answers any more.
            known.pop(name, None)
            raise
        finally:
            self._asking.pop(name, None)

    async def picture(self) -> Picture:
        return await self.remembered("picture", PICTURE_SECONDS, _take_picture)

    def forget(self) -> None:
        """Something was changed: what is asked by now is old, too."""
        self._known = {}
        self._asking = {}

    def _borrow(self) -> Client:
        with self._lock:
            if self._idle:
                return self._idle.pop().client
        return self._connect()

    def _give_back(self, client: Client) -> None:
        with self._lock:
            if not self._is_closed:
                self._idle.append(_Idle(client, time.monotonic()))
                return
        client.close()

    def close_idle(self, seconds: float = IDLE_SECONDS_MAX) -> None:
        """Connections that nobody has used for so long."""
        with self._lock:
            old = [each for each in self._idle if time.monotonic() - each.since >= seconds]
            self._idle = [each for each in self._idle if each not in old]
        for each in old:
            each.client.close()

    def close(self) -> None:
        self._is_closed = True
        self.close_idle(0.0)


def _take_picture(client: Client) -> Picture:
    topics = {topic.name: topic for topic in client.topics()}
    known = client.cluster
    brokers = tuple(sorted(known.brokers.values()))
    # The picture has them; every client would keep them all.
    client.cluster.topics = {}
    client.cluster.names = {}
    count = sum(len(topic.partitions) for topic in topics.values())
    return Picture(known.cluster_id or "", known.controller, brokers, topics, count)


def tell(client: Client, topics: Iterable[TopicView]) -> None:
    """What the picture knows, so that the client need not ask for it."""
    for topic in topics:
        client.cluster.topics[topic.name] = topic
        client.cluster.names[topic.topic_id] = topic.name


async def pause(seconds: float) -> None:
    """Until later, or until it is cancelled."""
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), seconds)


def _look_at(task: asyncio.Task[Any]) -> None:
    """A failure that nobody waits for is said to whoever asks next."""
    if not task.cancelled():
        task.exception()
